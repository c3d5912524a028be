from paceline.report.conformance.vllm import DEFINITION
from tests.report.conformance.golden import figure, held, recorded, view
from tests.support.rows import make_row


def test_the_golden_requests() -> None:
    found = view(DEFINITION)
    assert (found.requests, found.output_tokens, found.seconds) == (4, 10, 0.3)
    assert held(found.figures["ttft_ms"], figure(4, 505 / 4, p50=102.5))
    # The chunk of two tokens is one value.
    assert held(found.figures["itl_ms"], figure(5, 32, p50=40))
    assert held(found.figures["tpot_ms"], figure(3, 80 / 3, p50=20, max=40))
    assert held(found.figures["e2e_ms"], figure(4, 665 / 4))
    assert held(found.figures["output_tok_s"], figure(1, 10 / 0.3))


def test_it_tells_of_the_events_without_a_token_that_it_would_have_counted() -> None:
    silent = next(one for one in DEFINITION.differences if not one.shown and one.touches is not None)
    assert silent.touches is not None
    assert silent.touches(recorded()) == 1


def test_an_answer_of_one_token_has_no_time_per_token() -> None:
    assert view(DEFINITION, [make_row(event_ms=(100,))]).figures["tpot_ms"].n == 0


def test_a_malformed_answer_is_an_exception_there() -> None:
    assert view(DEFINITION, [make_row(outcome="malformed")]).requests == 0
