import pytest

from paceline.report.chart_axes import axis_of, ticks


def test_values_that_range_widely_are_drawn_by_their_logarithm() -> None:
    axis = axis_of("ms", [10.0, 1_000.0])
    assert axis.log
    assert axis.share(100.0) == pytest.approx(0.5)
    assert axis.between(0.5) == pytest.approx(100.0)
    assert axis.ticks == (10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0)
    assert not axis_of("ms", [100.0, 700.0]).log
    assert not axis_of("ms", [0.0, 700.0]).log


def test_the_strip_lies_beyond_all_values() -> None:
    for side in ("high", "low"):
        for values in ([1.0, 100.0], [40.0, 60.0]):
            axis = axis_of("USD", values, strip=side)
            assert axis.strip is not None
            middle = axis.strip_middle
            assert middle is not None
            assert axis.lo <= axis.strip[0] < middle < axis.strip[1] <= axis.hi
            assert axis.strip[0] >= 100.0 or axis.strip[1] <= min(values) or axis.strip[0] >= max(values)
            assert axis.ends[0] <= min(values) <= max(values) <= axis.ends[1]
            assert all(axis.ends[0] <= mark <= axis.ends[1] for mark in axis.ticks)


def test_one_value_and_equal_values_have_an_axis() -> None:
    for values in ([5.0], [5.0, 5.0], [0.0]):
        axis = axis_of("ms", values)
        assert axis.lo < axis.hi
        assert 0.0 <= axis.share(values[0]) <= 1.0


def test_an_axis_from_zero() -> None:
    assert axis_of("ms", [40.0, 60.0], zero=True).lo == 0.0


@pytest.mark.parametrize(
    ("lo", "hi", "log", "expected"),
    [
        (0.0, 100.0, False, (0.0, 20.0, 40.0, 60.0, 80.0, 100.0)),
        (48.0, 63.0, False, (50.0, 55.0, 60.0)),
        (0.01, 100_000.0, True, (0.01, 0.1, 1.0, 10.0, 100.0, 1_000.0, 10_000.0, 100_000.0)),
        (1.0, 2_000.0, True, (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0)),
    ],
)
def test_marks_are_few_and_round(lo: float, hi: float, log: bool, expected: tuple[float, ...]) -> None:
    assert ticks(lo, hi, log=log) == expected
