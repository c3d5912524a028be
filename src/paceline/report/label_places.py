"""Where names stand beside the points of a chart, so that none covers another or a point.

Greedy: points in the order of their importance; each takes the first free place of those around it, the near
ones first. A name that finds none stands where it overlaps least, so that no point is without a name.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

Align = Literal["left", "center", "right"]
CHAR_PX, LINE_PX = 6.0, 13.0
"""About what a letter and a line of 11 px type take."""
_POINT_PX = 6.0
_GAP_PX = 9.0
# Beyond this a thin line leads from the name to its point.
_LEADER_FROM_PX = 17.0
_RINGS = (1.0, 2.0, 3.2, 4.6, 6.2)
# What crossing a line costs beside covering words, and what each px that a name is far from its point costs.
_CROSSED, _DISTANCE = 0.4, 1.5
_HALF_LINE_PX = 1.5
Ends = tuple[float, float, float, float]


@dataclass(frozen=True)
class Spot:
    """A point of a plot, px from its left and upper edge, and its name."""

    x: float
    y: float
    text: str


@dataclass(frozen=True)
class Place:
    """Where a name stands: px from its point to the edge of the text that `align` says, and to its middle.

    far: so far that a line should lead to it. crowded: it covers other words or points.
    """

    dx: float
    dy: float
    align: Align
    far: bool
    crowded: bool = False


@dataclass(frozen=True)
class _Box:
    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: "_Box") -> float:
        """The area that two have in common, px squared."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.bottom, other.bottom) - max(self.top, other.top)
        return wide * high if wide > 0.0 and high > 0.0 else 0.0

    def outside(self, width: float, height: float) -> float:
        """How far it reaches beyond the plot, px."""
        return max(0.0, -self.left) + max(0.0, self.right - width) + max(0.0, -self.top, self.bottom - height)


def places(
    spots: Sequence[Spot],
    width: float,
    height: float,
    *,
    lines: Sequence[Ends] = (),
    boxes: Sequence[Ends] = (),
) -> list[Place]:
    """The place of each name in a plot of this size, px; for `spots`, the most important first.

    lines: (x, y, x2, y2), level or upright, that names had better not cross; boxes: (left, top, right,
    bottom) that have words of their own.
    """
    taken = [
        _Box(spot.x - _POINT_PX, spot.y - _POINT_PX, spot.x + _POINT_PX, spot.y + _POINT_PX) for spot in spots
    ]
    taken += [_Box(*ends) for ends in boxes]
    crossed = [_line_box(ends) for ends in lines]
    found = []
    for spot in spots:
        best, best_box, best_cost = None, None, float("inf")
        for place in _around():
            box = _box(spot, place)
            # Beyond the plot a name is cut: that is worse than any overlap.
            cost = sum(box.overlap(other) for other in taken) + 1_000.0 * box.outside(width, height)
            cost += _CROSSED * sum(box.overlap(other) for other in crossed)
            # Near the point it is read best: a far place must be worth it.
            cost += _DISTANCE * max(abs(place.dx) + abs(place.dy) - _LEADER_FROM_PX, 0.0)
            if cost < best_cost:
                best, best_box, best_cost = place, box, cost
        assert best is not None
        assert best_box is not None
        crowded = any(best_box.overlap(other) > 0.0 for other in taken)
        found.append(replace(best, crowded=crowded))
        taken.append(best_box)
    return found


def _line_box(ends: Ends) -> _Box:
    x, y, x2, y2 = ends
    return _Box(
        min(x, x2) - _HALF_LINE_PX,
        min(y, y2) - _HALF_LINE_PX,
        max(x, x2) + _HALF_LINE_PX,
        max(y, y2) + _HALF_LINE_PX,
    )


def _around() -> list[Place]:
    """Places around a point, those that read best first."""
    found = []
    for ring in _RINGS:
        near, far = _GAP_PX * ring, _LEADER_FROM_PX
        steps: list[tuple[float, float, Align]] = [
            (near, 0.0, "left"),
            (-near, 0.0, "right"),
            (0.0, -near - 4.0, "center"),
            (0.0, near + 4.0, "center"),
            (near * 0.8, -near * 0.9, "left"),
            (near * 0.8, near * 0.9, "left"),
            (-near * 0.8, -near * 0.9, "right"),
            (-near * 0.8, near * 0.9, "right"),
        ]
        found += [Place(dx, dy, align, (dx * dx + dy * dy) ** 0.5 > far) for dx, dy, align in steps]
    return found


def _box(spot: Spot, place: Place) -> _Box:
    wide = CHAR_PX * len(spot.text) + 2.0
    x = spot.x + place.dx
    left = {"left": x, "center": x - wide / 2.0, "right": x - wide}[place.align]
    middle = spot.y + place.dy
    return _Box(left, middle - LINE_PX / 2.0, left + wide, middle + LINE_PX / 2.0)
