import json

import numpy as np
import pytest
from scipy.special import ndtri

from paceline.stats.compare import Verdict, compare, fail_if_slower, time_blocks
from tests.support.simulation import samples

Floats = np.ndarray[tuple[int], np.dtype[np.float64]]


def lognormal(n: int, seed: int, factor: float = 1.0, sigma: float = 0.3) -> Floats:
    return factor * np.random.default_rng(seed).lognormal(4.0, sigma, n)


def test_a_fifth_less_latency_is_faster() -> None:
    found = compare(samples(lognormal(1000, 1)), samples(lognormal(1000, 2, 0.8)))
    assert found.verdict == Verdict("faster", 0.05)
    assert str(found.verdict) == "faster"
    assert found.ratio.value == pytest.approx(0.8, rel=0.05)
    assert found.ratio.lo is not None
    assert found.ratio.hi is not None
    assert found.ratio.lo < found.ratio.value < found.ratio.hi < 1.0
    assert found.difference.value == pytest.approx(found.b - found.a)
    assert (found.n_a, found.blocks_a) == (1000, 40)


def test_the_same_ratio_of_a_rate_is_slower() -> None:
    a, b = samples(lognormal(1000, 1), "output_tok_s"), samples(lognormal(1000, 2, 0.8), "output_tok_s")
    found = compare(a, b)
    assert found.better == "higher"
    assert found.verdict.outcome == "slower"
    assert compare(b, a).verdict.outcome == "faster"


def test_two_long_equal_runs_show_no_difference_of_interest() -> None:
    found = compare(samples(lognormal(20_000, 1)), samples(lognormal(20_000, 2)))
    assert str(found.verdict) == "no difference larger than 0.05"
    # So does a difference that is certain, and too small to be of interest.
    found = compare(samples(lognormal(20_000, 1)), samples(lognormal(20_000, 2, 1.02)))
    assert found.ratio.lo is not None
    assert found.ratio.lo > 1.0
    assert found.verdict.outcome == "no difference"
    narrower = compare(
        samples(lognormal(20_000, 1)), samples(lognormal(20_000, 2, 1.02)), smallest_difference=0.005
    )
    assert narrower.verdict.outcome == "slower"


def evenly_lognormal(n: int, seed: int, factor: float = 1.0) -> Floats:
    """The quantiles of a lognormal in random order, so that a ratio of two such is exactly their factors'."""
    even = np.random.default_rng(seed).permutation((np.arange(n) + 0.5) / n)
    return np.asarray(factor * np.exp(0.5 * ndtri(even)), dtype=np.float64)


@pytest.mark.parametrize(
    ("factor", "settled"), [(1.07, "slower"), (0.93, "faster"), (1.001, "no difference")]
)
def test_short_runs_say_how_much_more_they_need(factor: float, settled: str) -> None:
    found = compare(samples(evenly_lognormal(200, 3)), samples(evenly_lognormal(200, 4, factor)))
    assert found.verdict.outcome == "not enough data"
    needs = found.verdict.needs_n
    assert needs is not None
    assert str(found.verdict) == f"not enough data (needs {needs} more)"
    # Half as much again as that, for the width of a bootstrap interval is itself a guess.
    n = 200 + needs * 3 // 2
    again = compare(samples(evenly_lognormal(n, 5)), samples(evenly_lognormal(n, 6, factor)))
    assert again.verdict.outcome == settled
    few = 200 + needs // 4
    early = compare(samples(evenly_lognormal(few, 5)), samples(evenly_lognormal(few, 6, factor)))
    assert early.verdict.outcome == "not enough data"


@pytest.mark.parametrize(("statistic", "needs"), [("p99", 800), ("p95", None), ("mean", None)])
def test_a_tail_needs_samples_beyond_it(statistic: str, needs: int | None) -> None:
    found = compare(samples(lognormal(200, 1)), samples(lognormal(200, 2, 3.0)), statistic=statistic)  # type: ignore[arg-type]
    if needs is None:
        assert found.verdict.outcome == "slower"
    else:
        assert found.verdict == Verdict("not enough data", 0.05, needs)
        assert found.ratio.lo is None
        assert found.ratio.value > 2.0


def test_few_blocks_are_not_enough_however_many_samples() -> None:
    ids = np.arange(1000) // 500
    found = compare(samples(lognormal(1000, 1)), samples(lognormal(1000, 2, 0.5)), blocks_a=ids, blocks_b=ids)
    assert found.verdict == Verdict("not enough data", 0.05, 1500)


