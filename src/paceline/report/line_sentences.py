"""What a chart of lines shows, in a sentence made from its points: never more sure than they are."""

from collections.abc import Sequence

from paceline.report.board_words import times_words
from paceline.report.line_chart import Line, LinePoint
from paceline.stats.mover import Ends, ratio
from paceline.units import format_number

# A tail is spoken of by this percentile (as nines, 1.3 is p95), as far as samples of some hundreds reach it.
_TAIL_NINES, _MEDIAN_NINES = 1.30103, 0.30103


def answer_words(lines: Sequence[Line]) -> str:
    """Which offer is done first with short answers, which with long ones, and where they cross."""
    if not lines:
        return "No offer has streamed answers."
    sizes = [point.x for point in lines[0].points]
    firsts = [(size, _lowest(lines, size)) for size in sizes]
    short, long = firsts[0][1], firsts[-1][1]
    if len(lines) == 1:
        return f"{short.name} is the only offer with streamed answers."
    if all(line is short for _, line in firsts):
        rival = _closest_rival(lines, short, sizes)
        if rival is None:
            return f"{short.name} is done first with answers of every size, up to {sizes[-1]:,.0f} tokens."
        return f"{short.name} is done first with answers of every size, but {rival}."
    turn = next(size for size, line in firsts if line is not short)
    last = max(size for size, line in firsts if line is not long)
    after = next(size for size in sizes if size > last)
    where = (
        f"up to about {_before(sizes, turn):,.0f} tokens, {long.name} from about {after:,.0f} on"
        if after > _before(sizes, turn)
        else f"with short answers, {long.name} with long ones"
    )
    return f"{short.name} is done first {where}."


def prompt_words(lines: Sequence[Line]) -> str:
    """Whose TTFT grows most and least with the prompt."""
    grown = [
        (found, line) for line in lines if (found := _ratio(line.points[-1], line.points[0])) is not None
    ]
    if not grown:
        return "There is not enough data yet to say how TTFT grows with the prompt."
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
        return f"There is not enough data yet for the 95th percentile of {what}."
    first = min(known, key=lambda each: each[0].y)
    steady = min(known, key=lambda each: each[1].y)
    text = (
        f"{first[2].name} has the shortest {what} at the median and at p95"
        if first[2] is steady[2]
        else f"{first[2].name} has the shortest {what} at the median, {steady[2].name} at p95"
    )
    if len(known) == 1:
        return f"The p95 of {first[2].name} is {_tail(first)} times its median."
    longest = max(known, key=lambda each: each[1].y / each[0].y)
    return f"{text}; {longest[2].name} has the longest tail: its p95 is {_tail(longest)} times its median."


def load_words(lines: Sequence[Line]) -> str:
    """Who gives most in all, and who most to one user."""
    if not lines:
        return "No offer was measured at several loads yet."
    total, most = max(((point, line) for line in lines for point in line.points), key=lambda each: each[0].y)
    user, lone = max(((point, line) for line in lines for point in line.points), key=lambda each: each[0].x)
    return (
        f"{most.name} gives most in all: {format_number(total.y)} tok/s at a load of {total.tag}; "
        f"one user gets most from {'it, too' if lone is most else lone.name}: {format_number(user.x)} tok/s "
        f"at {user.tag}."
    )


def _tail(of: tuple[LinePoint, LinePoint, Line]) -> str:
    return f"{of[1].y / of[0].y:.1f}"


def _at(line: Line, x: float) -> LinePoint | None:
    """The point at x; None where the line has none there."""
    nearest = min(line.points, key=lambda point: abs(point.x - x))
    return nearest if abs(nearest.x - x) < 0.01 * max(x, 1.0) else None


def _lowest(lines: Sequence[Line], x: float) -> Line:
    return min(lines, key=lambda line: point.y if (point := _at(line, x)) is not None else float("inf"))


def _before(sizes: Sequence[float], turn: float) -> float:
    return max(size for size in sizes if size < turn)


def _closest_rival(lines: Sequence[Line], first: Line, sizes: Sequence[float]) -> str | None:
    """`B may be as fast from 300 tokens on`: the offer that cannot be told apart over the most sizes."""
    best: tuple[int, str] | None = None
    for line in lines:
        if line is first:
            continue
        alike = [size for size in sizes if _alike(_at(line, size), _at(first, size))]
        if alike and (best is None or len(alike) > best[0]):
            over = (
                "at any size"
                if len(alike) == len(sizes)
                else f"from {alike[0]:,.0f} to {alike[-1]:,.0f} tokens"
            )
            best = (len(alike), f"cannot be told apart from {line.name} {over}")
    return None if best is None else best[1]


def _alike(a: LinePoint | None, b: LinePoint | None) -> bool:
    if a is None or b is None:
        return False
    found = _ratio(a, b)
    return found is None or found.lo <= 1.0 <= found.hi


def _ratio(a: LinePoint, b: LinePoint) -> Ends | None:
    if a.lo is None or a.hi is None or b.lo is None or b.hi is None:
        return None
    return ratio(Ends(a.y, a.lo, a.hi), Ends(b.y, b.lo, b.hi))
