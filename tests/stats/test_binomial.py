import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from paceline.stats.binomial import (
    exact_share,
    mcnemar_p,
    needs_n,
    paired_difference,
    stratified_share,
)


@pytest.mark.parametrize(
    ("solved", "n"), [(0, 1), (1, 1), (0, 24), (24, 24), (8, 10), (64, 100), (999, 1000)]
)
def test_the_interval_is_scipys_exact_one(solved: int, n: int) -> None:
    found = exact_share(solved, n)
    theirs = binomtest(solved, n).proportion_ci(0.95, "exact")
    assert (found.lo, found.hi) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert (found.value, found.n) == (solved / n, n)


def test_the_published_interval_of_ten_of_a_hundred() -> None:
    # Clopper and Pearson 1934 read off 0.05 and 0.18 from their chart; tables have 4.900 and 17.622 %.
    found = exact_share(10, 100)
    assert (round(100 * found.lo, 3), round(100 * found.hi, 3)) == (4.900, 17.622)


@pytest.mark.parametrize(("solved", "n"), [(-1, 5), (6, 5), (0, 0)])
def test_what_is_no_share_is_refused(solved: int, n: int) -> None:
    with pytest.raises(ValueError, match="no share"):
        exact_share(solved, n)


def test_strata_of_one_size_give_the_exact_interval_of_all_items() -> None:
    found, whole = stratified_share([(3, 10), (9, 10), (10, 10)]), exact_share(22, 30)
    assert (found.value, found.lo, found.hi, found.n) == pytest.approx(
        (whole.value, whole.lo, whole.hi, 30), abs=1e-12
    )


def test_each_stratum_weighs_alike_and_an_empty_one_is_left_out() -> None:
    found = stratified_share([(1, 1), (0, 99), (0, 0)])
    assert found.value == 0.5
    # 2^2 / (1 + 1/99): two items' worth of evidence, though a hundred were asked.
    assert found.n == pytest.approx(4 / (1 + 1 / 99))
    assert found.lo < 0.1
    assert found.hi > 0.9
    with pytest.raises(ValueError, match="no stratum"):
        stratified_share([(0, 0)])


def test_the_stratified_interval_covers_the_mean_share() -> None:
    rng = np.random.default_rng(1)
    shares = np.array([0.05, 0.5, 0.7, 0.95])
    for sizes in ([9, 9, 8, 8], [25, 25, 25, 25], [20, 5, 12, 9]):
        covered = 0
        for _ in range(2_000):
            solved = rng.binomial(sizes, shares)
            found = stratified_share(list(zip(solved.tolist(), sizes, strict=True)))
            covered += found.lo <= shares.mean() <= found.hi
        # 95 % less three standard errors of 2,000 draws.
        assert covered / 2_000 > 0.935, sizes


def test_the_exact_interval_covers_every_share_at_least_so_often() -> None:
    for n, share in product((5, 20, 60), np.linspace(0.01, 0.99, 25)):
        k = np.arange(n + 1)
        found = [exact_share(int(one), n) for one in k]
        inside = np.array([one.lo <= share <= one.hi for one in found])
        assert binom.pmf(k, n, share)[inside].sum() >= 0.95 - 1e-12


# Newcombe 1998, Stat Med 17:2635, method 10, of 36, 12, 2, 0; Altman et al., Statistics with confidence,
# 2nd ed., table 6.2, of 14, 5, 0, 22; Fagerland et al. 2014 of Bentur's 1, 1, 7, 12. A less B.
@pytest.mark.parametrize(
    ("counts", "difference", "interval"),
    [
        ((36, 12, 2, 0), 0.2000, (0.0569, 0.3404)),
        ((14, 5, 0, 22), 0.1220, (0.0115, 0.2265)),
        ((1, 1, 7, 12), -0.2857, (-0.5069, -0.0256)),
    ],
)
def test_the_paired_interval_is_the_published_one(
    counts: tuple[int, int, int, int], difference: float, interval: tuple[float, float]
) -> None:
    found = paired_difference(*counts)
    assert -found.difference == pytest.approx(difference, abs=5e-5)
    assert (-found.hi, -found.lo) == pytest.approx(interval, abs=5e-5)


@pytest.mark.parametrize(("only_a", "only_b"), [(12, 2), (5, 0), (0, 5), (7, 7), (1, 7), (40, 60)])
def test_the_test_is_a_sign_test_of_the_items_that_differ(only_a: int, only_b: int) -> None:
    assert mcnemar_p(only_a, only_b) == pytest.approx(binomtest(only_a, only_a + only_b).pvalue)
    assert mcnemar_p(0, 0) == 1.0


@pytest.mark.parametrize("n", [1, 7, 40])
def test_ends_are_in_order_and_within_bounds(n: int) -> None:
    for counts in ((n, 0, 0, 0), (0, n, 0, 0), (0, 0, n, 0), (0, 0, 0, n)):
        found = paired_difference(*counts)
        assert -1.0 <= found.lo <= found.difference <= found.hi <= 1.0
    with pytest.raises(ValueError, match="no items"):
        paired_difference(0, 0, 0, 0)


def test_the_paired_interval_covers_the_difference() -> None:
    rng = np.random.default_rng(2)
    for chances in ((0.6, 0.15, 0.05, 0.2), (0.9, 0.02, 0.04, 0.04), (0.3, 0.1, 0.1, 0.5)):
        truth = chances[2] - chances[1]
        drawn = rng.multinomial(80, chances, size=2_000).tolist()
        found = [paired_difference(*(int(one) for one in counts)) for counts in drawn]
        assert np.mean([one.lo <= truth <= one.hi for one in found]) > 0.935


@pytest.mark.parametrize(
    ("share", "threshold"), [(0.8, 0.7), (0.6, 0.7), (1.0, 0.9), (0.0, 0.05), (0.72, 0.7)]
)
def test_so_many_items_bound_a_share_and_fewer_do_not(share: float, threshold: float) -> None:
    n = needs_n(share, threshold)
    assert n is not None

    def bounded(n: int) -> bool:
        found = exact_share(share * n, n)
        return not found.lo <= threshold <= found.hi

    assert bounded(n)
    assert not bounded(n - 1) or n == 1


def test_a_share_of_all_needs_the_number_that_can_be_worked_out_by_hand() -> None:
    # All of n solved has the lower end 0.025^(1/n), above 0.9 from n = ln 0.025 / ln 0.9 = 35.01 on.
    assert needs_n(1.0, 0.9) == math.ceil(math.log(0.025) / math.log(0.9)) == 36


def test_a_share_that_is_the_threshold_is_never_bounded() -> None:
    assert needs_n(0.7, 0.7) is None
    assert needs_n(0.7000001, 0.7) is None
    with pytest.raises(ValueError, match="0 to 1"):
        needs_n(1.2, 0.7)