def test_pairing_cancels_what_both_sides_share() -> None:
    rng = np.random.default_rng(9)
    ids = np.repeat(np.arange(12), 50)
    drift = np.repeat(rng.lognormal(0.0, 0.6, 12), 50)
    a, b = samples(lognormal(600, 1) * drift), samples(lognormal(600, 2, 0.8) * drift)
    apart = compare(a, b, statistic="mean", blocks_a=ids, blocks_b=ids)
    together = compare(a, b, statistic="mean", blocks_a=ids, blocks_b=ids, paired=True)
    assert apart.verdict.outcome == "not enough data"
    assert together.verdict.outcome == "faster"


def test_paired_blocks_that_one_side_lacks_are_left_out() -> None:
    a, b = lognormal(600, 1), lognormal(500, 2)
    found = compare(
        samples(a),
        samples(b),
        blocks_a=np.repeat(np.arange(12), 50),
        blocks_b=np.repeat(np.arange(2, 12), 50),
        paired=True,
    )
    assert (found.n_a, found.n_b, found.blocks_a) == (500, 500, 10)
    assert found.a == np.median(a[100:])


def test_timeouts_of_one_side_make_it_slower() -> None:
    values = lognormal(2000, 1)
    plain = compare(samples(values), samples(values), statistic="p90")
    cut = compare(samples(values), samples(values, censored=np.full(200, 1e5)), statistic="p90")
    assert plain.ratio.value == 1.0
    # 9.1 % timed out: the p90 may well lie among them, and is certainly worse.
    assert cut.ratio.value > 1.3
    assert cut.ratio.hi is None
    assert cut.verdict.outcome == "slower"
    assert fail_if_slower(cut, 0.05)
    assert compare(samples(values, censored=np.full(200, 1e5)), samples(values), statistic="p90").verdict == (
        Verdict("faster", 0.05)
    )
    few = compare(samples(values), samples(values, censored=np.full(100, 1e5)), statistic="p90")
    assert few.verdict.outcome == "slower"


def test_gate_for_continuous_integration() -> None:
    a = samples(lognormal(2000, 1))
    assert fail_if_slower(compare(a, samples(lognormal(2000, 2, 1.2))), 0.05)
    assert not fail_if_slower(compare(a, samples(lognormal(2000, 2, 1.2))), 0.5)
    assert not fail_if_slower(compare(a, samples(lognormal(2000, 2, 0.8))), 0.05)
    assert not fail_if_slower(compare(a, samples(lognormal(10, 2, 1.2))), 0.05)
    rate_a, rate_b = (samples(lognormal(2000, s, f), "output_tok_s") for s, f in ((1, 1.0), (2, 0.8)))
    assert fail_if_slower(compare(rate_a, rate_b), 0.05)
    assert not fail_if_slower(compare(rate_b, rate_a), 0.05)


def test_seeded_and_plain_in_json() -> None:
    a, b = samples(lognormal(300, 1)), samples(lognormal(300, 2))
    assert compare(a, b, seed=3) == compare(a, b, seed=3)
    assert compare(a, b, seed=3) != compare(a, b, seed=4)
    text = json.dumps(compare(a, samples([])).to_dict(), allow_nan=False)
    plain = json.loads(text)
    assert plain["verdict"]["text"] == "not enough data"
    assert plain["b"] is None


def test_zeros_have_a_difference_and_no_ratio() -> None:
    found = compare(samples(np.zeros(200)), samples(lognormal(200, 1)))
    assert found.ratio.lo is None
    assert found.difference.lo is not None
    assert found.verdict.outcome == "not enough data"


def test_constant_and_equal_sides_show_no_difference() -> None:
    found = compare(samples(np.ones(200), "fluidity"), samples(np.ones(200), "fluidity"))
    assert found.verdict.outcome == "no difference"


def test_what_does_not_fit_is_refused() -> None:
    a = samples(lognormal(100, 1))
    with pytest.raises(ValueError, match="cannot compare"):
        compare(a, samples(lognormal(100, 1), "itl_ms"))
    with pytest.raises(ValueError, match="3 block ids for 100 samples"):
        compare(a, a, blocks_a=[1, 2, 3])
    with pytest.raises(ValueError, match="paired"):
        compare(a, a, paired=True)


def test_time_blocks_are_even() -> None:
    assert np.bincount(time_blocks(samples(lognormal(1000, 1)))).tolist() == [25] * 40
    assert np.bincount(time_blocks(samples(lognormal(100, 1)))).tolist() == [10] * 10
    assert np.bincount(time_blocks(samples(lognormal(100, 1)), 4)).tolist() == [25] * 4
