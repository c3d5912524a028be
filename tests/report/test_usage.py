import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from paceline.report.cells import usd_words
from paceline.report.usage import CSV_FIGURES, usage_csv, usage_dict, usage_json, usage_text
from paceline.store.usage import BY, Usage, UsageQuery, usage
from tests.support.ledger import append, attempt, entry
from tests.support.ledger import usage as used

SINCE = datetime(2026, 11, 23, 13, 48, tzinfo=UTC)
OF_OFFER = ("provider", "offer", "tier")
LONG = "organisation/a-model-with-a-name-that-is-much-longer-than-any-table-has-room-for"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """21 requests of `demo`, at 0.002 USD, and one of a model with a long name whose price is not known."""
    tokens = used(prompt=1_000, completion=200, reasoning=50, cached=400)
    append(tmp_path, *(entry(n, attempts=[attempt(used=tokens, cost_usd=0.002)]) for n in range(21)))
    append(tmp_path, entry(30, attempts=[attempt(model=LONG, cost_usd=None)], key=None))
    return tmp_path


def found(home: Path, **asked: Any) -> Usage:
    return usage(UsageQuery(since=SINCE, **asked), at=home)


def test_the_tables(home: Path) -> None:
    text = usage_text(found(home))
    assert text.splitlines() == [
        "Requests since 2026-11-23 13:48 UTC",
        "",
        "MODEL                         REQUESTS  PROMPT  CACHED  OUTPUT  REASON       USD",
        "demo                                21   21.0k   8.40k   4.20k   1.05k    0.0420",
        "organisation/a-model-with...         1     100       0       4       0   unknown",
        "TOTAL                               22   21.1k   8.40k   4.20k   1.05k  >=0.0420",
        "",
        "MODEL                             OK %  TTFT ms  p95  TOK/S  % REQ  % TOK  % USD",
        "demo                               100      102  102  5,000   95.5   99.6    100",
        "organisation/a-model-with-a-n...   100      102    -    100    4.5    0.4      0",
        "TOTAL                              100      102  102  5,000    100    100    100",
        "",
        "OK % is of 22 requests of clients, without those that left.",
        "TTFT (median and p95) and TOK/S (median) are of 22 streamed requests.",
        ">= at least: of some tokens the price is not known.",
    ]


@pytest.mark.parametrize(
    ("by", "of"),
    [
        *((name, "3 requests of clients, without those that left") for name in BY if name not in OF_OFFER),
        *((name, "4 times that an offer was asked, without those called off") for name in OF_OFFER),
    ],
)
def test_it_says_of_what_the_share_that_ended_well_is(tmp_path: Path, by: str, of: str) -> None:
    """Two of three requests and three of four attempts; one client left, one attempt was called off."""
    bad: dict[str, Any] = {"event_ms": (), "end_ms": 30.0, "served": False}
    append(
        tmp_path,
        entry(0, attempts=[attempt(**bad, row={"outcome": "http_error"}), attempt(role="retry")]),
        entry(1, attempts=[attempt(**bad, row={"outcome": "cancelled"}), attempt(role="hedge")]),
        entry(2, attempts=[attempt(row={"outcome": "cancelled"})], outcome="client_gone"),
        entry(3, attempts=[attempt()], outcome="probe"),
        entry(4, attempts=[], outcome="refused", code="model_not_found", asked_model="no-such"),
    )
    text = usage_text(found(tmp_path, by=(by,)))
    assert f"OK % is of {of}." in text.splitlines()
    total = text.rpartition("TOTAL")[2].split()[0]
    assert total == ("75.0" if by in OF_OFFER else "66.7")
    if by == "model":
        assert "\nno-such " in text
    if by == "code":
        assert "\nmodel_not_found " in text


