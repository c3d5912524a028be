"""Rates against schedules whose true rate is known."""

import heapq
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from paceline.stats.steady import Throughput, steady_windows, throughput
from paceline.stats.tokens import count_tokens
from tests.support.jobs import call_row, chat_jobs
from tests.support.rows import lognormal_rows, make_row, rows_table

TTFT_MS, ITL_MS, TOKENS = 50.0, 10.0, 20
SPAN_MS = TTFT_MS + (TOKENS - 1) * ITL_MS
# Between two requests of a slot, and between two slots that start at once.
TURN_MS = 0.05
STEP_MS = 0.03


def answer(sent: float, span: float = SPAN_MS, *, streaming: bool = True, **columns: Any) -> dict[str, Any]:
    """A request that is answered at the exact engine's pace in the last SPAN_MS of `span`."""
    first = sent + span - SPAN_MS + TTFT_MS
    at = [first + j * ITL_MS for j in range(TOKENS)] if streaming else [sent + span]
    return make_row(
        sent_ms=sent,
        event_ms=at,
        end_ms=at[-1] + 0.01,
        streaming=streaming,
        completion_tokens=TOKENS,
        **columns,
    )


def closed(
    c: int, n: int, *, staggered: bool = False, make: Callable[..., dict[str, Any]] = answer, **columns: Any
) -> list[dict[str, Any]]:
    """A closed loop on the exact engine; staggered loops start their slots evenly over one span."""
    free = [slot * (SPAN_MS / c if staggered else STEP_MS) for slot in range(c)]
    heapq.heapify(free)
    rows = []
    for _ in range(n):
        sent = heapq.heappop(free)
        heapq.heappush(free, sent + SPAN_MS + TURN_MS)
        rows.append(make(sent, **columns))
    return rows


def rates(
    rows: Iterable[dict[str, Any]] | pa.Table, *, open_loop: bool = False, whole_run: bool = False
) -> Throughput:
    table = rows if isinstance(rows, pa.Table) else rows_table(list(rows))
    # Far from 0, as monotonic clocks are.
    origins = {int(s): 10**16 + int(s) * 10**12 for s in np.unique(table["segment"].to_numpy())}
    return throughput(table, origins, count_tokens(table), open_loop=open_loop, whole_run=whole_run)


def check(found: Throughput, requests_s: float, *, rel: float = 0.01) -> None:
    assert found.requests_s == pytest.approx(requests_s, rel=rel)
    assert found.output_tok_s is not None
    assert found.output_tok_s / TOKENS == pytest.approx(found.requests_s)


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("staggered", [False, True])
@pytest.mark.parametrize("batches", [3, 5, 10, 2.5, 3.1, 7.9])
@pytest.mark.parametrize("c", [1, 4, 8, 32, 64])
def test_a_closed_loop_of_c_makes_c_requests_a_span(
    c: int, batches: float, staggered: bool, streaming: bool
) -> None:
    found = rates(closed(c, round(c * batches), staggered=staggered, streaming=streaming))
    assert found.steady
    check(found, c / SPAN_MS * 1e3)


@pytest.mark.parametrize("c", [1, 4, 32])
def test_two_batches_are_enough_and_one_is_taken_whole(c: int) -> None:
    found = rates(closed(c, 2 * c))
    assert found.steady
    check(found, c / SPAN_MS * 1e3)
    found = rates(closed(c, c))
    assert not found.steady
    check(found, c / SPAN_MS * 1e3)


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("n", [8, 9, 12])
def test_interleaved_blocks_lose_no_edges(n: int, streaming: bool) -> None:
    rows = [row for segment in range(7) for row in closed(4, n, segment=segment, streaming=streaming)]
    found = rates(rows)
    assert found.steady
    check(found, 4 / SPAN_MS * 1e3)


@pytest.mark.parametrize("streaming", [True, False])
def test_warm_up_is_never_counted(streaming: bool) -> None:
    rows = closed(32, 160, streaming=streaming)
    for row in rows[:40]:
        row["phase"] = "warmup"
    found = rates(rows)
    check(found, 32 / SPAN_MS * 1e3)
    assert found.credit[:40].sum() == 0.0
    assert found.credit.sum() <= 120.0
    assert found.whole_requests_s == pytest.approx(120 / found.whole_seconds)


@pytest.mark.parametrize("streaming", [True, False])
def test_a_loop_that_was_cut_off(streaming: bool) -> None:
    rows = []
    for row in closed(8, 80, staggered=True, streaming=streaming):
        if row["end_ns"] > 2.0e9:
            row |= {"end_ns": int(2.0e9), "outcome": "cancelled", "completion_tokens": None}
            row |= {name: [] for name in row if name.startswith("event_")}
        if row["sent_ns"] < 2.0e9:
            rows.append(row)
    check(rates(rows), 8 / SPAN_MS * 1e3)


