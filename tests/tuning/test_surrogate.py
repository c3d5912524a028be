import numpy as np

from paceline.engines.space import Choice
from paceline.tuning.coding import Coding
from paceline.tuning.surrogate import Known, expected_improvement

CHOICES = (
    Choice("kind", (None, "a", "b"), ""),
    Choice("size", (8, 16, 32, 64), ""),
    Choice("idle", (None, True), ""),
)


def known(asked: list[dict[str, str | int | None]], means: list[float], coding: Coding) -> Known:
    order = np.argsort(-np.array(means))
    mean = np.array(means)[order] - np.mean(means)
    return Known(coding.rows(asked)[order], mean, 1e-4 * np.eye(len(means)))


def test_effects_of_options_add_up() -> None:
    """`a` is good and so is 32: together they are expected to be best, though never tried."""
    coding = Coding(CHOICES, [])
    asked: list[dict[str, str | int | None]] = [
        {"size": 8},
        {"size": 32},
        {"kind": "a", "size": 8},
        {"kind": "b", "size": 8},
    ]
    data = known(asked, [0.0, 0.4, 0.5, -0.3], coding)
    untried = coding.rows([{"kind": "a", "size": 32}, {"kind": "b", "size": 32}, {"kind": "b", "size": 64}])
    expected = expected_improvement(untried, data, coding)
    assert int(np.argmax(expected)) == 0
    assert (expected >= 0.0).all()


def test_numbers_are_alike_by_their_order() -> None:
    coding = Coding(CHOICES, [])
    data = known([{"size": 8}, {"size": 64}], [0.5, -0.5], coding)
    near, far = expected_improvement(coding.rows([{"size": 16}, {"size": 32}]), data, coding)
    assert near > far


def test_nothing_to_choose() -> None:
    coding = Coding((), [{}])
    data = Known(coding.rows([{}]), np.zeros(1), np.zeros((1, 1)))
    assert expected_improvement(coding.rows([{}]), data, coding).shape == (1,)
