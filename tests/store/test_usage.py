import math
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paceline.store.ledger import Line, Place
from paceline.store.traffic import TrafficWriter, decode
from paceline.store.traffic_parts import UnreadLines
from paceline.store.usage import BY, SORTS, UsageQuery, UsageRow, usage
from tests.support.ledger import MS, NOON, append, attempt, entry, line
from tests.support.ledger import usage as used


def drawn(draw: random.Random, number: int) -> dict[str, Any]:
    """A request as any may be: refused, failed, retried, hedged, streamed or not, of one of two models."""
    streaming = draw.random() < 0.8
    tried = []
    for place in range(draw.choice([0, 1, 1, 1, 1, 2, 3])):
        offer = draw.choice(["a-std", "a-fast", "b-std"])
        first_ms = draw.uniform(50, 500)
        outcome = draw.choice(["ok", "ok", "ok", "http_error", "cancelled", "timeout"])
        tokens = used(
            prompt=draw.randint(0, 500),
            completion=draw.randint(0, 50),
            reasoning=draw.randint(0, 9),
            cached=draw.randint(0, 99),
            source=draw.choice(["server", "server", "estimated", "none"]),
        )
        tried.append(
            attempt(
                offer,
                used=tokens,
                cost_usd=draw.choice([None, round(draw.random(), 6)]),
                event_ms=[first_ms, first_ms + draw.uniform(5, 50)] if outcome == "ok" else [],
                end_ms=900.0,
                role="first" if place == 0 else draw.choice(["retry", "hedge"]),
                served=False,
                provider=offer[0],
                tier=offer[2:],
                model=draw.choice(["one", "two"]),
                row={"outcome": outcome, "streaming": streaming},
            )
        )
    if tried and draw.random() < 0.9:
        draw.choice(tried)["served"] = True
    return entry(
        number,
        at=NOON + timedelta(minutes=draw.randint(0, 4_000)),
        attempts=tried,
        streaming=streaming,
        key=draw.choice(["key_a", "key_b", None]),
        app_title=draw.choice(["Bot", None]),
        app_referer=draw.choice(["https://app.example", None]),
        protocol=draw.choice(["openai-chat", "anthropic-messages"]),
        outcome=draw.choice(["ok", "ok", "client_gone", "failed", "probe"]) if tried else "refused",
        code=draw.choice(["no_offer", "rate_limited"]) if not tried else None,
        asked_model=draw.choice(["one", "two:nitro", ""]),
        ttft_ns=draw.choice([None, draw.randint(50 * MS, 900 * MS)]),
    )


@pytest.fixture(scope="module")
def documents() -> list[dict[str, Any]]:
    draw = random.Random(11)
    return [drawn(draw, number) for number in range(400)]


