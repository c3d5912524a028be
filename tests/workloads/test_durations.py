"""Durations: fractions of a millisecond, and none at all."""

import numpy as np
import pytest

from paceline.errors import ConfigError
from paceline.workloads.durations import MAX_MS, Durations


@pytest.mark.parametrize(
    ("given", "mean", "low", "high"),
    [
        (0, 0, 0, 0),
        (0.25, 0.25, 0.25, 0.25),
        ("uniform:0.5:1.5", 1.0, 0.5, 1.5),
        ("normal:200:50", 200, 0, 500),
        ("lognormal:2000:0.8", 2000 * np.exp(0.32), 50, 100_000),
        ("choice:0,0.5", 0.25, 0, 0.5),
    ],
)
def test_samples_have_the_distributions_mean(
    given: str | float, mean: float, low: float, high: float
) -> None:
    durations = Durations.parse(given)
    drawn = durations.sample(3, "wait_ms", 0, 40_000)
    assert drawn.dtype == np.float64
    assert drawn.mean() == pytest.approx(mean, rel=0.02)
    assert durations.mean() == pytest.approx(mean)
    assert low <= drawn.min()
    assert drawn.max() <= high
    assert Durations.parse(str(durations)) == durations


def test_uniform_durations_are_not_whole_numbers() -> None:
    drawn = Durations.parse("uniform:1:2").sample(1, "x", 0, 100)
    assert len(np.unique(drawn)) == 100


def test_samples_stay_within_the_limits() -> None:
    assert Durations.parse("normal:1:500").sample(1, "x", 0, 500).min() == 0
    assert Durations.parse("lognormal:86000000:10").sample(1, "x", 0, 500).max() == MAX_MS


@pytest.mark.parametrize(
    "text", ["", "1s", "-1", "nan", "inf", "1e99", "uniform:2:1", "choice:1,x", "normal:1"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Durations.parse(text)
    assert caught.value.message.startswith("duration: ")
    assert "write" in (caught.value.hint or "")
