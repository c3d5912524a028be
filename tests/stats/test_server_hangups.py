from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from paceline.stats.server import Series
from paceline.stats.server_hangups import after_hangups
from tests.stats.test_server import MS, ORIGIN, series
from tests.support.rows import make_row, rows_table


def hung(sent_ms: float, hangup_ms: float, **columns: Any) -> dict[str, Any]:
    return make_row(
        sent_ms=sent_ms,
        event_ms=(sent_ms + 10,),
        end_ms=hangup_ms,
        outcome="hung_up",
        hangup_ns=round(hangup_ms * MS),
        **columns,
    )


def running(*values: float, every_ms: float = 100.0, start_ms: float = 50.0, span_ms: float = 0.0) -> Series:
    """Samples at 50, 150, 250 ms and so on."""
    points = [(start_ms + every_ms * place, value) for place, value in enumerate(values)]
    return series("running_requests", *points, span_ms=span_ms)


ONE = rows_table([hung(0, 200)])


def test_the_end_lies_between_the_last_sample_with_and_the_first_without() -> None:
    # Samples at 50, 150, ... ms. Left by the client at 200, gone from the server between 350 and 450.
    found = after_hangups(running(1, 1, 1, 1, 0, 0), None, ONE, {0: ORIGIN})
    assert found is not None
    assert (found.at_least_ms.tolist(), found.at_most_ms.tolist()) == ([150.0], [250.0])
    assert (found.every_ms, found.n, found.why) == (100.0, 1, "")


def test_a_server_that_stops_before_the_next_sample_may_have_stopped_at_once() -> None:
    found = after_hangups(running(1, 1, 0, 0), None, ONE, {0: ORIGIN})
    assert found is not None
    assert (found.at_least_ms.tolist(), found.at_most_ms.tolist()) == ([0.0], [50.0])


def test_asking_takes_time_and_the_server_looked_at_some_instant_of_it() -> None:
    found = after_hangups(running(1, 1, 1, 0, span_ms=20), None, ONE, {0: ORIGIN})
    assert found is not None
    assert (found.at_least_ms.tolist(), found.at_most_ms.tolist()) == ([40.0], [160.0])


def test_other_requests_in_flight_are_taken_off() -> None:
    rows = rows_table([hung(0, 200), make_row(sent_ms=20, event_ms=(100, 900), end_ms=1_000)])
    found = after_hangups(running(2, 2, 2, 1, 1, 1), None, rows, {0: ORIGIN})
    assert found is not None
    assert (found.at_least_ms.tolist(), found.at_most_ms.tolist()) == ([50.0], [150.0])
    # The other one may have been waiting, and now runs.
    waiting = Series(
        "vllm", "waiting_requests", "gauge", running(0).t_ns, running(0).span_ns, np.array([1.0])
    )
    more = after_hangups(running(1, 2, 2, 1, 1), waiting, rows, {0: ORIGIN})
    assert more is not None
    assert more.at_most_ms.tolist() == [150.0]


def test_samples_near_a_change_at_the_client_tell_nothing() -> None:
    # The next request is sent at 352 ms; the sample at 350 may or may not have it.
    rows = rows_table([hung(0, 200), make_row(sent_ms=352, event_ms=(800,), end_ms=900)])
    found = after_hangups(running(1, 1, 1, 0, 1, 1), None, rows, {0: ORIGIN})
    assert found is not None
    assert (found.at_least_ms.tolist(), found.at_most_ms.tolist()) == ([50.0], [250.0])


def test_several_that_were_left_are_done_when_none_is_in_excess() -> None:
    rows = rows_table([hung(0, 200), hung(5, 300)])
    found = after_hangups(running(2, 2, 2, 2, 1, 0), None, rows, {0: ORIGIN})
    assert found is not None
    # At 350 ms both were still there; at 450 one, and which is not known; at 550 neither.
    assert found.at_least_ms.tolist() == [150.0, 50.0]
    assert found.at_most_ms.tolist() == [350.0, 250.0]


def test_segments_have_their_own_clocks() -> None:
    rows = rows_table([hung(0, 200, segment=1)])
    found = after_hangups(running(0, 0, 1, 1, 0), None, rows, {0: 0, 1: ORIGIN + 200 * MS})
    assert found is not None
    # Hung up at 400 ms, and gone at 450.
    assert (found.at_least_ms.tolist(), found.at_most_ms.tolist()) == ([0.0], [50.0])


@pytest.mark.parametrize(
    ("rows", "samples", "why"),
    [
        (ONE, running(1, 1, 0, every_ms=300), "more rarely"),
        (ONE, running(1), "more rarely"),
        (ONE, running(1, 1, 1, 1), "began and ended"),
        (rows_table([hung(350, 420)]), running(3, 3, 3, 4, 4, 3), "others"),
    ],
)
def test_what_cannot_be_told_is_not_told(rows: pa.Table, samples: Series, why: str) -> None:
    found = after_hangups(samples, None, rows, {0: ORIGIN})
    assert found is not None
    assert found.n == 0
    assert why in found.why


def test_where_nobody_hangs_up_there_is_nothing_to_tell() -> None:
    assert after_hangups(running(1, 0), None, rows_table([make_row()]), {0: ORIGIN}) is None
