from paceline.report.conformance.aiperf import DEFINITION
from tests.report.conformance.golden import figure, held, view
from tests.support.rows import make_row


def test_the_golden_requests() -> None:
    found = view(DEFINITION)
    assert (found.requests, found.output_tokens, found.seconds) == (4, 10, 0.3)
    # From before the connection, which took 5 ms.
    assert held(found.figures["ttft_ms"], figure(4, 505 / 4, p50=102.5, max=200))
    assert held(found.figures["itl_ms"], figure(3, 80 / 3, p50=20, max=40))
    assert held(found.figures["chunk_gap_ms"], figure(5, 32, p50=40))
    assert held(found.figures["e2e_ms"], figure(4, 665 / 4, max=280))
    assert held(found.figures["output_tok_s"], figure(1, 10 / 0.3))
    assert held(found.figures["requests_s"], figure(1, 4 / 0.3))


def test_errors_in_the_stream_and_events_that_cannot_be_read_count_as_good() -> None:
    good = ("error_in_stream", "malformed")
    bad = ("http_error", "timeout", "empty", "connect_error", "cancelled")
    rows = [make_row(sent_ms=10 * k, event_ms=(300,), outcome=one) for k, one in enumerate([*good, *bad])]
    broken = make_row(event_ms=(300,), outcome="truncated", error="the connection was closed early")
    assert view(DEFINITION, [*rows, broken]).requests == len(good)
