import math

import numpy as np
import pytest
from scipy import stats

from paceline.tuning.confirm import FEWEST_ROUNDS, gain, round_order
from paceline.tuning.goal import parse_goal
from paceline.tuning.trial import Measured
from tests.support.tuning_world import Machine, Noise, World, confirm_half

ITL = parse_goal("min itl_ms")
GOODPUT = parse_goal("max goodput @ ttft_ms<=500")
FAILED = Measured({}, failure="engine ended")


def single(*values: float) -> list[Measured]:
    return [Measured({0: value}) for value in values]


def test_order_is_drawn_and_mirrored() -> None:
    orders = [round_order(7, number) for number in range(40)]
    assert orders == [round_order(7, number) for number in range(40)]
    assert all(a == b[::-1] for a, b in zip(orders[::2], orders[1::2], strict=True))
    firsts = [order[0] for order in orders[::2]]
    assert 4 < firsts.count("tuned") < 16


def test_interval_is_that_of_a_paired_t_test_by_rounds() -> None:
    rng = np.random.default_rng(2)
    default, tuned = rng.uniform(18.0, 22.0, (6, 4)), rng.uniform(9.0, 11.0, (6, 4))
    found = gain(
        [Measured(dict(enumerate(row))) for row in default],
        [Measured(dict(enumerate(row))) for row in tuned],
        ITL,
    )
    assert found.gain is not None
    logs = np.log(default / tuned).mean(axis=1)
    expected = stats.ttest_1samp(logs, 0.0).confidence_interval(0.96)
    assert found.gain.ratio == pytest.approx(math.exp(logs.mean()))
    assert (found.gain.lo, found.gain.hi) == pytest.approx((math.exp(expected.low), math.exp(expected.high)))
    assert found.gain.default == pytest.approx(stats.gmean(default, axis=None))
    assert (found.gain.rounds, found.gain.requests) == (6, 48)
    assert found.real
    assert found.rounds_needed is None
    assert found.sentence.startswith("the gain is real: ")


def test_more_looks_widen_the_interval() -> None:
    blocks = single(20.0, 21.0, 19.0, 20.5), single(18.0, 18.5, 17.5, 19.0)
    once, thrice = (gain(*blocks, ITL, looks=looks).gain for looks in (1, 3))
    assert once is not None
    assert thrice is not None
    assert thrice.lo < once.lo < once.ratio < once.hi < thrice.hi


def test_noise_is_no_gain_and_says_what_it_would_take() -> None:
    found = gain(single(20.0, 21.0, 19.0, 20.5), single(19.5, 19.0, 20.0, 20.0), ITL)
    assert not found.real
    assert found.rounds_needed is not None
    assert found.rounds_needed > 4
    assert "no gain shown, the interval holds 1" in found.sentence
    assert f"about {found.rounds_needed} rounds in all (a longer budget) would" in found.sentence


def test_worse_is_said_to_be_worse() -> None:
    found = gain(single(20.0, 20.1, 19.9), single(30.0, 30.2, 30.1), ITL)
    assert (found.real, found.rounds_needed) == (False, None)
    assert found.sentence.startswith("worse than the defaults: ")


def test_a_gain_too_small_for_any_number_of_rounds() -> None:
    found = gain(single(20.0, 30.0, 15.0), single(24.9, 15.0, 23.9), ITL)
    assert found.rounds_needed is None
    assert "not even 100 rounds" in found.sentence


def test_prompts_without_a_partner_and_rounds_that_failed_are_left_out_and_counted() -> None:
    default = [Measured({0: 20.0, 1: 30.0, 2: 0.0}), Measured({3: 20.0}), FAILED, Measured({5: 20.0})]
    tuned = [Measured({0: 10.0, 1: math.nan, 2: 9.0}), Measured({3: 10.0}), Measured({4: 1.0}), *single()]
    found = gain([*default, Measured({6: 20.0})], [*tuned, Measured({5: 10.0}), Measured({6: 10.0})], ITL)
    assert found.gain is not None
    assert (found.gain.rounds, found.gain.requests) == (4, 8)
    assert found.gain.ratio == pytest.approx(2.0)
    assert "1 round left out (a side failed)" in found.sentence
    assert "2 requests left out" in found.sentence