@pytest.fixture(scope="module")
def home(documents: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two parts, and a rest in the ledger."""
    at = tmp_path_factory.mktemp("home")
    append(at, *documents)
    offset = 0
    with TrafficWriter(at) as writer:
        for numbers in (range(150), range(150, 300)):
            lines = []
            for number in numbers:
                lines.append(Line(Place(1, offset), line(documents[number])))
                offset += len(lines[-1].raw)
            writer.add(decode(lines).table, Place(1, offset), UnreadLines())
    return at


# What a figure must be, computed from the documents without any of what is tested.


def counted(document: dict[str, Any]) -> Any:
    served = [one for one in document["attempts"] if one["served"]]
    return (served or document["attempts"] or [None])[-1]


def label(document: dict[str, Any], one: dict[str, Any] | None, name: str) -> Any:
    came = datetime.fromtimestamp(document["received_unix_ns"] / 1e9, UTC)
    if name in ("provider", "offer", "tier"):
        return one[name] if one else None
    if name == "model":
        return one["model"] if one else document["asked_model"] or None
    return {
        "key": document["key"],
        "app": document["app_title"] or document["app_referer"],
        "protocol": document["protocol"],
        "outcome": document["outcome"],
        "code": document["code"],
        "day": f"{came:%Y-%m-%d}",
        "hour": f"{came:%Y-%m-%d %H:00}",
    }[name]


def of_attempts(
    documents: list[dict[str, Any]], by: tuple[str, ...]
) -> dict[tuple[Any, ...], dict[str, Any]]:
    groups: dict[tuple[Any, ...], dict[str, Any]] = {}
    for document in documents:
        for one in document["attempts"] or [None]:
            key = tuple(label(document, one, name) for name in by)
            group = groups.setdefault(key, empty())
            group["requests"] += one is counted(document)
            if one is None:
                continue
            row = one["row"]
            group["attempts"] += 1
            judged = row["outcome"] != "cancelled"
            group["judged"] += judged
            group["ok"] += row["outcome"] == "ok"
            group["cost_usd"].append(one["cost_usd"] or 0.0)
            for name in TOKENS:
                group[name] += one["usage"][name]
            if row["streaming"] and row["event_ns"]:
                group["ttft_ms"].append((row["event_ns"][0] - row["sent_ns"]) / MS)
    return groups


def of_requests(
    documents: list[dict[str, Any]], by: tuple[str, ...]
) -> dict[tuple[Any, ...], dict[str, Any]]:
    groups: dict[tuple[Any, ...], dict[str, Any]] = {}
    for document in documents:
        key = tuple(label(document, counted(document), name) for name in by)
        group = groups.setdefault(key, empty())
        group["requests"] += 1
        group["attempts"] += len(document["attempts"])
        group["judged"] += document["outcome"] not in ("client_gone", "probe")
        group["ok"] += document["outcome"] == "ok"
        group["cost_usd"].append(document["cost_usd"])
        for one in document["attempts"]:
            for name in TOKENS:
                group[name] += one["usage"][name]
        if document["streaming"] and document["ttft_ns"] is not None:
            group["ttft_ms"].append(document["ttft_ns"] / MS)
    return groups


TOKENS = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens")


def empty() -> dict[str, Any]:
    counts = ("requests", "attempts", "judged", "ok", *TOKENS)
    return {**dict.fromkeys(counts, 0), "cost_usd": [], "ttft_ms": []}


def check(row: UsageRow, expected: dict[str, Any]) -> None:
    for name in ("requests", "attempts", "judged", "ok", *TOKENS):
        assert getattr(row, name) == expected[name], name
    assert row.cost_usd == pytest.approx(math.fsum(expected["cost_usd"]), abs=1e-9)
    assert row.ttft_n == len(expected["ttft_ms"])
    if expected["ttft_ms"]:
        p50, p95 = np.quantile(expected["ttft_ms"], [0.5, 0.95])
        assert row.ttft_p50_ms == pytest.approx(p50)
        assert row.ttft_p95_ms == pytest.approx(p95)
    else:
        assert row.ttft_p50_ms is None


@pytest.mark.parametrize(
    "by",
    [("provider",), ("offer",), ("tier",), ("model", "provider"), ("offer", "code"), ("offer", "day")],
)
def test_by_what_was_asked_each_attempt_counts_where_it_was_made(
    home: Path, documents: list[dict[str, Any]], by: tuple[str, ...]
) -> None:
    expected = of_attempts(documents, by)
    found = usage(UsageQuery(by=by), at=home)
    assert {row.group for row in found.rows} == expected.keys()
    for row in found.rows:
        check(row, expected[row.group])
    check(found.total, of_attempts(documents, ())[()])
    assert found.total.requests == len(documents)


@pytest.mark.parametrize(
    "by",
    [
        *((name,) for name in BY if name not in ("provider", "offer", "tier")),
        ("key", "day"),
        ("model", "key"),
    ],
)
def test_by_who_asked_each_request_counts_once(
    home: Path, documents: list[dict[str, Any]], by: tuple[str, ...]
) -> None:
    expected = of_requests(documents, by)
    found = usage(UsageQuery(by=by), at=home)
    assert {row.group for row in found.rows} == expected.keys()
    for row in found.rows:
        check(row, expected[row.group])
    check(found.total, of_requests(documents, ())[()])


def test_of_the_same_requests_the_same_share_is_ok(home: Path) -> None:
    """However they are grouped; of the offers asked it is another, by whatever they are grouped."""
    totals = {by: usage(UsageQuery(by=(by,)), at=home).total.ok_share for by in BY}
    asked = {totals.pop(by) for by in ("provider", "offer", "tier")}
    assert len(asked) == len({*totals.values()}) == 1
    assert asked.isdisjoint(totals.values())


def test_both_ways_the_bill_is_the_same(home: Path, documents: list[dict[str, Any]]) -> None:
    bill = math.fsum(document["cost_usd"] for document in documents)
    for by in ((), ("model",), ("key",)):
        found = usage(UsageQuery(by=by), at=home)
        assert found.total.cost_usd == pytest.approx(bill, abs=1e-9)
        assert found.total.cost_is_partial
        assert found.total.tokens_estimated
        assert found.total.probes == sum(document["outcome"] == "probe" for document in documents)


def test_windows_take_in_their_beginning_and_not_their_end(
    home: Path, documents: list[dict[str, Any]]
) -> None:
    since, until = NOON + timedelta(hours=10), NOON + timedelta(hours=30)
    inside = [
        document
        for document in documents
        if since.timestamp() <= document["received_unix_ns"] / 1e9 < until.timestamp()
    ]
    for by, expected in (((), of_requests(inside, ())), (("tier",), of_attempts(inside, ("tier",)))):
        for row in usage(UsageQuery(since, until, by), at=home).rows:
            check(row, expected[row.group])
    one = datetime.fromtimestamp(documents[0]["received_unix_ns"] / 1e9, UTC)
    same = sum(document["received_unix_ns"] == documents[0]["received_unix_ns"] for document in documents)
    assert usage(UsageQuery(one, one + timedelta(microseconds=1), ()), at=home).total.requests == same
    assert usage(UsageQuery(None, one, ()), at=home).total.requests == sum(
        document["received_unix_ns"] < documents[0]["received_unix_ns"] for document in documents
    )


def test_filters(home: Path, documents: list[dict[str, Any]]) -> None:
    mine = [document for document in documents if document["key"] == "key_a"]
    check(usage(UsageQuery(by=(), key="key_a"), at=home).total, of_requests(mine, ())[()])
    bots = [document for document in documents if document["app_title"] == "Bot"]
    check(usage(UsageQuery(by=(), app="Bot"), at=home).total, of_requests(bots, ())[()])
    ones = of_requests(documents, ("model",))["one",]
    check(usage(UsageQuery(by=(), model="one"), at=home).total, ones)
    expected = of_attempts(mine, ("provider", "offer"))
    for provider in ("a", "A"):
        found = usage(UsageQuery(by=("offer",), provider=provider, key="key_a"), at=home)
        assert {row.group[0] for row in found.rows} == {"a-std", "a-fast"}
        for row in found.rows:
            check(row, expected["a", row.group[0]])


def test_groups_come_by_tokens_and_times_in_their_order(home: Path) -> None:
    tokens = [row.tokens for row in usage(UsageQuery(by=("offer",)), at=home).rows]
    assert tokens == sorted(tokens, reverse=True)
    days = [row.group for row in usage(UsageQuery(by=("day",)), at=home).rows]
    assert days == sorted(days)


@pytest.mark.parametrize("sort", SORTS)
def test_every_order_keeps_all_groups_and_puts_what_has_no_figure_last(home: Path, sort: str) -> None:
    rows = usage(UsageQuery(by=("offer",), sort=sort), at=home).rows
    assert len(rows) == 4
    if sort in ("ttft", "tok_s"):
        assert rows[-1].group == (None,)


def test_a_limit_cuts_groups_and_not_the_total(home: Path, documents: list[dict[str, Any]]) -> None:
    found = usage(UsageQuery(by=("hour",), limit=3), at=home)
    assert (len(found.rows), found.total.requests) == (3, len(documents))
    assert found.n_groups > 3


def test_of_nothing_there_are_no_groups_and_a_total_of_nothing(tmp_path: Path) -> None:
    for by in ((), ("model",), ("key", "day")):
        found = usage(UsageQuery(by=by), at=tmp_path)
        assert (found.n_groups, found.total.requests, found.total.cost_usd) == (0, 0, 0.0)
        assert found.total.ttft_p50_ms is None


def test_names_are_no_sql(tmp_path: Path) -> None:
    home = tmp_path / "it's"
    odd = "'; DROP TABLE rest; --"
    append(home, entry(0, key=odd))
    with TrafficWriter(home) as writer:
        writer.add(
            decode([Line(Place(1, 0), line(entry(0, key=odd)))]).table, Place(1, 10_000), UnreadLines()
        )
    assert usage(UsageQuery(by=("key",), key=odd), at=home).rows[0].group == (odd,)


def test_unread_lines_are_told(tmp_path: Path) -> None:
    append(tmp_path, entry(0), b"{\n")
    found = usage(UsageQuery(), at=tmp_path)
    assert found.unread_lines == 1
    assert found.unread[0].endswith("it is not JSON")
