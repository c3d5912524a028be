from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binomtest

from paceline.stats.capacity_search import Asked, Finding, Observation, finding, next_loads
from tests.support.queues import Queue, Wall

# Fifty searches a test: half a minute each on two busy cores.
pytestmark = pytest.mark.timeout(900)

Step = Callable[[np.random.Generator, float, float], tuple[int, int]]
RATE = Asked(share=0.95, lowest=1.0, highest=64.0)
WHOLE = Asked(share=0.95, lowest=1.0, highest=512.0, whole=True)
SEEDS = 50


def search(
    step: Step, asked: Asked, seed: int, seconds: float, most: int = 150
) -> tuple[Finding, list[Observation]]:
    rng = np.random.default_rng(seed)
    seen: list[Observation] = []
    while len(seen) < most and (loads := next_loads(seen, asked, seed)):
        for load in loads:
            attempted, met = step(rng, load, seconds)
            seen.append(Observation(load, attempted, (met,)))
    return finding(seen, asked), seen


def check(found: list[Finding], true: float, *, tolerance: float = 0.05) -> None:
    """All are found, at least 94 % within the tolerance, and not more above than was promised."""
    assert [one.verdict for one in found] == ["found"] * len(found)
    loads = np.array([one.load for one in found], dtype=float)
    above = int((loads > true * (1.0 + 1e-9)).sum())
    # Refuted only where more are above than 5 % explain.
    assert binomtest(above, len(found), 0.05, alternative="greater").pvalue > 0.05
    off = np.abs(loads / true - 1.0)
    assert np.median(off) < tolerance
    # An interval of 5 % that covers with 95 % confidence is now and then missed on its far side.
    assert (off <= tolerance).mean() >= 0.94
    assert off.max() < 1.6 * tolerance


def test_one_server_in_closed_form() -> None:
    queue = Queue(servers=1, service_s=0.05, limit_s=0.5)
    check([search(queue.step, RATE, seed, 600.0)[0] for seed in range(SEEDS)], queue.capacity(0.95))


def test_many_servers_in_closed_form() -> None:
    queue = Queue(servers=4, service_s=0.5, limit_s=1.0, warmup_s=20.0)
    check([search(queue.step, RATE, seed, 600.0)[0] for seed in range(SEEDS)], queue.capacity(0.95))


@pytest.mark.parametrize("seconds", [4.0, 20.0])
def test_with_short_steps_the_lower_end_is_not_above_more_often_than_promised(seconds: float) -> None:
    queue = Queue(servers=1, service_s=0.05, limit_s=0.5, warmup_s=60.0)
    found = [search(queue.step, RATE, seed, seconds, most=30)[0] for seed in range(SEEDS)]
    above = sum(one.lo > queue.capacity(0.95) for one in found)
    assert binomtest(above, SEEDS, 0.05, alternative="greater").pvalue > 0.05


def test_a_wall_in_whole_numbers() -> None:
    wall = Wall()
    found = [search(wall.step, WHOLE, seed, 20.0)[0] for seed in range(SEEDS)]
    check(found, wall.capacity())
    assert {one.load for one in found} <= {39.0, 40.0}


def test_an_endpoint_that_meets_nothing_is_below_the_range() -> None:
    found, seen = search(lambda *_: (100, 10), RATE, 1, 10.0)
    assert found.verdict == "below the range"
    assert found.load is None
    assert {one.load for one in seen} == {1.0}


def test_an_endpoint_that_meets_all_is_above_the_range() -> None:
    found, seen = search(lambda *_: (200, 200), RATE, 1, 10.0)
    assert (found.verdict, found.load) == ("above the range", 64.0)
    assert len(seen) < 20


def test_an_overloaded_load_is_not_tried_again_and_again() -> None:
    wall = Wall()
    _, seen = search(wall.step, WHOLE, 3, 20.0)
    assert sum(one.load >= 64 for one in seen) <= 2


def test_the_walk_upward_doubles() -> None:
    assert next_loads([], RATE, 1) == [1.0]
    assert next_loads([Observation(1.0, 50, (50,))], RATE, 1) == [2.0]
    assert next_loads([Observation(1.0, 50, (50,)), Observation(40.0, 50, (50,))], RATE, 1) == [64.0]


def test_one_of_a_few_that_fails_does_not_end_the_walk_upward() -> None:
    assert next_loads([Observation(1.0, 4, (3,))], RATE, 1) == [2.0]
    assert Observation(1.0, 4, (2,)).fails(0.95)
    assert not Observation(1.0, 100, (92,)).fails(0.95)
    assert Observation(1.0, 100, (90,)).fails(0.95)


def test_a_round_is_a_function_of_the_steps_and_the_seed() -> None:
    seen = [Observation(1.0, 50, (50,)), Observation(2.0, 90, (90,)), Observation(4.0, 200, (150,))]
    assert next_loads(seen, RATE, 7) == next_loads(list(seen), RATE, 7)
    assert sorted(next_loads(seen, RATE, 7)) == sorted(next_loads(seen, RATE, 8))


def test_little_data_says_how_much_is_missing() -> None:
    seen = [Observation(1.0, 50, (50,)), Observation(2.0, 90, (90,)), Observation(4.0, 200, (150,))]
    found = finding(seen, RATE)
    assert found.verdict == "not enough data"
    assert found.needs_share is not None
    assert found.needs_share > 1.0
    assert found.lo < found.estimate < found.hi


def test_with_several_criteria_the_scarcest_decides() -> None:
    steps = [(7.2, 400, 390), (8.0, 400, 380), (8.8, 400, 360)] * 6
    seen = [Observation(load, n, (n, met)) for load, n, met in steps]
    alone = [Observation(load, n, (met,)) for load, n, met in steps]
    assert finding(seen, RATE).estimate == pytest.approx(finding(alone, RATE).estimate, rel=0.01)


def test_loads_are_of_three_digits_or_whole_and_in_the_range() -> None:
    assert RATE.rounded(12.3456) == 12.3
    assert RATE.rounded(0.2) == 1.0
    assert RATE.rounded(1e9) == 64.0
    assert WHOLE.rounded(12.9) == 12.0
