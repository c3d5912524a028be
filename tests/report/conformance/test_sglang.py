import pyarrow as pa
import pytest

from paceline.report.conformance.sglang import DEFINITION
from paceline.store.schema import PLAN_SCHEMA
from tests.report.conformance.golden import figure, held, recorded, view
from tests.support.rows import make_row


def test_the_golden_requests() -> None:
    found = view(DEFINITION)
    assert (found.requests, found.output_tokens, found.seconds) == (4, 10, 0.3)
    # Tool-call arguments are no tokens to it: a TTFT of 0.
    assert held(found.figures["ttft_ms"], figure(4, 405 / 4, p50=102.5))
    assert held(found.figures["itl_ms"], figure(4, 35, p50=40))
    # With the tail of the body: 70 / 3, 85 / 2, and all 121 ms of the tool call.
    assert held(found.figures["tpot_ms"], figure(3, (70 / 3 + 42.5 + 121) / 3, p50=42.5))
    assert held(found.figures["e2e_ms"], figure(4, 686 / 4))


def test_without_usage_it_takes_the_length_that_was_asked_for() -> None:
    plan = pa.Table.from_pylist([{"request_index": 0, "output_tokens_asked": 50}], schema=PLAN_SCHEMA)
    found = DEFINITION.compute(recorded([make_row(event_ms=(100, 110), completion_tokens=None)], plan))
    assert found.output_tokens == 50


def test_an_answer_that_came_whole_has_its_latency_for_a_time_to_first_token() -> None:
    whole = make_row(sent_ms=0, event_ms=(80,), end_ms=80, completion_tokens=5, streaming=False)
    found = view(DEFINITION, [whole])
    assert found.figures["ttft_ms"].mean == pytest.approx(80)
    assert found.figures["tpot_ms"].mean == pytest.approx(0)
