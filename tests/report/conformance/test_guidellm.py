from paceline.report.conformance.guidellm import DEFINITION
from tests.report.conformance.golden import figure, held, view
from tests.support.rows import make_row


def test_the_golden_requests() -> None:
    found = view(DEFINITION)
    assert (found.requests, found.output_tokens, found.seconds) == (4, 10, 0.295)
    assert held(found.figures["ttft_ms"], figure(4, 125, p50=100, p90=200, max=200))
    # 20 ms for 3 + 1 tokens, 40 ms for 2: a step, weighted by the tokens after the first.
    assert held(found.figures["itl_ms"], figure(6, 160 / 6, p50=20, p90=40))
    # 40 ms for 4 tokens, 93.3 for 3, 60 for 2, 100 for 1.
    assert held(found.figures["tpot_ms"], figure(10, 66, p50=60, p90=280 / 3, p99=100))
    assert held(found.figures["e2e_ms"], figure(4, 681 / 4, p50=121, max=285))
    assert held(found.figures["output_tok_s"], figure(10, 10 / 0.295))
    assert held(found.figures["requests_s"], figure(4, 4 / 0.295))


def test_an_answer_that_came_whole_has_no_time_to_first_token_and_0_ms_between_its_tokens() -> None:
    whole = make_row(sent_ms=0, event_ms=(80,), end_ms=80, completion_tokens=5, streaming=False)
    found = view(DEFINITION, [whole])
    assert found.figures["ttft_ms"].n == 0
    assert held(found.figures["itl_ms"], figure(4, 0.0, p99=0.0))
    assert held(found.figures["tpot_ms"], figure(5, 16.0))


def test_without_usage_a_chunk_is_a_token() -> None:
    found = view(DEFINITION, [make_row(event_ms=(100, 110, 120), completion_tokens=None)])
    assert found.output_tokens == 3
    assert held(found.figures["itl_ms"], figure(2, 10.0))


def test_nothing_gives_nothing() -> None:
    found = view(DEFINITION, [make_row(outcome="timeout", event_ms=(), completion_tokens=None, end_ms=9)])
    assert found.requests == 0
    assert not any(one.n for one in found.figures.values())
