from paceline.report.conformance.inference_perf import DEFINITION
from tests.report.conformance.golden import figure, held, view


def test_the_golden_requests() -> None:
    found = view(DEFINITION)
    # The tool call has no text; answers of one token have no TTFT.
    assert (found.requests, found.output_tokens, found.seconds) == (4, 8, 0.3)
    assert held(found.figures["ttft_ms"], figure(2, 152.5))
    # Two tokens of one chunk are 0 ms apart: 20, 40, 0 and 40, 40.
    assert held(found.figures["itl_ms"], figure(5, 28, p50=40))
    assert held(found.figures["tpot_ms"], figure(2, 30))
    assert held(found.figures["e2e_ms"], figure(4, 686 / 4))
    assert held(found.figures["output_tok_s"], figure(1, 8 / 0.3))
