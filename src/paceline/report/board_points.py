"""Offers as points of two figures, and the frontier of those that no other beats in both."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from paceline.report.board_figures import FIGURES
from paceline.report.board_words import full_name, plain_value, short_names

if TYPE_CHECKING:
    from paceline.advisor.board import Board, BoardRow
    from paceline.advisor.figures import Figure

Better = Literal["lower", "higher"]


JOBS_CHARTED = 1_000
"""Bills are drawn of so many jobs: those of one are too small to read."""


@dataclass(frozen=True)
class Point:
    """An offer. number: of its row on the board, from 1. x, y: two of its figures, known or not."""

    number: int
    name: str
    full: str
    tier: str
    x: "Figure"
    y: "Figure"

    @property
    def drawn(self) -> bool:
        """It has both values."""
        return self.x.value is not None and self.y.value is not None


def points_of(board: "Board", x: str, y: str) -> list[Point]:
    """Every row of the board, with two of its figures."""
    names = short_names([row.key for row in board.rows])
    return [
        Point(
            place + 1,
            name,
            full_name(row.key),
            row.key.tier,
            charted(x, row.figures[x]),
            charted(y, row.figures[y]),
        )
        for place, (row, name) in enumerate(zip(board.rows, names, strict=True))
    ]


def charted(name: str, figure: "Figure") -> "Figure":
    """A figure as charts draw it: bills of `JOBS_CHARTED` jobs, all others as they are."""
    if name != "usd_per_job":
        return figure
    ends = {
        end: value * JOBS_CHARTED
        for end in ("value", "lo", "hi")
        if (value := getattr(figure, end)) is not None
    }
    return replace(figure, **ends)


def charted_label(name: str) -> str:
    """What `charted` is called, with its unit where that is not in its name."""
    if name == "usd_per_job":
        return f"USD for {JOBS_CHARTED:,} jobs"
    info = FIGURES[name]
    return info.label if info.unit in info.label else f"{info.label}, {info.unit}"


def named_rows(board: "Board") -> list[tuple[int, str, "BoardRow"]]:
    """Every row with its number and its short name."""
    names = short_names([row.key for row in board.rows])
    return [(place + 1, name, row) for place, (name, row) in enumerate(zip(names, board.rows, strict=True))]


def frontier(points: Sequence[Point], x_better: Better, y_better: Better) -> list[Point]:
    """Those with both values that no other beats in one without being worse in the other; by rising x.

    By values alone: how sure it is that an offer is on it, `advise` says.
    """
    x_sign, y_sign = (1.0 if better == "lower" else -1.0 for better in (x_better, y_better))
    known = [
        (x_sign * one.x.value, y_sign * one.y.value, one)
        for one in points
        if one.x.value is not None and one.y.value is not None
    ]
    found: list[Point] = []
    least, at = float("inf"), float("inf")
    for x, y, one in sorted(known, key=lambda each: each[:2]):
        # Equal in both: both are on it.
        if y < least or (y == least and x == at):
            found.append(one)
            least, at = y, x
    return sorted(found, key=lambda one: one.x.value or 0.0)


def best(points: Sequence[Point], axis: Literal["x", "y"], better: Better) -> Point | None:
    """The best of those with a value on this axis."""
    known = [(value, one) for one in points if (value := getattr(one, axis).value) is not None]
    if not known:
        return None
    pick = min if better == "lower" else max
    return pick(known, key=lambda each: each[0])[1]


def plain_ends(name: str, figure: "Figure") -> tuple[float | None, float | None]:
    """The interval of a figure in the unit in which it is printed."""
    lo = None if figure.lo is None else plain_value(name, figure.lo)
    return lo, None if figure.hi is None else plain_value(name, figure.hi)


def better_of(name: str) -> Better:
    """The good direction of a figure."""
    return FIGURES[name].better
