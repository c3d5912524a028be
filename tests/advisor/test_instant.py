from typing import Any

import numpy as np
import pytest

from paceline.advisor.digest import CUT, FAILED, WELL
from paceline.advisor.instant import MODES, SENTENCE_TOKENS, feel, instant, usable_ms
from tests.advisor.samples import evidence


def grades(n: int = 400, **sample: Any) -> dict[str, str]:
    return {one.mode.name: one.grade for one in instant(evidence(n, sample=sample))}


def spread(median: float, n: int = 400, sigma: float = 0.1, seed: int = 1) -> Any:
    return median * np.exp(sigma * np.random.default_rng(seed).standard_normal(n))


@pytest.mark.parametrize(
    ("ttft_ms", "grade"), [(50, "instant"), (500, "fluent"), (4000, "slow"), (20_000, "too slow")]
)
def test_reading_begins_with_the_first_token_of_the_answer(ttft_ms: float, grade: str) -> None:
    times = spread(ttft_ms)
    # What it thought before is not read.
    assert grades(ttft_ms=1.0, ttfat_ms=times, e2e_ms=times + 1980)["read"] == grade


def test_time_to_a_usable_answer_by_hand() -> None:
    one = evidence(3, sample={"ttfat_ms": [200, 300, np.nan], "e2e_ms": [2180, 310, 900.0]})
    # 200 ms, and 19 further tokens at 50 a second: 580 ms; an answer of 10 ms more is whole before that;
    # without a stream it is there at its end.
    assert usable_ms(one, MODES["listen"]).tolist() == [580, 310, 900]
    assert usable_ms(one, MODES["read"]).tolist() == [200, 300, 900]
    assert usable_ms(one, MODES["type"]).tolist() == [2180, 310, 900]
    assert SENTENCE_TOKENS == 20


def test_the_whole_is_waited_for_and_typing_is_less_patient() -> None:
    times = spread(700.0)
    found = grades(e2e_ms=times, ttfat_ms=200)
    assert found["wait"] == "fluent"
    assert found["type"] == "noticeable"


def test_it_is_the_slow_requests_that_count() -> None:
    times = np.full(400, 80.0)
    times[::7] = 3000.0
    assert grades(ttfat_ms=times)["read"] == "slow"


def test_near_a_limit_there_is_not_enough_data_until_there_is() -> None:
    few = instant(evidence(30, sample={"ttfat_ms": spread(780, 30)}), ["read"])[0]
    assert few.maybe is None
    assert few.grade == "not enough data"
    assert few.needs_more is not None
    assert few.needs_more > 0
    many = instant(evidence(1000, sample={"ttfat_ms": spread(780, 1000)}), ["read"])[0]
    assert many.grade == "fluent"


def test_timeouts_make_it_slower_and_failures_are_nothing_to_feel() -> None:
    outcome = np.full(400, WELL)
    outcome[::10] = CUT
    times = np.where(outcome == CUT, np.nan, 50.0)
    cut = {"outcome": outcome, "ttfat_ms": times, "e2e_ms": times, "elapsed_ms": 30_000.0}
    found = instant(evidence(400, sample=cut), ["read"])[0]
    assert found.grade != "instant"
    none = instant(evidence(5, sample={"outcome": FAILED}), ["read"])[0]
    assert none.grade == "no answers"


def test_pace_and_stalls_are_of_those_who_follow() -> None:
    rates = np.where(np.arange(400) % 10 == 0, 4.0, 53.0)
    read, wait = instant(evidence(400, sample={"output_tok_s": rates}), ["read", "wait"])
    assert read.pace_share == pytest.approx(0.9)
    assert read.pace_times == pytest.approx(10.02, abs=0.01)
    assert read.stall_ms is not None
    assert wait.pace_share is None
    assert wait.stall_ms is None


def test_wrong_grades_are_rare_where_the_truth_lies_at_a_limit() -> None:
    """Planted: the 95th percentile is 1,050 ms, so `fluent` would be wrong."""
    wrong = 0
    for seed in range(200):
        times = spread(1050 / np.exp(0.2 * 1.645), 200, 0.2, seed)
        wrong += instant(evidence(200, sample={"ttfat_ms": times}), ["read"])[0].grade == "fluent"
    assert wrong <= 10


def test_what_is_shown_counts_and_what_may_be_better_is_said() -> None:
    # All of 100 within 1 s; 94 of them within 0.1 s, so that `instant` is neither shown nor excluded.
    times = np.where(np.arange(100) % 17, 60.0, 300.0)
    found = instant(evidence(100, sample={"ttfat_ms": times}), ["read"])[0]
    assert (found.grade, found.limit, found.within, found.n) == ("fluent", "flow", 100, 100)
    assert found.maybe == "instant"


def test_calls_of_a_job_that_is_slow_as_a_whole_count_as_little_more_than_one() -> None:
    slow = np.repeat(np.arange(40) % 20 == 0, 10)
    times = np.where(slow, 3000.0, 500.0)
    together = instant(
        evidence(400, sample={"ttfat_ms": times, "job": np.repeat(np.arange(40), 10)}), ["read"]
    )
    assert together[0].grade != "fluent"


def test_in_a_word() -> None:
    assert feel(evidence(400, sample={"ttfat_ms": spread(50.0)})) == "instant"
    assert feel(evidence(5)) == "?"
    assert feel(evidence(400, sample={"e2e_ms": spread(700.0)}, streaming=False)) == "fluent"
