from pathlib import Path

import numpy as np
import pytest

from paceline.report.model import Report
from paceline.report.series import MOST_POINTS, TIME_BINS, histogram, ladder, points, timeline
from tests.report.samples import failed_row, report
from tests.support.rows import lognormal_rows, make_row


def test_a_histogram_has_every_sample_once() -> None:
    values = np.random.default_rng(1).lognormal(3.0, 1.0, 10_000)
    bars = histogram(values)
    assert bars.counts.sum() + bars.beyond == 10_000
    assert len(bars.edges) == len(bars.counts) + 1
    assert 0 < bars.beyond <= 50
    assert bars.edges[-1] == pytest.approx(np.quantile(values, 0.995))


@pytest.mark.parametrize("values", [[5.0], [5.0] * 1000, [0.0, 0.0], [5.0] * 999 + [9.0]])
def test_a_histogram_of_values_that_are_alike(values: list[float]) -> None:
    bars = histogram(np.array(values))
    assert bars.counts.sum() + bars.beyond == len(values)
    assert (np.diff(bars.edges) > 0).all()


def test_of_few_values_all_are_drawn() -> None:
    assert histogram(np.array([1.0] * 7 + [50.0])).beyond == 0
    assert histogram(np.arange(99.0)).beyond == 0
    assert histogram(np.arange(1000.0)).beyond == 5


def test_few_values_get_few_bins() -> None:
    assert len(histogram(np.arange(16.0)).counts) == 8
    assert len(histogram(np.arange(10_000.0)).counts) == 60


def test_a_ladder_reaches_as_far_as_the_sample() -> None:
    steps = ladder(np.arange(1.0, 1001.0))
    assert steps.p[0] == 0.0
    assert steps.p[-1] == pytest.approx(0.999)
    assert steps.value[0] == 1.0
    assert steps.value[-1] == pytest.approx(np.quantile(np.arange(1.0, 1001.0), 0.999))
    assert (np.diff(steps.value) >= 0).all()
    assert ladder(np.array([7.0])).value.tolist() == [7.0] * len(steps.p)


def test_a_timeline_adds_up(healthy: Report) -> None:
    line = timeline(healthy.evidence)
    assert line is not None
    assert len(line.start_s) <= TIME_BINS
    assert line.sent_s.sum() * line.width_s == pytest.approx(820)
    assert line.ended_s.sum() * line.width_s == pytest.approx(820)
    assert line.tokens_s.sum() * line.width_s == pytest.approx(820 * 32)
    assert np.median(line.in_flight) == pytest.approx(8.0, rel=0.01)
    assert len(line.steady) == 1


def test_mean_in_flight_of_a_known_run(home: Path) -> None:
    rows = [
        make_row(request_index=1, sent_ms=0.0, event_ms=(500.0,), end_ms=1000.0),
        make_row(request_index=2, sent_ms=500.0, event_ms=(900.0,), end_ms=1000.0),
    ]
    line = timeline(report(home, rows).evidence)
    assert line is not None
    assert line.in_flight.tolist() == pytest.approx([1.0] * 5 + [2.0] * 5)


def test_segments_follow_each_other(home: Path) -> None:
    rows = [make_row(request_index=k, segment=k - 1, event_ms=(900.0,), end_ms=1000.0) for k in (1, 2)]
    made = report(home, rows)
    line = timeline(made.evidence)
    assert line is not None
    assert line.start_s[-1] + line.width_s == pytest.approx(2.0)
    assert points(made.evidence).at_s.tolist() == [0.0, 1.0]


def test_nothing_sent_has_no_timeline(home: Path) -> None:
    made = report(home, [failed_row("connect_error", 1, sent_ns=None, written_ns=None)])
    assert timeline(made.evidence) is None
    assert points(made.evidence).total == 0


def test_of_many_points_failures_and_the_slowest_stay(home: Path) -> None:
    table = lognormal_rows(8_000, 1, events=2, concurrency=64)
    outcome = ["truncated" if k % 100 == 0 else "ok" for k in range(8_000)]
    place = table.column_names.index("outcome")
    made = report(home, table.set_column(place, table.schema.field(place), [outcome]))
    drawn = points(made.evidence)
    assert drawn.total == 8_000
    assert len(drawn.at_s) == MOST_POINTS
    assert drawn.outcome.count("truncated") == 80
    slowest = made.evidence.samples["ttft_ms"].values.max()
    assert drawn.wait_ms.max() >= slowest
    assert (np.diff(drawn.index) > 0).all()


def test_even_failures_are_thinned_out(home: Path) -> None:
    made = report(home, lognormal_rows(5_000, 1, events=1, outcome="truncated"))
    assert len(points(made.evidence, 1_000).at_s) <= 1_000


def test_an_open_loops_wait_counts_from_the_due_instant(home: Path) -> None:
    from tests.report.samples import OPEN

    rows = [make_row(request_index=1, intended_ms=0.0, sent_ms=50.0, event_ms=(150.0,))]
    assert points(report(home, rows).evidence).wait_ms.tolist() == [100.0]
    assert points(report(home, rows, load=OPEN).evidence).wait_ms.tolist() == [150.0]