def test_programs_are_given_no_noise(tmp_path: Path) -> None:
    """Of 0.1 + 0.2 float64 makes 0.30000000000000004."""
    costs = [0.1, 0.2, 0.7]
    append(tmp_path, *(entry(n, attempts=[attempt(cost_usd=cost)]) for n, cost in enumerate(costs)))
    append(tmp_path, entry(9, attempts=[attempt(cost_usd=1e-9 / 3)], key="key_b"))
    document = usage_dict(found(tmp_path, by=("key",)))
    one, other = document["rows"]
    assert (one["cost_usd"], other["cost_usd"]) == (1.0, 3.33e-10)
    assert (one["requests_share"], one["cost_share"], document["total"]["cost_usd"]) == (
        0.75,
        1.0,
        1.000000000333,
    )
    thirds = usage_dict(found(tmp_path, by=("key", "hour"), model="demo"))
    assert all(len(str(row["tokens_share"])) <= 8 for row in thirds["rows"])
    assert ",1.0,false," in usage_csv(found(tmp_path, by=("key",)))


@pytest.mark.parametrize("by", [(), ("model",), ("model", "key", "day"), ("hour", "app", "offer", "tier")])
def test_every_table_fits_eighty_columns(home: Path, by: tuple[str, ...]) -> None:
    text = usage_text(found(home, by=by, limit=1))
    assert max(len(line) for line in text.splitlines()) <= 80


@pytest.mark.parametrize(
    ("usd", "shown"),
    [(0.0, "0.00"), (1234.5, "1,234.50"), (0.731, "0.731"), (0.1, "0.100"), (0.0000126, "0.0000126")],
)
def test_money_is_written_out(usd: float, shown: str) -> None:
    assert usd_words(usd) == shown


def test_a_wide_terminal_shows_whole_names(home: Path) -> None:
    assert LONG in usage_text(found(home), 160)
    assert LONG in usage_text(found(home), None)
    assert LONG not in usage_text(found(home))


def test_of_nothing_it_says_so(tmp_path: Path) -> None:
    assert usage_text(found(tmp_path, model="demo")) == "no requests since 2026-11-23 13:48 UTC, model demo\n"
    assert usage_text(usage(UsageQuery(), at=tmp_path)) == "no requests of all times\n"
    assert usage_dict(found(tmp_path))["rows"] == []


def test_names_cannot_steer_a_terminal(tmp_path: Path) -> None:
    append(tmp_path, entry(0, app_title="\x1b[2Jevil"))
    text = usage_text(found(tmp_path, by=("app",)))
    assert "\x1b" not in text
    assert "evil" in text


def test_csv_has_a_line_a_group(home: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(usage_csv(found(home, by=("model", "key"))))))
    assert list(rows[0]) == ["model", "key", *CSV_FIGURES]
    assert [(row["model"], row["key"], row["requests"]) for row in rows] == [
        ("demo", "key_a", "21"),
        (LONG, "", "1"),
    ]
    assert float(rows[0]["cost_usd"]) == pytest.approx(0.042, abs=1e-9)
    assert [row["cost_is_partial"] for row in rows] == ["false", "true"]


@pytest.mark.parametrize("title", ["=cmd|'/C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_no_name_is_a_formula_in_csv(tmp_path: Path, title: str) -> None:
    append(tmp_path, entry(0, app_title=title), entry(1, app_title="a=b"))
    rows = list(csv.DictReader(io.StringIO(usage_csv(found(tmp_path, by=("app",))), newline="")))
    assert {row["app"] for row in rows} == {"'" + title.replace("\r", " ").replace("\t", " "), "a=b"}
    document = usage_dict(found(tmp_path, by=("app",)))
    assert {row["group"]["app"] for row in document["rows"]} == {title, "a=b"}


def test_json_is_as_the_guide_says(home: Path) -> None:
    document = json.loads(usage_json(found(home, by=("model",), key="key_a")))
    assert (document["schema"], document["by"], document["groups"]) == ("paceline.usage/1", ["model"], 1)
    assert document["filters"] == {"key": "key_a"}
    assert document["since"] == "2026-11-23T13:48:00+00:00"
    assert document["figures_of"] == "requests"
    row = document["rows"][0]
    assert row["group"] == {"model": "demo"}
    assert (row["requests"], row["prompt_tokens"], row["ok_share"]) == (21, 21_000, 1.0)
    assert row["tokens_share"] == 1.0
    assert document["total"]["group"] == {"model": None}
    guide = (Path(__file__).parents[2] / "docs/guides/usage.md").read_text()
    for name in (*document, *row):
        assert f'"{name}"' in guide, name
