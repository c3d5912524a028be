from itertools import combinations

import numpy as np
import pytest

from paceline.report.label_places import CHAR_PX, LINE_PX, Place, Spot, places

WIDTH, HEIGHT = 520.0, 360.0
Box = tuple[float, float, float, float]


def box(spot: Spot, place: Place) -> Box:
    """Where a name covers the plot, by its own rule."""
    wide = CHAR_PX * len(spot.text)
    x, y = spot.x + place.dx, spot.y + place.dy
    left = {"left": x, "center": x - wide / 2, "right": x - wide}[place.align]
    return left, y - LINE_PX / 2, left + wide, y + LINE_PX / 2


def overlap(a: Box, b: Box) -> bool:
    return min(a[2], b[2]) > max(a[0], b[0]) and min(a[3], b[3]) > max(a[1], b[1])


def scattered(n: int, seed: int, name: str = "model-name @ where") -> list[Spot]:
    rng = np.random.default_rng(seed)
    return [Spot(float(x), float(y), name) for x, y in rng.uniform([30, 10], [490, 350], (n, 2))]


def test_a_lone_name_stands_to_the_right_of_its_point() -> None:
    (place,) = places([Spot(100.0, 100.0, "alone")], WIDTH, HEIGHT)
    assert (place.align, place.dy, place.far) == ("left", 0.0, False)


def test_a_name_at_the_edge_is_not_cut() -> None:
    (place,) = places([Spot(515.0, 5.0, "at the corner")], WIDTH, HEIGHT)
    assert box(Spot(515.0, 5.0, "at the corner"), place)[2] <= WIDTH


@pytest.mark.parametrize("seed", range(8))
def test_twenty_names_do_not_cover_each_other_or_points(seed: int) -> None:
    spots = scattered(20, seed)
    found = [box(spot, place) for spot, place in zip(spots, places(spots, WIDTH, HEIGHT), strict=True)]
    covered = sum(overlap(a, b) for a, b in combinations(found, 2))
    assert covered <= 1
    assert all(
        left >= 0.0 and right <= WIDTH and top >= 0.0 and low <= HEIGHT for left, top, right, low in found
    )


def test_points_that_lie_on_each_other_still_have_a_name_each() -> None:
    spots = [Spot(200.0, 200.0, f"offer {place}") for place in range(5)]
    found = [box(spot, place) for spot, place in zip(spots, places(spots, WIDTH, HEIGHT), strict=True)]
    assert not any(overlap(a, b) for a, b in combinations(found, 2))


def test_names_keep_off_lines_and_words() -> None:
    spot = Spot(100.0, 100.0, "a name")
    (place,) = places([spot], WIDTH, HEIGHT, lines=[(0.0, 100.0, 500.0, 100.0)])
    assert not overlap(box(spot, place), (0.0, 99.0, 500.0, 101.0))
    (other,) = places([spot], WIDTH, HEIGHT, boxes=[(101.0, 80.0, 400.0, 120.0)])
    assert not overlap(box(spot, other), (101.0, 80.0, 400.0, 120.0))
