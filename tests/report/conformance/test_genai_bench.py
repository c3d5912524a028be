from paceline.report.conformance.genai_bench import DEFINITION
from tests.report.conformance.golden import figure, held, view
from tests.support.rows import make_row


def test_the_golden_requests() -> None:
    found = view(DEFINITION)
    assert (found.requests, found.output_tokens, found.seconds) == (3, 8, 0.3)
    assert held(found.figures["ttft_ms"], figure(3, 135, p50=105))
    assert held(found.figures["tpot_ms"], figure(2, (70 / 3 + 42.5) / 2))
    assert held(found.figures["e2e_ms"], figure(3, 565 / 3))
    assert "itl_ms" not in found.figures


def test_it_throws_fast_requests_away() -> None:
    slow = make_row(sent_ms=0, event_ms=(100, 200), end_ms=200, completion_tokens=101)
    fast = make_row(sent_ms=0, event_ms=(100, 200), end_ms=200, completion_tokens=102)
    assert view(DEFINITION, [slow, fast]).requests == 1
    thrown = next(one for one in DEFINITION.differences if "thrown away" in one.words)
    assert thrown.touches is not None
