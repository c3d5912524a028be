import numpy as np
import pyarrow as pa
import pytest

from paceline.stats.server import (
    Figures,
    Series,
    check_tokens,
    figures,
    in_flight_at,
    power_w,
    ratio,
    series_of,
)
from paceline.stats.server_quantities import Kind
from paceline.stats.tokens import count_tokens
from tests.support.rows import make_row, rows_table

MS = 1_000_000
ORIGIN = 5_000 * MS


def series(
    name: str, *points: tuple[float, float], kind: Kind = "gauge", source: str = "vllm", span_ms: float = 0.0
) -> Series:
    """Points of (ms after the origin, value)."""
    at = np.array([ORIGIN + round(t * MS) for t, _ in points], np.int64)
    spans = np.full(len(points), round(span_ms * MS), np.int64)
    return Series(source, name, kind, at, spans, np.array([value for _, value in points], np.float64))


def span(start_ms: float, end_ms: float) -> tuple[int, int]:
    return ORIGIN + round(start_ms * MS), ORIGIN + round(end_ms * MS)


def test_samples_are_told_apart_by_source_and_name_and_put_in_order() -> None:
    samples = pa.table(
        {
            "t_ns": [30, 10, 20, 10],
            "span_ns": [1, 1, 1, 1],
            "source": ["vllm", "vllm", "gpu0", "vllm"],
            "name": ["a", "a", "a", "b"],
            "kind": ["gauge", "gauge", "gauge", "counter"],
            "value": [3.0, 1.0, 2.0, 9.0],
        }
    )
    found = {
        (one.source, one.name): (one.t_ns.tolist(), one.value.tolist(), one.kind)
        for one in series_of(samples)
    }
    assert found == {
        ("gpu0", "a"): ([20], [2.0], "gauge"),
        ("vllm", "a"): ([10, 30], [1.0, 3.0], "gauge"),
        ("vllm", "b"): ([10], [9.0], "counter"),
    }


def test_a_gauge_is_averaged_over_the_windows_alone() -> None:
    one = series("running_requests", (0, 100), (10, 2), (20, 4), (30, 100), (40, 6))
    assert figures(one, [span(10, 20), span(35, 45)]) == Figures(3, mean=4.0, max=6.0)
    assert figures(one, [span(11, 19)]) == Figures(0)
    assert figures(one, []) == Figures(0)


def test_a_counter_grows_between_the_first_and_the_last_sample_of_each_window() -> None:
    one = series("preemptions", (0, 5), (100, 10), (200, 30), (300, 35), (400, 95), (500, 99), kind="counter")
    # 20 in 0.1 s and 64 in 0.2 s.
    found = figures(one, [span(50, 250), span(290, 510)])
    assert (found.n, found.total, found.resets) == (5, 84.0, 0)
    assert found.a_second == pytest.approx(84 / 0.3)
    assert figures(one, [span(90, 110)]) == Figures(1)


def test_a_server_that_starts_anew_counts_from_nothing() -> None:
    one = series("preemptions", (0, 50), (100, 60), (200, 4), (300, 9), kind="counter")
    assert figures(one, [span(0, 300)]) == Figures(4, total=19.0, a_second=pytest.approx(19 / 0.3), resets=1)  # type: ignore[arg-type]


def test_shares_of_counters() -> None:
    assert ratio(Figures(2, total=30.0), Figures(2, total=120.0)) == 0.25
    assert ratio(Figures(2, total=0.0), Figures(2, total=0.0)) is None
    assert ratio(Figures(0), Figures(2, total=1.0)) is None
    assert ratio(None, Figures(2, total=1.0)) is None


def test_both_counts_of_tokens_are_of_the_same_time() -> None:
    rows = rows_table(
        [make_row(sent_ms=0, event_ms=(100, 200, 300, 400)), make_row(sent_ms=50, event_ms=(150, 900))]
    )
    counts = count_tokens(rows)
    whole = series("generation_tokens_total", (-10, 1_000), (450, 1_005), (1_000, 1_006), kind="counter")
    check = check_tokens(whole, rows, {0: ORIGIN}, counts, at_end=False)
    assert check is not None
    assert (check.server, check.client, check.agree) == (6.0, 6.0, True)
    assert check.seconds == pytest.approx(1.01)
    # From 160 to 500 ms: three events of the first, none of the second.
    part = series("generation_tokens_total", (160, 0), (500, 3), kind="counter")
    check = check_tokens(part, rows, {0: ORIGIN}, counts, at_end=False)
    assert check is not None
    assert (check.server, check.client) == (3.0, 3.0)
    # The event at 150 ms lies so near to the first sample that the server may have counted it after it.
    assert check.slack == 1.0


def test_a_server_that_counts_at_the_end_is_compared_so() -> None:
    rows = rows_table(
        [make_row(sent_ms=0, event_ms=(100, 200, 300, 400)), make_row(sent_ms=50, event_ms=(150, 900))]
    )
    one = series("generation_tokens_total", (-10, 0), (600, 4), kind="counter")
    check = check_tokens(one, rows, {0: ORIGIN}, count_tokens(rows), at_end=True)
    assert check is not None
    assert (check.server, check.client, check.slack, check.agree) == (4.0, 4.0, 0.0, True)


def test_counts_that_differ_do_not_agree() -> None:
    rows = rows_table([make_row(event_ms=tuple(range(100, 1_100, 10)))])
    for grown, agree in ((100, True), (102, True), (103, False), (97, False), (200, False)):
        one = series("generation_tokens_total", (-50, 0), (2_000, grown), kind="counter")
        check = check_tokens(one, rows, {0: ORIGIN}, count_tokens(rows), at_end=False)
        assert check is not None
        assert check.agree is agree


def test_what_came_between_two_segments_is_not_the_client_s() -> None:
    rows = rows_table(
        [make_row(segment=0, event_ms=(100, 200)), make_row(segment=1, request_index=1, event_ms=(100, 200))]
    )
    origins = {0: ORIGIN, 1: ORIGIN + 5_000 * MS}
    # In the 4.5 s between the segments the other side of a comparison was served: 70 tokens.
    one = series("generation_tokens_total", (-10, 0), (300, 2), (4_900, 72), (5_300, 74), kind="counter")
    check = check_tokens(one, rows, origins, count_tokens(rows), at_end=False)
    assert check is not None
    assert (check.server, check.client) == (4.0, 4.0)
    assert check_tokens(series("x", (100, 1)), rows, origins, count_tokens(rows), at_end=False) is None


def test_power_is_that_of_all_gpus_by_their_energy_where_they_count_it() -> None:
    gpus = [
        series("gpu_energy_j", (0, 1_000), (2_000, 1_600), kind="counter", source="gpu0"),
        series("gpu_power_w", (0, 999), (2_000, 999), source="gpu0"),
        series("gpu_power_w", (0, 100), (2_000, 140), source="gpu1"),
    ]
    # 600 J in 2 s, and 120 W.
    assert power_w(gpus, [span(0, 2_000)]) == pytest.approx(420.0)
    assert power_w(gpus[:2], [span(1_000, 1_500)]) is None
    assert power_w([], [span(0, 2_000)]) is None


def test_requests_in_flight_at_instants() -> None:
    rows = rows_table(
        [
            make_row(sent_ms=0, end_ms=100),
            make_row(sent_ms=50, end_ms=150),
            make_row(sent_ms=None, event_ms=(), end_ms=60),
        ]
    )
    at = np.array([ORIGIN + t * MS for t in (-1, 0, 49, 75, 120, 200)])
    assert in_flight_at(rows, {0: ORIGIN}, at).tolist() == [0, 1, 1, 2, 1, 0]