@pytest.mark.parametrize("tuned", [[], [FAILED] * 5, single(10.0, 10.0), [Measured({9: 10.0})] * 5])
def test_too_few_whole_rounds(tuned: list[Measured]) -> None:
    found = gain(single(20.0, 20.0, 20.0, 20.0, 20.0), tuned, ITL)
    assert (found.gain, found.real, found.rounds_needed) == (None, False, FEWEST_ROUNDS)
    assert "no verdict" in found.sentence


def test_what_fails_more_often_is_no_gain() -> None:
    default = single(20.0, 20.0, 20.0, 20.0, 20.0)
    found = gain(default, [*single(10.0, 10.1, 9.9, 10.0), FAILED], ITL)
    assert not found.real
    assert found.gain is not None
    assert found.sentence.startswith("no gain, however fast: the tuned settings failed in 1 more round than")
    assert gain([*default[:4], FAILED], [*single(10.0, 10.1, 9.9, 10.0), FAILED], ITL).real


def test_goodput_is_a_ratio_of_means_with_fiellers_interval() -> None:
    """R is in the interval where a paired t test does not refuse mean(tuned - R default) = 0."""
    default, tuned = [2.0, 2.3, 1.8, 2.1], [3.1, 3.0, 2.7, 3.4]
    found = gain(single(*default), single(*tuned), GOODPUT).gain
    assert found is not None
    assert found.ratio == pytest.approx(sum(tuned) / sum(default))
    for end in (found.lo, found.hi):
        assert stats.ttest_1samp(np.array(tuned) - end * np.array(default), 0.0).pvalue == pytest.approx(0.04)


def test_goodput_of_0() -> None:
    none = gain(single(0.0, 0.0, 0.0), single(0.0, 0.0, 0.0), GOODPUT)
    assert (none.gain, none.real) == (None, False)
    assert "goodput is 0 on both sides" in none.sentence
    found = gain(single(0.0, 0.0, 0.0, 0.0), single(2.0, 2.1, 1.9, 2.0), GOODPUT)
    assert found.real
    assert found.gain is not None
    assert (found.gain.ratio, found.gain.lo, found.gain.hi) == (math.inf, 1.0, math.inf)
    assert "the defaults never met the limits" in found.sentence
    assert not gain(single(0.0, 0.0, 0.0), single(0.0, 0.0, 2.0), GOODPUT).real
    some = gain(single(0.0, 2.0, 0.0, 1.0), single(2.0, 2.1, 1.9, 2.0), GOODPUT)
    assert some.gain is not None
    assert some.gain.hi == math.inf
    lost = gain(single(2.0, 2.1, 1.9), single(0.0, 0.0, 0.0), GOODPUT)
    assert not lost.real
    assert lost.sentence.startswith("worse than the defaults")


def test_rounds_that_are_all_the_same_prove_nothing_small() -> None:
    assert not gain(single(20.0, 20.0, 20.0), single(20.0, 20.0, 20.0), ITL).real
    assert not gain(single(20.0, 20.0, 20.0), single(19.97, 19.97, 19.97), ITL).real
    assert not gain(single(2.0, 2.0, 2.0), single(2.0, 2.0, 2.0), GOODPUT).real


def shares(times: float, rounds: int, noise: Noise, count: int = 300) -> tuple[float, float]:
    """Of simulated confirmations: the share that claims a gain, and whose interval holds the truth."""
    world = World((), lambda settings: math.log(times) if settings else 0.0, noise)
    found = [confirm_half(Machine(world, seed), {"a": 1}, rounds, seed) for seed in range(count)]
    covered = [one.gain is not None and one.gain.lo <= times <= one.gain.hi for one in found]
    return float(np.mean([one.real for one in found])), float(np.mean(covered))


@pytest.mark.parametrize("rounds", [3, 6])
@pytest.mark.parametrize("noise", [Noise(), Noise(tail=3.0), Noise(drift=0.02, slow_starts=0.2)])
def test_no_gain_is_claimed_inside_the_noise(rounds: int, noise: Noise) -> None:
    """At most 2.5 % claim one, at least 95 % cover; with room for 300 draws, three standard errors."""
    claimed, covered = shares(1.0, rounds, noise)
    assert claimed <= 0.025 + 0.027
    assert covered >= 0.95 - 0.038


def test_gains_are_confirmed() -> None:
    assert shares(1.3, 5, Noise(), 150)[0] >= 0.95
    assert shares(2.5, 3, Noise(), 150)[0] >= 0.95
