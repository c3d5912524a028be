from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from paceline.advisor.evidence import OfferEvidence, pooled
from paceline.advisor.trend import trend, trends
from tests.advisor.samples import STARTED_AT, digest


def hourly(
    levels: Any, *, per_hour: int = 20, noise: float = 0.03, seed: int = 1, **fields: Any
) -> OfferEvidence:
    """One run an hour, whose TTFT is around a level."""
    rng = np.random.default_rng(seed)
    runs = []
    for hour, level in enumerate(levels):
        at = STARTED_AT + timedelta(hours=hour)
        # What an hour has in common is more than what its requests differ by.
        times = level * np.exp(noise * rng.standard_normal() + 0.1 * rng.standard_normal(per_hour))
        sample = {"ttft_ms": times, "at_s": at.timestamp() + np.arange(per_hour)}
        runs.append(digest(per_hour, run_id=f"run-{hour:03}", started_at=at, sample=sample, **fields))
    return pooled(runs)[0]


def test_it_became_a_fifth_slower_after_the_twelfth_hour() -> None:
    found = trend(hourly([200] * 12 + [240] * 12))
    assert found.verdict == "slower"
    (shift,) = found.shifts
    assert shift.at == STARTED_AT + timedelta(hours=12)
    assert shift.after == STARTED_AT + timedelta(hours=11)
    assert shift.lo < 1.2 < shift.hi
    assert not shift.better


def test_thousands_of_requests_in_few_hours_show_no_change() -> None:
    found = trend(hourly([200] * 3 + [240] * 3, per_hour=500))
    assert found.verdict == "not enough data"
    assert found.needs_hours == 2
    assert found.shifts == ()


def test_noise_between_hours_is_not_taken_for_a_change() -> None:
    """Requests within an hour agree to 10 %, hours differ by 15 %: a test of requests would call it real."""
    wrong = sum(
        trend(hourly([200] * 16, per_hour=50, noise=0.15, seed=seed)).verdict not in ("no change",)
        for seed in range(60)
    )
    assert wrong <= 8


def test_faster_is_better_by_the_figure() -> None:
    rates = hourly([50] * 10 + [80] * 10)
    column = {**rates.columns, "output_tok_s": rates.columns["ttft_ms"]}
    found = trend(OfferEvidence(**{**vars(rates), "columns": column}), "output_tok_s")
    assert (found.verdict, found.shifts[0].better) == ("faster", True)
    assert trend(hourly([200] * 10 + [100] * 10)).verdict == "faster"


def test_small_changes_are_of_no_interest() -> None:
    assert trend(hourly([200] * 30 + [206] * 30, noise=0.001, per_hour=40)).verdict == "no change"


def test_hours_with_few_requests_are_counted_and_left_out() -> None:
    found = trend(hourly([200] * 10, per_hour=4))
    assert (found.hours, found.left_out, found.verdict) == ((), 10, "not enough data")


def test_runs_of_one_hour_are_one_hour() -> None:
    runs = [digest(20, run_id=f"r{number}", sample={"at_s": STARTED_AT.timestamp()}) for number in range(9)]
    found = trend(pooled(runs)[0])
    assert len(found.hours) == 1
    assert found.hours[0].runs == tuple(f"r{number}" for number in range(9))


def test_of_many_offers_chance_makes_a_change_in_few_boards() -> None:
    wrong = 0
    for seed in range(20):
        offers = [hourly([200] * 10, seed=100 * seed + one, per_hour=6) for one in range(5)]
        wrong += any(one.shifts for one in trends(offers))
    assert wrong <= 4


def test_a_real_change_stands_among_others() -> None:
    offers = [hourly([200] * 16, seed=7), hourly([200] * 8 + [300] * 8, seed=8), hourly([200] * 3, seed=9)]
    assert [one.verdict for one in trends(offers)] == ["no change", "slower", "not enough data"]


def test_what_would_have_been_seen_is_said() -> None:
    assert trend(hourly([200] * 24)).detectable == pytest.approx(0.06, abs=0.05)
    assert trend(hourly([200] * 3)).detectable == np.inf
