import numpy as np
import pytest

from paceline.advisor.thinning import evenly, spread, spread_order


def test_every_beginning_is_spread_evenly() -> None:
    assert spread_order(8).tolist() == [0, 4, 2, 6, 1, 5, 3, 7]
    assert spread_order(0).tolist() == []
    assert spread_order(1).tolist() == [0]
    for n in (50, 100, 1023):
        order = spread_order(n)
        assert sorted(order.tolist()) == list(range(n))
        for most in (n // 4, n // 2):
            # No gap of more than four times what even spacing has.
            assert np.diff(np.sort(order[:most])).max() <= 4 * n / max(most, 1)


@pytest.mark.parametrize("n", [1, 7, 1000])
def test_thinning_twice_is_thinning_once(n: int) -> None:
    job = np.arange(n, dtype=float)
    once = evenly(job, n // 3 + 1)
    twice = spread(job)[: len(once)]
    assert sorted(twice.tolist()) == once.tolist()
    assert len(once) == min(n, n // 3 + 1)


def test_jobs_stay_whole_and_are_of_the_whole_run() -> None:
    # Jobs of 5 calls, two at a time, so that their calls alternate.
    job = np.repeat(np.arange(200.0).reshape(100, 2)[:, None, :], 5, axis=1).reshape(-1)
    places = evenly(job, 100)
    kept, calls = np.unique(job[places], return_counts=True)
    assert len(kept) == 20
    assert (calls == 5).all()
    assert kept.min() < 20
    assert kept.max() > 180
    # Job by job, and each in order.
    assert (np.diff(job[places]) >= 0).all()
    first = spread(job)
    assert set(job[first[:100]]) == set(kept)


def test_one_long_job_is_kept_whole() -> None:
    assert len(evenly(np.zeros(500), 100)) == 500
    assert evenly(np.empty(0), 10).tolist() == []