@pytest.mark.parametrize("streaming", [True, False])
def test_an_open_loop_makes_what_arrives(streaming: bool) -> None:
    due = np.cumsum(np.random.default_rng(3).exponential(10.0, 3000))
    found = rates([answer(at, streaming=streaming) for at in due], open_loop=True)
    assert found.steady
    # Of what arrived one span before the window, exactly: all that lies between is no chance.
    check(found, (len(due) - 1) / (due[-1] - due[0]) * 1e3, rel=0.02)


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("overload", [1.1, 1.5])
def test_an_overloaded_open_loop_makes_what_the_server_can(streaming: bool, overload: float) -> None:
    # One request each 10 ms is done, however many come.
    due = np.arange(3000) * 10.0 / overload
    done = np.arange(3000) * 10.0 + SPAN_MS
    rows = [answer(at, end - at, streaming=streaming) for at, end in zip(due, done, strict=True)]
    found = rates(rows, open_loop=True)
    assert found.steady
    check(found, 100.0, rel=0.03)


def queueing(n: int, *, streaming: bool) -> list[dict[str, Any]]:
    """64 in flight before a server that works at 8 at once."""
    ended = [SPAN_MS * (1 + j // 8) for j in range(n)]
    sent = [0.0] * 64 + ended[: n - 64]
    return [answer(at, end - at, streaming=streaming) for at, end in zip(sent, ended, strict=True)]


def test_a_closed_loop_that_queues_makes_what_the_server_can() -> None:
    found = rates(queueing(320, streaming=True))
    assert found.steady
    check(found, 8 / SPAN_MS * 1e3)


def test_unseen_work_of_a_queue_is_off_by_no_more_than_half_of_what_is_in_flight() -> None:
    found = rates(queueing(640, streaming=False))
    assert found.requests_s is not None
    assert 0.0 <= found.requests_s * found.seconds - 8 / SPAN_MS * 1e3 * found.seconds <= 32


def test_unequal_requests() -> None:
    table = lognormal_rows(640, 5, concurrency=32, sigma=0.3)
    found = rates(table)
    spans = table["end_ns"].to_numpy() - table["sent_ns"].to_numpy()
    assert found.steady
    assert found.requests_s == pytest.approx(32e9 / spans.mean(), rel=0.01)


def test_failures_make_no_requests_and_their_tokens_count() -> None:
    rows = closed(4, 40)
    for row in rows[::2]:
        row["outcome"] = "truncated"
    found = rates(rows)
    assert found.requests_s == pytest.approx(2 / SPAN_MS * 1e3, rel=0.01)
    assert found.output_tok_s == pytest.approx(4 * TOKENS / SPAN_MS * 1e3, rel=0.01)


def test_a_failure_without_tokens_takes_part_and_counts_nothing() -> None:
    rows = closed(4, 40)
    for row in rows[::2]:
        row |= {"outcome": "http_error", "completion_tokens": None}
        row |= {name: [] for name in row if name.startswith("event_")}
    check(rates(rows), 2 / SPAN_MS * 1e3)


def test_the_whole_run_can_be_asked_for() -> None:
    found = rates(closed(8, 20), whole_run=True)
    assert found.at_will
    assert not found.steady
    assert found.requests_s == found.whole_requests_s == pytest.approx(20 / found.seconds)
    assert not rates(closed(8, 8), whole_run=True).at_will


def test_embeddings_have_prompt_tokens_a_second() -> None:
    rows = [
        make_row(
            sent_ms=40.0 * k,
            event_ms=(40.0 * k + 40.0,),
            end_ms=40.0 * k + 40.0,
            event_kind=[8],
            completion_tokens=None,
            streaming=False,
            prompt_tokens=100,
        )
        for k in range(50)
    ]
    table = rows_table(rows)
    found = throughput(table, {0: 0}, count_tokens(table))
    assert found.output_tok_s == 0.0
    assert found.requests_s == pytest.approx(25.0, rel=0.01)
    assert found.prompt_tok_s == pytest.approx(2500.0, rel=0.01)


@pytest.mark.parametrize("think_ms", [0.0, 400.0])
def test_jobs_fill_the_loop_however_long_they_think(think_ms: float) -> None:
    rows, _ = chat_jobs(200, 4, job_sigma=0.0, think_ms=think_ms, concurrency=8)
    found = throughput(rows, {0: 0}, count_tokens(rows))
    # A call takes about 170 ms and 1 ms to its end, and 8 jobs are always going on.
    turn_s = (100.0 * float(np.exp(0.05**2 / 2)) + 70.0 + 1.0) / 1e3
    whole_s = 4 * turn_s + 3 * think_ms / 1e3
    assert found.steady
    assert found.requests_s == pytest.approx(8 * 4 / whole_s, rel=0.02)


def test_of_an_open_loop_of_jobs_the_arrivals_of_jobs_end_the_window() -> None:
    rows = [
        call_row(job, step, sent_ms=sent, event_ms=(sent + 10.0,), end_ms=sent + 10.0)
        for job in range(100)
        for step in range(3)
        for sent in [100.0 * job + 500.0 * step]
    ]
    windows = steady_windows(rows_table(rows), {0: 0}, open_loop=True)
    # From the first job, and the time of one later, to the start of the last: not to its last call.
    assert [(w.start_ns, w.end_ns) for w in windows] == [(1_010_000_000, 9_900_000_000)]
    whole = steady_windows(rows_table(rows), {0: 0}, open_loop=True, whole_run=True)
    assert [(w.start_ns, w.end_ns, w.steady) for w in whole] == [(0, 10_910_000_000, False)]
