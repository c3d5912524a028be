"""A conformance view for people, within 80 columns."""

import textwrap

from paceline.report.conformance.definition import METRICS
from paceline.report.conformance.figures import NOTHING, Figure
from paceline.report.conformance.model import OWN_MEANING, Conformance, ToolView, Touch
from paceline.report.conformance.tools import OWN
from paceline.report.words import printable
from paceline.units import format_duration_ns, format_number

WIDTH = 80
_COLUMNS = ("n", "mean", "p50", "p90", "p95", "p99")
_FILE = "  in its file"


def render_text(view: Conformance) -> str:
    """The figures side by side, then for each tool what they mean, where it parts from us and why."""
    blocks = [_head(view), _figures(view), *(_tool(one) for one in view.tools)]
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _head(view: Conformance) -> list[str]:
    manifest = view.report.manifest
    n = len(view.recording)
    what = f"{manifest.name or manifest.id}: {manifest.model} at {manifest.endpoint}"
    opened = f", {view.new_connections:,} over a new connection" if view.new_connections else ""
    lines = [printable(what), f"{n:,} measured requests, {view.report.ok:,} of them ok{opened}"]
    if view.report.evidence.open_loop:
        lines.append(
            "open loop: all count from the sending here; our headline counts from when a request was due"
        )
    if hung_up := view.report.evidence.by_outcome.get("hung_up"):
        lines.append(
            f"{hung_up:,} hung up on, as planned: in our figures, and in no tool's, as none hangs up"
        )
    return [line for text in lines for line in _wrap(text)]


def _figures(view: Conformance) -> list[str]:
    lines: list[str] = []
    marks: dict[str, int] = {}
    for name, words in METRICS.items():
        rows = [(OWN, view.own.get(name, NOTHING))]
        for one in view.tools:
            if name in one.definition.metrics:
                figure = one.view.figures.get(name, NOTHING)
                rows.append((f"{one.definition.name}{_mark(one, name, figure, marks)}", figure))
            if name in one.printed:
                rows.append((_FILE, one.printed[name]))
        if len(rows) == 1 or not any(figure.n for _, figure in rows):
            continue
        if lines:
            lines.append("")
        heads = "".join(f"{column:>9}" for column in _COLUMNS)
        lines.append(words if len(words) > 24 else f"{words:<25}{heads}")
        if len(words) > 24:
            lines.append(f"{'':<25}{heads}")
        lines += [_row(tool, figure) for tool, figure in rows]
    if marks:
        lines += ["", "not quite what the tool itself would have said; its own would be"]
        for words, number in marks.items():
            lines += _wrap(words, f"  [{number}] ", "      ")
    return lines


def _mark(one: ToolView, metric: str, figure: Figure, marks: dict[str, int]) -> str:
    """` [1,2]`: where the tool's own figure would differ; each of `marks` is explained once, below.

    What the tool's own file says stands beside it already.
    """
    if not figure.n or one.printed:
        return ""
    numbers = sorted(marks.setdefault(words, len(marks) + 1) for words in one.own_would_be(metric))
    return f" [{','.join(map(str, numbers))}]" if numbers else ""


def _row(tool: str, figure: Figure) -> str:
    if not figure.n:
        return f"  {tool:<23}{'-':>9}"
    count = f"{figure.n:,}" if figure.n > 1 else ""
    values = [getattr(figure, column) for column in _COLUMNS[1:]]
    cells = [count, *("" if value is None else format_number(value) for value in values)]
    return f"  {tool:<23}{''.join(f'{cell:>9}' for cell in cells)}".rstrip()


def _tool(one: ToolView) -> list[str]:
    definition, view = one.definition, one.view
    lines = [f"{definition.title} {definition.version}"]
    seconds = format_duration_ns(view.seconds * 1e9)
    for label, text in (
        ("requests", f"{view.requests:,}: {definition.requests}"),
        ("window", f"{seconds}: {definition.window}"),
        ("tokens", f"{view.output_tokens:,}: {definition.tokens}"),
        ("start", definition.start),
        ("percentiles", definition.percentiles),
    ):
        lines += _wrap(text, f"  {label:<12}", " " * 14)
    for name, meaning in definition.metrics.items():
        lines += _wrap(f"{meaning.name}: {meaning.words}", f"  {name:<13} ", " " * 16)
    lines.append("  parts from us:")
    for touch in sorted(one.touches, key=_importance):
        lines += _wrap(f"{_touched(touch)}{touch.difference.words}", "  - ", "    ")
    lines.append("  sources:")
    for source in definition.sources:
        lines += _wrap(
            f"{source.repository} {source.file} {source.at}, read {source.read_on}", "  - ", "    "
        )
    return lines


def _importance(touch: Touch) -> tuple[bool, bool]:
    """What moves these figures first; then what is only told; last what concerns no request here."""
    return touch.requests == 0, not touch.difference.shown


def _touched(touch: Touch) -> str:
    what = ", ".join(touch.difference.metrics)
    if touch.requests is None:
        where = "" if touch.difference.shown else "not in these figures, "
    elif touch.requests == 0:
        where = "no request here, "
    else:
        where = f"{touch.requests:,} request{'s' if touch.requests > 1 else ''} here, "
        where += "" if touch.difference.shown else "not in these figures, "
    return f"[{where}{what}] "


def own_words() -> list[str]:
    """What our own figures mean, a line a metric."""
    return [f"{name}: {words}" for name, words in OWN_MEANING.items()]


def _wrap(text: str, first: str = "", rest: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
