import numpy as np
import pyarrow as pa

from paceline.report.conformance.recording import TEXT, recording_of
from paceline.stats.frame import CONTENT, MISSING
from paceline.stats.tokens import count_tokens
from paceline.store.schema import PLAN_SCHEMA
from tests.report.conformance.golden import CUT_IN_ORDER, recorded
from tests.support.rows import MS, make_row, rows_table


def test_requests_begin_before_their_connection() -> None:
    found = recorded()
    assert (found.sent_ns - found.begun_ns).tolist() == [5 * MS, 0, 0, 0, 0]
    assert found.begun_ns.min() == 0


def test_the_tokens_are_the_best_count_of_each_event() -> None:
    found = recorded()
    assert found.event_tokens.tolist() == [1, 1, 2, 1, 1, 1, 1, 1, 1]
    assert found.streamed_tokens.tolist() == [4, 3, 0, 2, 1]
    assert found.first_tokens.tolist() == [1, 1, 0, 1, 1]
    assert found.completion_tokens.tolist() == [4, 3, MISSING, 2, MISSING]


def test_events_of_some_kinds_alone() -> None:
    assert recorded().only(TEXT).event_counts.tolist() == [3, 3, 0, 0, 1]
    content = recorded().only(CONTENT)
    assert content.event_counts.tolist() == [3, 2, 0, 0, 1]
    assert content.first_ns[1] - content.sent_ns[1] == 240 * MS
    assert content.first_ns[3] == MISSING


def test_some_requests_alone() -> None:
    found = recorded().take(np.array([False, True, False, True, False]))
    assert found.event_counts.tolist() == [3, 2]
    assert (found.gaps_ns / MS).tolist() == [40, 40, 20]


def test_a_broken_connection_is_no_answer_that_ended_in_order() -> None:
    rows = [
        make_row(outcome="truncated", error=CUT_IN_ORDER),
        make_row(outcome="truncated", error="the connection was closed within the body"),
    ]
    assert recorded(rows).answered("truncated").tolist() == [True, False]


def test_warm_up_is_left_out_and_order_is_that_of_sending() -> None:
    rows = [
        make_row(request_index=1, sent_ms=0, phase="warmup"),
        make_row(request_index=2, sent_ms=90, event_ms=(95,)),
        make_row(request_index=3, sent_ms=50, event_ms=(99,)),
    ]
    found = recorded(rows)
    assert (found.sent_ns / MS).tolist() == [0, 40]
    assert (found.event_ns / MS).tolist() == [49, 45]


def test_segments_lie_end_to_end() -> None:
    table = rows_table(
        [
            make_row(request_index=1, segment=0, sent_ms=5, event_ms=(10,), end_ms=20),
            make_row(request_index=2, segment=1, sent_ms=7, event_ms=(9,), end_ms=30),
        ]
    )
    origins = {0: 0, 1: 3_600_000 * MS}
    found = recording_of(table, count_tokens(table), PLAN_SCHEMA.empty_table(), origins)
    assert (found.sent_ns / MS).tolist() == [0, 15]
    assert (found.end_ns / MS).tolist() == [15, 38]


def test_what_was_asked_comes_from_the_plan() -> None:
    plan = pa.Table.from_pylist([{"request_index": 1, "output_tokens_asked": 9}], schema=PLAN_SCHEMA)
    rows = [make_row(request_index=1), make_row(request_index=2, sent_ms=1)]
    assert recorded(rows, plan).asked_tokens.tolist() == [9, MISSING]


def test_nothing_measured_is_an_empty_recording() -> None:
    found = recorded([make_row(phase="warmup")])
    assert len(found) == 0
    assert found.gaps_ns.tolist() == []
