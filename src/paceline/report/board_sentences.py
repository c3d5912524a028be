"""What a chart of a board shows, in a sentence made from its figures: never more sure than they are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from paceline.report.board_points import Better, Point, best, better_of
from paceline.report.board_words import ends_of, figures_standing, most_named, times_words
from paceline.report.words import sentence_list
from paceline.stats.mover import Ends, ratio

if TYPE_CHECKING:
    from paceline.advisor.figures import Figure


@dataclass(frozen=True)
class Phrase:
    """best: what is said of the best; noun: in what offers are alike."""

    best: str
    noun: str


PHRASES = {
    "ttft_p50_ms": Phrase("has the shortest TTFT", "median TTFT"),
    "ttft_p95_ms": Phrase("has the shortest slow TTFT", "TTFT p95"),
    "ttfat_p50_ms": Phrase("is first with an answer", "median time to the answer"),
    "output_tok_s": Phrase("writes fastest", "tok/s"),
    "stability": Phrase("is steadiest", "steadiness"),
    "stall_p95_ms": Phrase("stalls least", "stalls"),
    "e2e_500_ms": Phrase("is first done with 500 tokens", "time for 500 tokens"),
    "success_share": Phrase("fails least", "success"),
    "capability": Phrase("solves most", "capability"),
    "usd_per_job": Phrase("is cheapest", "bill"),
    "tok_s_per_usd": Phrase("gives most speed for the money", "speed for the money"),
}


def apart(a: "Figure", b: "Figure") -> Ends | None:
    """a / b with its interval; None where one has no interval."""
    ends_a, ends_b = ends_of(a), ends_of(b)
    return None if ends_a is None or ends_b is None else ratio(ends_a, ends_b)


def alike(a: "Figure", b: "Figure") -> bool:
    """Whether two figures cannot be told apart, by their intervals or for want of one."""
    return figures_standing(a, b) != "apart"


def two_figures_words(points: Sequence[Point], x: str, y: str) -> str:
    """Which offers are best in two figures, and what the better one is paid for with."""
    known = [one for one in points if one.drawn]
    if not known:
        return "No offer has both figures yet."
    first, second = best(known, "y", better_of(y)), best(known, "x", better_of(x))
    assert first is not None
    assert second is not None
    if len(known) == 1:
        return f"{first.name} is the only offer with both figures."
    if first == second:
        return (
            f"{first.name} {PHRASES[y].best}{_rivals(known, first, 'y')} "
            f"and {PHRASES[x].best}{_rivals(known, first, 'x')}."
        )
    like = [one for one in known if one != first and alike(one.y, first.y) and _clearly_better(one, first, x)]
    rival = best(like, "x", better_of(x))
    if rival is not None:
        paid = _times_of(x, rival.x, first.x)
        return (
            f"{first.name} and {rival.name} cannot be told apart in {PHRASES[y].noun}; {rival.name} {paid}."
        )
    if alike(first.x, second.x) and alike(first.y, second.y):
        return f"{first.name} and {second.name} cannot be told apart in either figure."
    return (
        f"{first.name} {PHRASES[y].best}{_rivals(known, first, 'y')} and {second.name} "
        f"{PHRASES[x].best}{_rivals(known, second, 'x')}; beside it, {first.name} "
        f"{_both(_times_of(y, first.y, second.y), _times_of(x, first.x, second.x))}."
    )


def _rivals(points: Sequence[Point], first: Point, axis: Literal["x", "y"]) -> str:
    """Who may be as good as the first; nothing where all are told apart from it."""
    like = [one.name for one in points if one != first and alike(getattr(one, axis), getattr(first, axis))]
    return f" (or {', '.join(most_named(like))})" if like else ""


def _both(one: str, other: str) -> str:
    """Two verbs in one sentence; one that is the same is said once."""
    return f"{one} and {other.removeprefix('has ') if one.startswith('has ') else other}"


def _times_of(name: str, a: "Figure", b: "Figure") -> str:
    found = apart(a, b)
    if found is None:
        return f"has a {PHRASES[name].noun} that is {_bounded(a, b)}"
    if found.lo <= 1.0 <= found.hi:
        return f"cannot be told apart in {PHRASES[name].noun}"
    if name == "usd_per_job":
        return f"costs {times_words(found)} as much"
    return f"has {times_words(found)} the {PHRASES[name].noun}"


def _bounded(a: "Figure", b: "Figure") -> str:
    """What open intervals tell."""
    if a.lo is not None and b.hi is not None and a.lo > b.hi:
        return "higher, not known by how much"
    if a.hi is not None and b.lo is not None and a.hi < b.lo:
        return "lower, not known by how much"
    return "not known well enough to compare"


def _clearly_better(one: Point, other: Point, x: str) -> bool:
    found = apart(one.x, other.x)
    if found is None:
        return False
    return found.hi < 1.0 if better_of(x) == "lower" else found.lo > 1.0


def first_words(points: Sequence[Point], axis: Literal["x", "y"], name: str) -> str:
    """Which offer is best in one figure, and which cannot be told apart from it."""
    better: Better = better_of(name)
    first = best(points, axis, better)
    if first is None:
        return "No offer has this figure yet."
    others = [one for one in points if one != first and getattr(one, axis).value is not None]
    if not others:
        return f"{first.name} is the only offer with this figure."
    held = [(one.name, figures_standing(getattr(one, axis), getattr(first, axis))) for one in others]
    like = [name for name, found in held if found == "alike"]
    short = [name for name, found in held if found == "unknown"]
    if like or short:
        parts = [f"cannot be told apart from {sentence_list(most_named(like))}"] if like else []
        if short:
            parts.append(f"there is too little data to tell it from {sentence_list(most_named(short))}")
        return f"{first.name} {PHRASES[name].best}, but {', and '.join(parts)}."
    second = best(others, axis, better)
    assert second is not None
    return (
        f"{first.name} {PHRASES[name].best}; {second.name} is next, and "
        f"{_times_of(name, getattr(second, axis), getattr(first, axis))}."
    )


def alike_best(points: Sequence[Point], name: str) -> list[Point]:
    """The best in `y`, and all that cannot be told apart from it."""
    first = best(points, "y", better_of(name))
    if first is None:
        return []
    return [one for one in points if one.y.value is not None and (one is first or alike(one.y, first.y))]


LEADERS = {
    "ttft_p50_ms": "shortest TTFT",
    "output_tok_s": "fastest writer",
    "capability": "solves most",
    "usd_per_job": "cheapest",
}
"""Figures whose best are named above a board, and what those are called."""


@dataclass(frozen=True)
class Leader:
    """The best offer of a figure. others: which may be as good; nothing where none may."""

    name: str
    offer: str
    figure: "Figure"
    others: str


def leaders(points: Callable[[str], Sequence[Point]]) -> list[Leader]:
    """The best of each of LEADERS, where two offers or more have the figure. points: of a figure, in `y`."""
    found = []
    for name in LEADERS:
        known = [one for one in points(name) if one.y.value is not None]
        first = best(known, "y", better_of(name))
        if first is None or len(known) < 2:
            continue
        held = [(one.name, figures_standing(one.y, first.y)) for one in known if one is not first]
        like = [other for other, how in held if how != "apart"]
        if len(like) == len(held) > 1:
            others = "no other can be told apart from it"
        elif like:
            others = f"or {', '.join(most_named(like, 2))}"
        else:
            others = ""
        found.append(Leader(name, first.name, first.y, others))
    return found
