from datetime import UTC, datetime

import pytest

from paceline.store.ledger import Place
from paceline.store.traffic_rows import traffic_row
from tests.support.ledger import MS, attempt, entry, usage

AT = Place(3, 1_234)


def failed(offer: str = "local-a", **fields: object) -> dict[str, object]:
    return attempt(
        offer,
        used=usage(prompt=0, completion=0, source="none"),
        cost_usd=None,
        event_ms=(),
        end_ms=20.0,
        served=False,
        row={"outcome": "http_error", "status": 503},
        **fields,  # type: ignore[arg-type]
    )


def test_a_request_that_one_offer_answered() -> None:
    one = attempt(used=usage(prompt=90, completion=4, reasoning=1, cached=30, cache_write=5), cost_usd=0.25)
    row = traffic_row(entry(9, attempts=[one], app_title="Bot", queued_ns=2 * MS, deadline_ns=500 * MS), AT)
    assert row["received_at"] == int(datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp()) * 1_000_000
    assert (row["ledger_segment"], row["ledger_offset"]) == (3, 1_234)
    assert (row["ttft_ms"], row["e2e_ms"], row["queued_ms"], row["deadline_ms"]) == (102.0, 132.0, 2.0, 500.0)
    # Sent at 1 ms; tokens at 101, 111, 121 and 131 ms.
    assert row["upstream_ttft_ms"] == 100.0
    assert row["decode_tok_s"] == pytest.approx(100.0)
    assert [row[name] for name in ("prompt_tokens", "cached_tokens", "cache_write_tokens")] == [90, 30, 5]
    assert (row["served_completion_tokens"], row["served_cost_usd"], row["cost_usd"]) == (4, 0.25, 0.25)
    assert (row["attempts"], row["retries"], row["hedged"], row["tried"]) == (1, 0, False, None)
    assert (row["app_title"], row["offer"], row["upstream_outcome"]) == ("Bot", "local-a", "ok")


def test_a_retry_is_told_by_the_offer_that_served() -> None:
    row = traffic_row(entry(attempts=[failed("bad"), attempt("good", role="retry")]), AT)
    assert (row["offer"], row["attempts"], row["retries"]) == ("good", 2, 1)
    assert [(one["offer"], one["counted"], one["upstream_outcome"]) for one in row["tried"]] == [
        ("bad", False, "http_error"),
        ("good", True, "ok"),
    ]
    assert row["cost_is_partial"] is False


def test_a_hedge_that_won_leaves_its_rival_on_the_bill() -> None:
    loser = attempt(
        "slow",
        served=False,
        used=usage(prompt=100, completion=1, source="estimated"),
        cost_usd=0.5,
        row={"outcome": "cancelled"},
    )
    winner = attempt("quick", role="hedge", used=usage(prompt=100, completion=4), cost_usd=0.25)
    row = traffic_row(entry(attempts=[winner, loser]), AT)
    assert (row["offer"], row["hedged"], row["hedge_won"]) == ("quick", True, True)
    assert (row["prompt_tokens"], row["completion_tokens"], row["cost_usd"]) == (200, 5, 0.75)
    assert (row["served_completion_tokens"], row["served_cost_usd"]) == (4, 0.25)
    assert row["tokens_estimated"] is True
    assert [one["cost_usd"] for one in row["tried"]] == [0.25, 0.5]


def test_where_none_served_the_last_counts() -> None:
    row = traffic_row(entry(attempts=[failed("a"), failed("b", role="retry")], outcome="failed"), AT)
    assert (row["offer"], row["served_cost_usd"], row["served_prompt_tokens"]) == ("b", None, None)
    assert [one["counted"] for one in row["tried"]] == [False, True]
    assert row["upstream_ttft_ms"] is None


def test_a_refused_request_names_no_offer() -> None:
    row = traffic_row(entry(attempts=[], outcome="refused", status=404, code="model_not_found"), AT)
    assert [row[name] for name in ("model", "offer", "tier", "upstream_outcome", "decode_tok_s")] == [
        None
    ] * 5
    assert (row["attempts"], row["cost_usd"], row["tried"]) == (0, 0.0, None)


def test_without_a_stream_there_is_no_time_to_first_token() -> None:
    one = attempt(event_ms=(300.0,), row={"streaming": False})
    row = traffic_row(entry(attempts=[one], streaming=False), AT)
    assert [row[name] for name in ("ttft_ms", "upstream_ttft_ms", "decode_tok_s")] == [None, None, None]


def test_the_decode_rate_takes_what_the_server_says_of_each_event() -> None:
    one = attempt(event_ms=(100.0, 200.0), row={"event_tokens": [3, 5]})
    assert traffic_row(entry(attempts=[one]), AT)["decode_tok_s"] == pytest.approx(50.0)
    even = attempt(event_ms=(100.0, 200.0), used=usage(completion=8))
    assert traffic_row(entry(attempts=[even]), AT)["decode_tok_s"] == pytest.approx(40.0)


def test_a_price_that_is_not_known_makes_the_cost_a_lower_bound() -> None:
    row = traffic_row(entry(attempts=[attempt("a", cost_usd=None), attempt("b", cost_usd=0.5)]), AT)
    assert [one["cost_is_partial"] for one in row["tried"]] == [True, False]
    assert (row["cost_usd"], row["cost_is_partial"]) == (0.5, True)
