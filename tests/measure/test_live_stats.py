import numpy as np
import pytest

from paceline.measure.live_stats import LiveStats, LogHistogram
from tests.measure.fakes import SECOND_NS, progress
from tests.support.rows import make_row, rows_table


def test_a_quantile_is_right_to_a_percent() -> None:
    histogram = LogHistogram()
    assert histogram.quantile(0.5) is None
    values = np.random.default_rng(1).lognormal(np.log(5e7), 0.5, 20_000)
    histogram.add(values[:10_000])
    histogram.add(values[10_000:])
    for q in (0.5, 0.9, 0.99):
        assert histogram.quantile(q) == pytest.approx(np.quantile(values, q), rel=0.02)


def test_only_measured_ok_rows_count_and_gaps_are_shared_among_tokens() -> None:
    rows = rows_table(
        [
            make_row(
                request_index=1,
                sent_ms=5,
                event_ms=(105, 145, 185),
                event_tokens=[4, 4, 4],
                completion_tokens=12,
            ),
            make_row(request_index=2, outcome="timeout", event_ms=(900,)),
            make_row(request_index=3, phase="warmup", event_ms=(900,)),
            make_row(request_index=4, event_ms=(), outcome="empty", end_ms=3),
        ]
    )
    stats = LiveStats(10, None)
    batch = rows.combine_chunks().to_batches()[0]
    shown = stats.update(
        {
            **progress(elapsed_ns=SECOND_NS, token_events=300, finished=4, planned=8, outcomes={"ok": 2}),
            "segment": 0,
        },
        batch,
    )
    assert shown.ttft_ms is not None
    assert shown.ttft_ms[0] == pytest.approx(100, rel=0.01)
    assert shown.itl_ms is not None
    assert shown.itl_ms[0] == pytest.approx(10, rel=0.01)
    assert shown.output_tok_s == pytest.approx(300 * 4)
    assert shown.achieved_requests_s == pytest.approx(4)
    assert shown.ended == 4
    assert shown.offered_requests_s == pytest.approx(8)
    assert shown.left_s == pytest.approx(1.5)


def test_a_sliced_batch_counts_like_a_whole_one() -> None:
    table = rows_table([make_row(request_index=i, event_ms=(100 * (i + 1), 110 * (i + 1))) for i in range(4)])
    batch = table.combine_chunks().to_batches()[0].slice(3)
    shown = LiveStats(None, None).update({**progress(), "segment": 0}, batch)
    assert shown.ttft_ms is not None
    assert shown.ttft_ms[0] == pytest.approx(400, rel=0.01)


def test_segments_add_up() -> None:
    stats = LiveStats(None, 10 * SECOND_NS)
    first = progress(elapsed_ns=2 * SECOND_NS, finished=3, outcomes={"ok": 3})
    stats.update({**first, "segment": 0}, None)
    second = progress(elapsed_ns=SECOND_NS, finished=2, outcomes={"ok": 1, "timeout": 1})
    shown = stats.update({**second, "segment": 1}, None)
    assert (shown.finished, shown.outcomes) == (5, {"ok": 4, "timeout": 1})
    assert shown.elapsed_s == 3
    assert shown.left_s == 7
