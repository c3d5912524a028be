"""A study for the terminal and as Markdown."""

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from paceline.report.markdown import escape, table_lines
from paceline.report.study import Point, Series, StudyReport
from paceline.report.study_words import (
    KNEE_NOTE,
    asked_rows,
    cell,
    columns,
    knee_words,
    title_words,
    trust_lines,
    value_words,
    verdict_words,
)
from paceline.report.terminal import WIDTH, bullet, pairs, plain_text
from paceline.report.words import shorten

_COLOURS = {"trusted": "green", "suspect": "yellow", "invalid": "red"}
_MOST_REASONS = 5
_LONGEST_REASON = 240


def print_study(report: StudyReport, console: Console) -> None:
    """Print a study; without trailing blanks where no terminal is."""
    if console.is_terminal:
        console.print(render(report), highlight=False)
    else:
        console.file.write(render_text(report, min(console.width, WIDTH)))


def render_text(report: StudyReport, width: int = WIDTH) -> str:
    """A study as plain text."""
    return plain_text(render(report), width)


def render(report: StudyReport) -> RenderableType:
    """A study as something that Rich prints."""
    parts: list[RenderableType] = []
    verdict = verdict_words(report)
    if verdict:
        found = (report.manifest.result or {}).get("verdict") == "found"
        parts.append(Text(verdict[0], style="bold green" if found else "bold yellow"))
        parts += [bullet(line, "dim") for line in verdict[1:]]
        parts.append(Text())
    parts += [_trust(report), Text(), pairs(asked_rows(report))]
    for series in report.series:
        parts += [Text(), *([Text(series.label, style="bold")] if series.label else [])]
        parts.append(_table(report, series))
    parts += [Text(note, style="dim") for note in notes(report)]
    return Group(*parts)


def render_markdown(report: StudyReport) -> str:
    """A study as Markdown, the answer first."""
    lines = [f"# {escape(title_words(report))}", ""]
    verdict = verdict_words(report)
    if verdict:
        lines += [f"**{escape(verdict[0])}**", "", *(f"- {escape(line)}" for line in verdict[1:]), ""]
    lines += [f"Steps: **{report.trust}**", "", *(f"- {escape(line)}" for line in trust_lines(report)), ""]
    lines += [f"- {name}: {escape(text)}" for name, text in asked_rows(report)]
    for series in report.series:
        lines += ["", *([f"## {escape(series.label)}", ""] if series.label else [])]
        lines += table_lines(head_cells(report), rows_of(report, series, with_intervals=True))
    said = notes(report)
    return "\n".join([*lines, *(["", *map(escape, said)] if said else [])]) + "\n"


def notes(report: StudyReport) -> list[str]:
    """What the marks in the tables mean, and where the knees are."""
    found = [text for series in report.series if (text := knee_words(report, series))]
    if any(series.knee.index is not None for series in report.series):
        found.append(KNEE_NOTE)
    return found


def head_cells(report: StudyReport) -> list[str]:
    """The head of the table of points."""
    return [report.x, "requests", *columns(report).values(), ""]


def rows_of(report: StudyReport, series: Series, *, with_intervals: bool = False) -> list[list[str]]:
    """The cells of each point of a series."""
    return [
        [
            f"{value_words(point.at.get(report.x))}{'*' if place == series.knee.index else ''}",
            f"{point.attempted:,}",
            *(cell(name, point, with_interval=with_intervals) for name in columns(report)),
            _remark(point),
        ]
        for place, point in enumerate(series.points)
    ]


def _remark(point: Point) -> str:
    """What is to be known of a point."""
    parts: list[str] = [] if point.trust == "trusted" else [point.trust]
    if point.overloaded:
        parts.append("cut" if point.overloaded == point.steps else f"{point.overloaded} cut")
    return ", ".join(parts)


def _trust(report: StudyReport) -> RenderableType:
    colour = _COLOURS[report.trust]
    head = Text(report.trust.upper(), style=f"bold {colour}")
    lines = trust_lines(report)
    if not lines:
        head.append("  no reason was found to doubt the steps", style="dim")
    shown = [bullet(shorten(line, _LONGEST_REASON), colour) for line in lines[:_MOST_REASONS]]
    if len(lines) > _MOST_REASONS:
        shown.append(bullet(f"and {len(lines) - _MOST_REASONS} more: in the JSON report", "dim"))
    return Group(head, *shown)


def _table(report: StudyReport, series: Series) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for place, name in enumerate(head_cells(report)):
        last = place == len(head_cells(report)) - 1
        table.add_column(
            name,
            justify="left" if place == 0 or last else "right",
            no_wrap=not last and place != 0,
            header_style="dim",
            style="dim" if last else "",
        )
    for cells in rows_of(report, series):
        table.add_row(*cells)
    return table
