import math

import numpy as np

from paceline.stats.summary import summarise


def test_a_summary_of_known_values() -> None:
    values = np.random.default_rng(1).permutation(np.arange(1.0, 1001.0))
    found = summarise(values)
    assert found.n == 1000
    assert found.mean == 500.5
    assert found.max == 1000.0
    assert [found.p50.value, found.p90.value, found.p95.value, found.p99.value] == np.quantile(
        values, [0.5, 0.9, 0.95, 0.99]
    ).tolist()
    assert found.p99.enough


def test_censored_observations_are_not_dropped() -> None:
    found = summarise([1.0, 2.0, 3.0], censored=[10.0])
    assert found.n == 3
    assert found.censored == 1
    assert found.mean == 4.0
    assert found.max == 10.0
    assert found.p50.n == 4


def test_nothing_at_all_is_null_in_json() -> None:
    found = summarise([])
    assert found.n == 0
    assert math.isnan(found.mean)
    plain = found.to_dict()
    assert plain["mean"] is None
    assert plain["max"] is None
    assert plain["p50"] == {"value": None, "lo": None, "hi": None, "enough": False, "needs_n": 6}
