from paceline.report.conformance.llmperf import DEFINITION
from tests.report.conformance.golden import figure, held, view


def test_the_golden_requests() -> None:
    found = view(DEFINITION)
    # Content alone: reasoning and tool calls are not read.
    assert (found.requests, found.output_tokens, found.seconds) == (4, 7, 0.3)
    assert held(found.figures["ttft_ms"], figure(4, (105 + 240 + 0 + 100) / 4))
    # With the wait for the first token in it: 165 / 4, 280 / 2, none, 100 / 1.
    assert held(found.figures["itl_ms"], figure(4, (41.25 + 140 + 0 + 100) / 4, max=140))
    assert held(found.figures["e2e_ms"], figure(4, 686 / 4))
    assert "tpot_ms" not in found.figures
