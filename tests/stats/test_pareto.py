import numpy as np

from paceline.stats.pareto import membership, pareto_set


def test_a_point_is_out_where_another_is_as_good_in_all_and_better_in_one() -> None:
    points = np.array([[1.0, 5.0], [2.0, 2.0], [5.0, 1.0], [2.0, 3.0], [6.0, 6.0], [1.0, 5.0]])
    assert pareto_set(points).tolist() == [True, True, True, False, False, True]


def test_what_is_not_known_neither_beats_nor_is_beaten() -> None:
    points = np.array([[1.0, 1.0, np.nan], [2.0, 2.0, -0.9], [3.0, 3.0, -0.5]])
    assert pareto_set(points).tolist() == [True, True, False]


def test_against_every_pair_by_hand() -> None:
    points = np.random.default_rng(1).integers(0, 4, (40, 3)).astype(float)
    expected = [not any((other <= one).all() and (other < one).any() for other in points) for one in points]
    assert pareto_set(points).tolist() == expected


def test_the_probability_is_the_share_of_draws() -> None:
    draws = np.array([[[1.0, 2.0], [2.0, 1.0]], [[1.0, 1.0], [2.0, 2.0]], [[1.0, 1.0], [1.0, 1.0]]])
    assert membership(draws).tolist() == [1.0, 2.0 / 3.0]


def test_a_known_chance_is_found() -> None:
    rng = np.random.default_rng(2)
    # Both are normal in x with equal means, and equal in y: each is the better one half of the time.
    draws = np.stack([rng.normal(size=(4000, 2)), np.zeros((4000, 2))], axis=-1)
    assert np.allclose(membership(draws), 0.5, atol=0.03)
