"""How offers and their figures are said on boards, in charts and in sentences: the same everywhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from paceline.report.board_figures import FIGURES
from paceline.report.cells import usd_words
from paceline.report.words import printable
from paceline.stats.mover import Ends, ratio
from paceline.units import format_number

if TYPE_CHECKING:
    from paceline.advisor.figures import Figure
    from paceline.advisor.identity import OfferKey

STANDARD = "standard"

Standing = Literal["apart", "alike", "unknown"]
"""Of two values: told apart by their intervals; not told apart; too little data to say."""


@dataclass(frozen=True)
class Span:
    """A value with its interval, of which ends may be open."""

    value: float
    lo: float | None
    hi: float | None


def full_name(key: "OfferKey") -> str:
    """`model @ provider (tier)`, without what could steer a terminal."""
    return printable(str(key))


def short_names(keys: Sequence["OfferKey"]) -> list[str]:
    """Names that tell offers apart: what all have in common is left out, a standard tier always."""
    shared_model = len({key.model for key in keys}) == 1 and len(keys) > 1
    shared_provider = len({key.provider for key in keys}) == 1
    names = []
    for key in keys:
        parts = [*([] if shared_model else [key.model]), *([] if shared_provider else [key.provider])]
        name = " @ ".join(parts)
        if not name:
            name = key.tier
        elif key.tier != STANDARD:
            name += f" ({key.tier})"
        names.append(printable(name))
    return names


def own_unit(name: str) -> str:
    """The unit in which a figure is printed."""
    return FIGURES[name].unit


def plain_value(name: str, value: float) -> float:
    """A value in `own_unit`: shares become percent."""
    return 100.0 * value if own_unit(name) == "%" else value


def value_words(name: str, value: float) -> str:
    """A value in `own_unit`, without it: `312`, `0.00420`, `98.5`."""
    shown = plain_value(name, value)
    if own_unit(name) == "USD":
        return usd_words(shown) if shown >= 0.0 else f"-{usd_words(-shown)}"
    return "100" if own_unit(name) == "%" and shown == 100.0 else format_number(shown)


def figure_words(name: str, figure: "Figure") -> str:
    """`312`; `>=290` where only bounded from below, `~312` without an interval, `-` where unknown."""
    if figure.value is None:
        return f">={value_words(name, figure.lo)}" if figure.lo is not None else "-"
    if figure.known:
        return value_words(name, figure.value)
    if figure.hi is None and figure.lo is not None:
        return f">={value_words(name, figure.lo)}"
    return f"~{value_words(name, figure.value)}"


def interval_words(name: str, figure: "Figure") -> str:
    """`300 to 330`, or nothing where an end is not known."""
    if figure.lo is None or figure.hi is None:
        return ""
    return f"{value_words(name, figure.lo)} to {value_words(name, figure.hi)}"


def missing_words(figure: "Figure") -> str:
    """Why there is no value or no interval, and what it takes; nothing where there are both."""
    if figure.known:
        return ""
    if figure.needs_n is not None and figure.needs_n > figure.n:
        return f"not enough data ({figure.needs_n - figure.n:,} more)"
    if figure.note:
        return printable(figure.note)
    return "not known" if figure.value is None else "no interval"


def reason_words(figure: "Figure") -> str:
    """`missing_words` for a cell: `not probed`, `unknown`; the way out stands in a note, once."""
    return missing_words(figure).split(":")[0].split(";")[0]


def standing(a: Span, b: Span) -> Standing:
    """Whether two values are told apart; where an end is open, by the ends that there are."""
    if a.lo is not None and a.hi is not None and b.lo is not None and b.hi is not None:
        found = ratio(Ends(a.value, a.lo, a.hi), Ends(b.value, b.lo, b.hi))
        if found is not None:
            return "alike" if found.lo <= 1.0 <= found.hi else "apart"
    apart = _below(a, b) or _below(b, a)
    whole = None not in (a.lo, a.hi, b.lo, b.hi)
    return "apart" if apart else "alike" if whole else "unknown"


def figures_standing(a: "Figure", b: "Figure") -> Standing:
    """`standing` of two figures; nothing is said of one without a value."""
    if a.value is None or b.value is None:
        return "unknown"
    return standing(Span(a.value, a.lo, a.hi), Span(b.value, b.lo, b.hi))


def _below(a: Span, b: Span) -> bool:
    return a.hi is not None and b.lo is not None and a.hi < b.lo


def ends_of(figure: "Figure") -> Ends | None:
    """A figure with both ends; None where one is not known."""
    if figure.value is None or figure.lo is None or figure.hi is None:
        return None
    return Ends(figure.value, figure.lo, figure.hi)


def most_named(names: Sequence[str], most: int = 4) -> list[str]:
    """At most so many names, and how many more there are."""
    return list(names) if len(names) <= most else [*names[: most - 1], f"{len(names) - most + 1} more"]


def times_words(found: Ends) -> str:
    """A ratio with its interval, all in the digits of the ratio: `0.41 times (0.38 to 0.44)`, `12 times`."""
    digits = 0 if found.value >= 10.0 else 1 if found.value >= 2.0 else 2
    value, lo, hi = (f"{one:,.{digits}f}" for one in (found.value, found.lo, found.hi))
    return f"{value} times" if lo == hi else f"{value} times ({lo} to {hi})"
