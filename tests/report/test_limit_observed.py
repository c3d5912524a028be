"""What a stored run says to a limit."""

import json
from pathlib import Path

import pytest

from paceline.report.limit_observed import drafts_of, observed
from paceline.roofline.reached import Drafts, Observed
from tests.report.samples import report
from tests.support.rows import make_row

ONE = {"arrival": {"kind": "closed", "concurrency": 1}, "seed": 7, "requests": 20, "threads": 1}


def stream(index: int, begin_ms: float, timings: str | None = None) -> dict[str, object]:
    """A prompt of 300 tokens, 100 of them cached; 11 tokens from 100 ms on, 20 ms apart."""
    events = [begin_ms + 100.0 + 20.0 * token for token in range(11)]
    return make_row(
        request_index=index,
        sent_ms=begin_ms,
        event_ms=events,
        prompt_tokens=300,
        cached_tokens=100,
        server_timings=timings,
    )


def seen(home: Path, rows: list[dict[str, object]]) -> Observed:
    found = observed(report(home, rows, load=ONE))
    assert isinstance(found, Observed)
    return found


def test_a_run_of_one_stream(home: Path) -> None:
    """50 tok/s; the cache holds the prompt and half of the answer."""
    found = seen(home, [stream(n, 310.0 * n) for n in range(20)])
    assert found.decode_tok_s.value == pytest.approx(50.0)
    assert (found.streams, found.prompt_tokens, found.cached_tokens) == (1, 300.0, 100.0)
    assert (found.output_tokens, found.context_tokens) == (11.0, 306)
    assert found.gaps_ms == pytest.approx([20.0] * 200)
    assert found.gap_tokens.tolist() == [1] * 200
    assert found.ttft_ms is not None
    assert found.ttft_ms.value == pytest.approx(100.0)
    assert found.drafts is None


def test_streams_are_those_that_decode_at_once(home: Path) -> None:
    """Eight in flight, each for 301 ms of which it decodes 200: five and a bit, rounded down."""
    found = seen(home, [stream(n, 301.0 * (n // 8)) for n in range(160)])
    assert found.streams == 5


def test_drafts_are_added_up_over_requests(home: Path) -> None:
    """Ten tokens of each after the first."""
    timings = json.dumps({"predicted_n": 11, "draft_n": 16, "draft_n_accepted": 8, "predicted_ms": 200.0})
    found = seen(home, [stream(n, 310.0 * n, timings) for n in range(20)])
    assert found.drafts == Drafts(generated=200, drafted=320, accepted=160)


def test_a_server_that_does_not_speculate_says_so_by_saying_nothing_of_drafts(home: Path) -> None:
    found = seen(home, [stream(n, 310.0 * n, '{"predicted_n": 11}') for n in range(20)])
    assert found.drafts == Drafts(200, 0, 0)


def test_timings_that_are_none_are_left_aside() -> None:
    odd = [None, "", "nonsense", "[1]", '{"predicted_n": "11"}', '{"predicted_n": -1}', '{"draft_n": 3}']
    assert drafts_of(odd) is None
    assert drafts_of(['{"predicted_n": 4, "draft_n": 9, "draft_n_accepted": 3}']) is None
    assert drafts_of([*odd, '{"predicted_n": 4}', '{"predicted_n": 1}']) == Drafts(3, 0, 0)


def test_answers_of_one_token_have_no_decode_rate(home: Path) -> None:
    rows = [make_row(request_index=n, sent_ms=200.0 * n, event_ms=(200.0 * n + 100.0,)) for n in range(9)]
    found = observed(report(home, rows, load=ONE))
    assert isinstance(found, str)
    assert "no decode rate" in found


def test_chunks_that_nobody_counted_are_no_tokens(home: Path) -> None:
    rows = [{**stream(n, 310.0 * n), "completion_tokens": None} for n in range(9)]
    found = observed(report(home, rows, load=ONE))
    assert isinstance(found, str)
    assert "nobody counted" in found
