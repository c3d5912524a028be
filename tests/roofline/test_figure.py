import pytest

from paceline.measure.machine_speed import Stretch
from paceline.roofline.figure import computed, moved, repeated, spread_note


def test_memory_is_by_the_clock_and_the_best_repeat_stands() -> None:
    # 11 repeats: the 10th percentile is the second lowest.
    figure = moved([Stretch(rate, 1.0) for rate in (90, 100, 95, 92, 93, 94, 96, 97, 98, 91, 99)])
    assert (figure.value, figure.lo) == (100, 91)
    assert not figure.disturbed
    assert spread_note("read", figure) is None


def test_threads_that_had_half_of_their_cores_are_no_measure_of_memory() -> None:
    figure = moved([Stretch(50, 0.5), Stretch(40, 0.95)])
    assert (figure.value, figure.share, figure.disturbed) == (50, 0.5, True)
    assert spread_note("read", figure) == (
        "read: other work had 50% of the cores in the best of the repeats; "
        "alone on the machine it may be more"
    )


def test_arithmetic_counts_the_time_that_the_threads_had() -> None:
    figure = computed([Stretch(50, 0.5), Stretch(98, 1.0), Stretch(30, 0.3), Stretch(19, 0.1)])
    # The last had too little time to say anything.
    assert figure.value == pytest.approx(100)
    assert figure.lo == pytest.approx(98.4)
    assert not figure.disturbed


def test_where_no_repeat_had_any_time_the_clock_is_left() -> None:
    figure = computed([Stretch(5, 0.1), Stretch(6, 0.15)])
    assert (figure.value, figure.disturbed) == (6, True)


def test_a_share_is_no_more_than_all() -> None:
    assert computed([Stretch(100, 1.02)]).value == 100


def test_repeats_that_differ_are_worth_a_word() -> None:
    assert spread_note("copy", repeated([100, 70, 70, 70])) == "copy: repeats fall up to 30% below the best"
    assert spread_note("copy", repeated([100, 95])) is None
