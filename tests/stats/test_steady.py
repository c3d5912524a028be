from typing import Any

import numpy as np
import pytest

from paceline.stats.steady import in_flight, steady_window, steady_windows, throughput
from paceline.stats.tokens import count_tokens
from tests.support.rows import MS, lognormal_rows, make_row, rows_table

ORIGIN = 1_000 * MS


def request(sent: float, end: float, **columns: Any) -> dict[str, Any]:
    return make_row(sent_ms=sent, event_ms=(sent + 10, end - 5), end_ms=end, **columns)


def window_ms(rows: list[dict[str, object]], *, open_loop: bool = False) -> tuple[float, float]:
    found = steady_window(rows_table(rows), {0: ORIGIN}, open_loop=open_loop)
    assert found is not None
    return (found[0] - ORIGIN) / MS, (found[1] - ORIGIN) / MS


def test_a_closed_loop_is_steady_from_full_until_it_empties_for_good() -> None:
    slot_a = [request(at, at + 100) for at in range(0, 400, 100)]
    slot_b = [request(at, at + 100) for at in range(50, 350, 100)]
    assert window_ms(slot_a + slot_b) == (50.0, 350.0)


def test_moments_between_two_requests_of_a_slot_do_not_end_the_window() -> None:
    assert window_ms([request(at, at + 99) for at in range(0, 1000, 100)]) == (0.0, 999.0)


def test_the_window_begins_when_the_loop_is_full_of_measured_requests() -> None:
    warm = [request(0, 100, phase="warmup"), request(20, 120, phase="warmup")]
    measured = [request(at, at + 100) for at in range(100, 600, 100)]
    measured += [request(at, at + 100) for at in range(120, 620, 100)]
    assert window_ms(warm + measured) == (120.0, 600.0)


def test_a_long_thin_tail_is_not_the_plateau() -> None:
    rows = [request(at + slot, at + slot + 100) for slot in range(8) for at in range(0, 1000, 100)]
    rows.append(request(900, 3000))
    start, end = window_ms(rows)
    # All eight slots are busy from 7 ms on; from 900 ms on one more, which then goes on alone.
    assert (start, end) == (7.0, 1001.0)


def test_an_open_loop_is_steady_from_filled_to_the_last_send() -> None:
    assert window_ms([request(at, at + 50) for at in range(0, 1000, 10)], open_loop=True) == (50.0, 990.0)


def test_warm_up_is_no_part_of_an_open_loops_window() -> None:
    rows = [request(at, at + 50, phase="warmup") for at in range(0, 100, 10)]
    rows += [request(at, at + 50) for at in range(100, 1000, 10)]
    assert window_ms(rows, open_loop=True) == (150.0, 990.0)


def test_an_open_loop_that_was_cut_off_is_steady_until_work_was_lost() -> None:
    rows = [request(at, at + 50) for at in range(0, 1000, 10)]
    rows += [request(at, 1010, outcome="cancelled") for at in (970, 1000)]
    assert window_ms(rows, open_loop=True) == (50.0, 970.0)


def test_cancelled_requests_do_not_keep_a_closed_loop_full() -> None:
    rows = [request(at, at + 100) for at in range(0, 500, 100)]
    assert window_ms([*rows, request(500, 550, outcome="cancelled")]) == (0.0, 500.0)


def test_a_segment_that_never_gets_full_is_left_out() -> None:
    rows = [request(at + slot, at + slot + 100) for slot in range(4) for at in range(0, 1000, 100)]
    rows += [request(at, at + 100, segment=1) for at in range(0, 300, 100)]
    windows = steady_windows(rows_table(rows), {0: 0, 1: 5_000 * MS})
    assert [(window.segment, window.steady) for window in windows] == [(0, True)]


def test_a_short_run_is_measured_whole() -> None:
    rows = [request(slot, slot + 100) for slot in range(4)]
    assert window_ms(rows) == (0.0, 103.0)
    assert not steady_windows(rows_table(rows), {0: ORIGIN})[0].steady


def test_without_measured_requests_there_is_no_window() -> None:
    table = rows_table([request(0, 100, phase="warmup")])
    assert steady_window(table, {0: ORIGIN}) is None
    found = throughput(table, {0: ORIGIN}, count_tokens(table))
    assert found.output_tok_s is None
    assert found.whole_requests_s is None
    assert not found.steady


def test_throughput_counts_events_in_the_window() -> None:
    rows = [
        make_row(sent_ms=at, event_ms=(at + 25, at + 75), end_ms=at + 100, event_tokens=[3, 1])
        for at in range(0, 1000, 100)
    ]
    table = rows_table(rows)
    found = throughput(table, {0: ORIGIN}, count_tokens(table))
    assert found.steady
    assert found.seconds == 1.0
    assert found.output_tok_s == 40.0
    assert found.requests_s == 10.0
    assert found.whole_output_tok_s == 40.0


def test_steady_throughput_does_not_pay_for_filling_and_draining() -> None:
    table = lognormal_rows(400, 1, concurrency=16, sigma=0.2)
    found = throughput(table, {0: ORIGIN}, count_tokens(table))
    assert found.steady
    assert found.output_tok_s is not None
    assert found.whole_output_tok_s is not None
    # 16 streams, each 32 tokens in about 200 + 31 * 20 ms.
    assert found.output_tok_s == pytest.approx(16 * 32 / 0.836, rel=0.03)
    assert found.whole_output_tok_s < found.output_tok_s


def test_the_time_between_segments_counts_for_nothing() -> None:
    rows = [
        make_row(segment=segment, sent_ms=at, event_ms=(at + 25, at + 75), end_ms=at + 100)
        for segment in (0, 1)
        for at in range(0, 1000, 100)
    ]
    table = rows_table(rows)
    origins = {0: 0, 1: 3_600_000 * MS}
    found = throughput(table, origins, count_tokens(table))
    assert found.seconds == 2.0
    assert found.output_tok_s == 20.0
    assert found.requests_s == 10.0
    assert steady_window(table, origins) == (0, 3_601_000 * MS)


def test_in_flight_steps() -> None:
    at, level = in_flight(np.array([0, 10, 20]), np.array([10, 30, 20]))
    assert at.tolist() == [0, 10, 10, 20, 20, 30]
    assert level.tolist() == [1, 0, 1, 0, 1, 0]
