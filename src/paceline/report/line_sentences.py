"""What a chart of lines shows, in a sentence made from its points: never more sure than they are."""

from collections.abc import Callable, Mapping, Sequence

from paceline.report.board_words import Span, Standing, most_named, standing, times_words
from paceline.report.line_chart import Line, LinePoint
from paceline.report.words import sentence_list
from paceline.stats.mover import Ends, ratio
from paceline.units import format_number

# A tail is spoken of by this percentile (as nines, 1.3 is p95), as far as samples of some hundreds reach it.
_TAIL_NINES, _MEDIAN_NINES = 1.30103, 0.30103
# One size of many where intervals do not meet may be chance.
_FEWEST_CLEAR = 3
# Medians that rise by less are not called growth.
_GROWTH = 1.1


def answer_words(lines: Sequence[Line]) -> str:
    """Which offer is done first with short answers, which with long ones: only where intervals tell."""
    if not lines:
        return "No offer has streamed answers."
    if len(lines) == 1:
        return f"{lines[0].name} is the only offer with streamed answers."
    sizes = [point.x for point in lines[0].points]
    clear = {size: line for size in sizes if (line := _clearly_first(lines, size)) is not None}
    if len(clear) < min(_FEWEST_CLEAR, len(sizes)):
        middle = sizes[len(sizes) // 2]
        rivals = _not_apart(lines, _lowest(lines, middle), middle)
        return f"No offer is clearly done first: {sentence_list([one.name for one in rivals])} are too close."
    leaders = list(dict.fromkeys(line.full for line in clear.values()))
    first, last = next(iter(clear.values())), list(clear.values())[-1]
    if len(leaders) == 1:
        if len(clear) == len(sizes):
            return f"{first.name} is done first with answers of every size, up to {sizes[-1]:,.0f} tokens."
        rest = _open_words(lines, clear, sizes)
        return f"{first.name} is done first with answers {_sizes(clear, sizes)}{rest}."
    until = max(size for size, line in clear.items() if line is first)
    since = min(size for size, line in clear.items() if line is last)
    where = (
        f"up to about {until:,.0f} tokens, {last.name} from about {since:,.0f} on"
        if since > until
        else f"with short answers, {last.name} with long ones"
    )
    return f"{first.name} is done first {where}."


def prompt_words(lines: Sequence[Line]) -> str:
    """Whose TTFT grows most and least with the prompt."""
    grown = [
        (found, line) for line in lines if (found := _ratio(line.points[-1], line.points[0])) is not None
    ]
    if not grown:
        return _growth_of_medians(lines)
    grown.sort(key=lambda each: -each[0].value)
    (most, line), (least, other) = grown[0], grown[-1]
    span = f"from prompts of about {line.points[0].x:,.0f} tokens to {line.points[-1].x:,.0f}"
    if most.lo <= 1.0 <= most.hi:
        return f"No TTFT is seen to grow {span}."
    text = f"The TTFT of {line.name} grows most with the prompt: {times_words(most)} {span}"
    if other is line:
        return f"{text}."
    if least.lo <= 1.0 <= least.hi:
        return f"{text}; that of {other.name} is not seen to grow."
    return f"{text}; that of {other.name} grows least, {times_words(least)}."


def ladder_words(lines: Sequence[Line], what: str) -> str:
    """Which offer is best at the median and at p95, and whose tail is longest. what: `TTFT`."""
    known = [
        (middle, tail, line)
        for line in lines
        if (middle := _at(line, _MEDIAN_NINES)) is not None and (tail := _at(line, _TAIL_NINES)) is not None
    ]
    if not known:
        few = f"there is not enough data yet for the 95th percentile of {what}"
        first = _clearly_first(lines, _MEDIAN_NINES) if len(lines) > 1 else None
        if first is None or _at(first, _MEDIAN_NINES) is None:
            return f"{few[0].upper()}{few[1:]}."
        return f"{first.name} has the shortest {what} at the median; {few}."
    if len(known) == 1:
        middle, tail, line = known[0]
        return f"The p95 of {line.name} is {tail.y / middle.y:.1f} times its median."
    places = {"at the median": _MEDIAN_NINES, "at p95": _TAIL_NINES}
    among = {where: [line for line in lines if _at(line, at) is not None] for where, at in places.items()}
    middle_first, tail_first = (_clearly_first(among[where], at) for where, at in places.items())
    if middle_first is not None and middle_first is tail_first:
        text = f"{middle_first.name} has the shortest {what} at the median and at p95"
    elif middle_first is not None and tail_first is not None:
        text = f"{middle_first.name} has the shortest {what} at the median, {tail_first.name} at p95"
    else:
        text = "; ".join(_ladder_part(among[where], what, where, at) for where, at in places.items())
        text = f"{text[0].upper()}{text[1:]}" if text.startswith("at ") else text
    return f"{text}{_longest_tail(known)}."


def _ladder_part(lines: Sequence[Line], what: str, where: str, at: float) -> str:
    """`A has the shortest TTFT at the median`, or between whom it is not settled."""
    first = _clearly_first(lines, at)
    if first is not None:
        return f"{first.name} has the shortest {what} {where}"
    rivals = [line.name for line in _not_apart(lines, _lowest(lines, at), at)]
    return f"{where} the shortest cannot be told: {sentence_list(most_named(rivals))} are too close"


def _longest_tail(known: Sequence[tuple[LinePoint, LinePoint, Line]]) -> str:
    """Whose p95 is most times its median; nothing where intervals do not tell."""
    tails = sorted(((_tail(of), of[2]) for of in known), key=lambda each: -each[0].value)
    (most, line), (next_, _) = tails[:2]
    if standing(most, next_) != "apart":
        return ""
    return f"; {line.name} has the longest tail: its p95 is {most.value:.1f} times its median"


def load_words(lines: Sequence[Line]) -> str:
    """Who gives most in all, and who most to one user; who may give as much."""
    if not lines:
        return "No offer was measured at several loads yet."
    total, most = max(((point, line) for line in lines for point in line.points), key=lambda each: each[0].y)
    user, lone = max(((point, line) for line in lines for point in line.points), key=lambda each: each[0].x)
    totals = _as_much(lines, most, lambda point: Span(point.y, point.lo, point.hi))
    users = _as_much(lines, lone, lambda point: Span(point.x, point.x_lo, point.x_hi))
    return (
        f"{most.name} gives most in all: {format_number(total.y)} tok/s at a load of {total.tag}{totals}; "
        f"one user gets most from {'it, too' if lone is most else lone.name}: {format_number(user.x)} tok/s "
        f"at {user.tag}{users}."
    )


def _as_much(lines: Sequence[Line], first: Line, span: Callable[[LinePoint], Span]) -> str:
    """Lines whose highest point is not told apart from the first's."""
    tops = {
        line.full: max((span(point) for point in line.points), key=lambda one: one.value) for line in lines
    }
    alike = [
        line.name
        for line in lines
        if line is not first and standing(tops[line.full], tops[first.full]) != "apart"
    ]
    return f" ({sentence_list(most_named(alike))} may give as much)" if alike else ""


def _tail(of: tuple[LinePoint, LinePoint, Line]) -> Span:
    """p95 over the median, with the widest interval that both of theirs allow."""
    middle, tail, _ = of
    lo = None if tail.lo is None or not middle.hi else tail.lo / middle.hi
    hi = None if tail.hi is None or not middle.lo else tail.hi / middle.lo
    return Span(tail.y / middle.y, lo, hi)


def _at(line: Line, x: float) -> LinePoint | None:
    """The point at x; None where the line has none there."""
    nearest = min(line.points, key=lambda point: abs(point.x - x))
    return nearest if abs(nearest.x - x) < 0.01 * max(x, 1.0) else None


def _lowest(lines: Sequence[Line], x: float) -> Line:
    def at(line: Line) -> float:
        point = _at(line, x)
        return float("inf") if point is None else point.y

    return min(lines, key=at)


def _clearly_first(lines: Sequence[Line], x: float) -> Line | None:
    """The line that is below all others at x, by its interval; None where none is."""
    first = _lowest(lines, x)
    return first if len(_not_apart(lines, first, x)) == 1 else None


def _not_apart(lines: Sequence[Line], first: Line, x: float) -> list[Line]:
    """The first, and all that are not told apart from it at x."""
    mine = _at(first, x)
    found = [first]
    for line in lines:
        other = _at(line, x)
        if line is first or mine is None or other is None:
            continue
        if standing(_span(other), _span(mine)) != "apart":
            found.append(line)
    return found


def _span(point: LinePoint) -> Span:
    return Span(point.y, point.lo, point.hi)


def _sizes(clear: Mapping[float, Line], sizes: Sequence[float]) -> str:
    """`of up to 300 tokens`, `of 500 tokens and more`, `of 10 to 300 tokens`."""
    lo, hi = min(clear), max(clear)
    if lo == sizes[0]:
        return f"of up to {hi:,.0f} tokens"
    return f"of {lo:,.0f} tokens and more" if hi == sizes[-1] else f"of {lo:,.0f} to {hi:,.0f} tokens"


def _open_words(lines: Sequence[Line], clear: Mapping[float, Line], sizes: Sequence[float]) -> str:
    """Who may be as fast with the other sizes, and whether that is for want of data."""
    first = next(iter(clear.values()))
    rivals: dict[str, set[Standing]] = {}
    for size in sizes:
        mine = _at(first, size)
        if size in clear or mine is None:
            continue
        for line in _not_apart(lines, first, size)[1:]:
            other = _at(line, size)
            if other is not None:
                rivals.setdefault(line.name, set()).add(standing(_span(other), _span(mine)))
    if not rivals:
        return ""
    alike = [name for name, found in rivals.items() if "alike" in found]
    names = sentence_list(most_named(alike or list(rivals)))
    if alike:
        return f"; with others it cannot be told apart from {names}"
    return f"; with others there is too little data to tell it from {names}"


def _growth_of_medians(lines: Sequence[Line]) -> str:
    """What medians show where there is too little for intervals, and that it is no more."""
    grown = [
        (line.points[-1].y / line.points[0].y, line)
        for line in lines
        if len(line.points) > 1 and line.points[0].y > 0.0
    ]
    if not grown:
        return "There is not enough data yet to say how TTFT grows with the prompt."
    most, line = max(grown, key=lambda each: each[0])
    span = f"from prompts of about {line.points[0].x:,.0f} tokens to {line.points[-1].x:,.0f}"
    seen = (
        f"the TTFT of {line.name} grows most, about {most:.1f} times {span}"
        if most >= _GROWTH
        else f"no TTFT grows {span}"
    )
    return f"By medians alone {seen}; there are too few requests of each size to be sure of it."


def _ratio(a: LinePoint, b: LinePoint) -> Ends | None:
    if a.lo is None or a.hi is None or b.lo is None or b.hi is None:
        return None
    return ratio(Ends(a.y, a.lo, a.hi), Ends(b.y, b.lo, b.hi))
