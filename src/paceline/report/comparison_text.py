"""A comparison for the terminal and as Markdown."""

import math

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from paceline.report.comparison import ComparisonReport
from paceline.report.job_sides import PARTS_HEAD, side_rows
from paceline.report.markdown import escape, table_lines
from paceline.report.model import Report
from paceline.report.sentences import due_notes, outcome_words, short_label, speed_words
from paceline.report.terminal import WIDTH, bullet, pairs, plain_text, trust_box
from paceline.report.words import figure, label, load_words, printable, samples_word, share, unit
from paceline.stats.compare import Comparison
from paceline.units import format_number, format_percentage

_COLOURS = {
    "faster": "green",
    "slower": "red",
    "better": "green",
    "worse": "red",
    "no difference": "",
    "not enough data": "dim",
}


def print_comparison(comparison: ComparisonReport, console: Console) -> None:
    """Print a comparison; without trailing blanks where no terminal is."""
    if console.is_terminal:
        console.print(render(comparison), highlight=False)
    else:
        console.file.write(render_text(comparison, min(console.width, WIDTH)))


def render_text(comparison: ComparisonReport, width: int = WIDTH) -> str:
    """A comparison as plain text."""
    return plain_text(render(comparison), width)


def render(comparison: ComparisonReport) -> RenderableType:
    """A comparison as something that Rich prints."""
    parts: list[RenderableType] = []
    for letter, report in (("A", comparison.a), ("B", comparison.b)):
        parts += [Text(f"{letter}  {side_words(report)}", style="bold"), trust_box(report.trust)]
        parts += [pairs(_side_rows(report)), Text()]
    if comparison.results:
        parts += [_table(comparison), Text(legend(comparison), style="dim")]
    else:
        parts.append(Text(nothing_words(comparison)))
    saved = saving_words(comparison)
    if saved:
        parts.append(Text(saved))
    parts += _parts(comparison)
    parts += [bullet(note, "yellow") for note in comparison.notes]
    return Group(*parts)


def side_words(report: Report) -> str:
    """Which run a side is."""
    manifest = report.manifest
    return printable(f"{manifest.name or manifest.id}: {manifest.model} at {manifest.endpoint}")


def _side_rows(report: Report) -> list[tuple[str, str]]:
    return [
        ("Load", load_words(report.manifest.load)),
        ("Requests", outcome_words(report)),
        *side_rows(report),
        ("Speed", speed_words(report)),
    ]


def legend(comparison: ComparisonReport) -> str:
    """How the table is to be read."""
    of_jobs = comparison.a.evidence.row_job is not None or comparison.b.evidence.row_job is not None
    how = (
        "pair by pair of blocks" if comparison.paired else "by whole jobs" if of_jobs else "by blocks of time"
    )
    text = (
        f"B / A with its 95% interval, bootstrapped {how}; differences under "
        f"{format_percentage(comparison.smallest_difference)} are of no interest."
    )
    # Metrics are without `from due` in their names, as in the report of a run.
    return " ".join([text, *due_notes(comparison.basis)])


def nothing_words(comparison: ComparisonReport) -> str:
    """Why there is no table."""
    for letter, report in (("A", comparison.a), ("B", comparison.b)):
        if not report.well:
            return f"Nothing can be compared: no request of {letter} succeeded."
    return "Nothing can be compared: the two have no metric in common."


def saving_words(comparison: ComparisonReport) -> str:
    """`At 200 jobs a day B saves 1.20 h (0.90 to 1.50), worth $60.0.`, or nothing."""
    saving = comparison.saving
    if saving is None:
        why = comparison.saving_reason
        return f"What B saves a day is not said: {why}." if why else ""
    if not math.isfinite(saving.hours.value):
        return ""
    hours, sign = saving.hours, 1.0 if saving.hours.value >= 0.0 else -1.0
    ends = [] if hours.lo is None or hours.hi is None else sorted((sign * hours.lo, sign * hours.hi))
    spread = f"{_hours(ends[0])} to {_hours(ends[1])}" if ends else ""
    head = f"At {format_number(saving.jobs)} jobs a day"
    does = "saves" if sign > 0.0 else "costs"
    if not saving.shown:
        return f"{head} no difference is shown: " + (
            f"B {does} {spread} h a day." if spread else "there are too few jobs for an interval."
        )
    amount = abs(hours.value)
    worth = "" if saving.usd_an_hour is None else f", worth ${format_number(amount * saving.usd_an_hour)}"
    return f"{head} B {does} {_hours(amount)} h a day ({spread}){worth}."


def _hours(value: float) -> str:
    """Three significant digits, never as a power of ten."""
    return f"{np.format_float_positional(float(f'{value:.3g}'), trim='-')}"


def _parts(comparison: ComparisonReport) -> list[RenderableType]:
    """The parts of a job's time, side by side."""
    rows = comparison.jobs.parts_rows() if comparison.jobs is not None else []
    if not rows:
        return []
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for place, name in enumerate(PARTS_HEAD):
        table.add_column(name, justify="right" if place else "left", no_wrap=True, header_style="dim")
    for cells in rows:
        table.add_row(*(Text(cell) for cell in cells))
    return [Text(), table, Text()]


def _table(comparison: ComparisonReport) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column("", no_wrap=True)
    for name in ("A", "B", "B / A", "interval"):
        table.add_column(name, justify="right", no_wrap=True, header_style="dim")
    table.add_column("B is", header_style="dim", overflow="fold")
    for result in comparison.results:
        cells = [Text(cell) for cell in result_cells(result)]
        cells[-1].stylize(_COLOURS[result.verdict.outcome])
        table.add_row(*cells)
    return table


def result_cells(result: Comparison) -> list[str]:
    """One line of the table: metric, A, B, ratio, interval, verdict."""
    if result.statistic == "share":
        return _share_cells(result)
    name, ratio = result.metric, result.ratio
    known = ratio.lo is not None and ratio.hi is not None
    return [
        f"{short_label(name)} {result.statistic}, {unit(name)}",
        figure(name, result.a),
        figure(name, result.b),
        _ratio(ratio.value),
        f"{_ratio(ratio.lo)} to {_ratio(ratio.hi)}" if known else "",
        verdict_words(result),
    ]


def _share_cells(result: Comparison) -> list[str]:
    """Shares in %, and in place of the interval of the ratio that of their difference, in points."""
    a, b = (share(round(of * n), n) for of, n in ((result.a, result.n_a), (result.b, result.n_b)))
    apart, ratio = result.difference, result.ratio.value
    ends = ("-" if end is None else f"{100 * end:+.1f}" for end in (apart.lo, apart.hi))
    return [
        label(result.metric),
        a,
        b,
        _ratio(ratio),
        f"{' to '.join(ends)} points",
        verdict_words(result),
    ]


def verdict_words(result: Comparison) -> str:
    """The verdict as a table says it."""
    verdict = result.verdict
    if result.statistic == "share":
        words = {"better": "better: fewer fail", "worse": "worse: more fail"}
        small = f"no difference larger than {100 * verdict.smallest_difference:g} points"
        return words.get(verdict.outcome, small if verdict.outcome == "no difference" else verdict.outcome)
    if verdict.outcome == "no difference":
        return f"no difference larger than {format_percentage(verdict.smallest_difference)}"
    if verdict.outcome == "not enough data" and verdict.needs_n:
        return f"not enough data (needs {verdict.needs_n:,} more {samples_word(result.metric)})"
    return verdict.outcome


def _ratio(value: float | None) -> str:
    return "-" if value is None or not math.isfinite(value) else f"{value:.3f}"


def render_markdown(comparison: ComparisonReport) -> str:
    """A comparison as Markdown."""
    lines = ["# Comparison", ""]
    for letter, report in (("A", comparison.a), ("B", comparison.b)):
        lines += [f"**{letter}**: {escape(side_words(report))}; {report.trust.verdict}", ""]
        lines += [f"- {escape(str(reason))}" for reason in report.trust.reasons]
        lines += [f"- {name}: {escape(text)}" for name, text in _side_rows(report)]
        lines.append("")
    if comparison.results:
        head = ["metric", "A", "B", "B / A", "95 % interval", "B is"]
        lines += table_lines(head, [result_cells(result) for result in comparison.results])
        lines += ["", escape(legend(comparison))]
    else:
        lines.append(nothing_words(comparison))
    rows = comparison.jobs.parts_rows() if comparison.jobs is not None else []
    if rows:
        lines += ["", *table_lines(PARTS_HEAD, rows)]
    saved = saving_words(comparison)
    lines += [
        "",
        *([escape(saved), ""] if saved else []),
        *(f"- {escape(note)}" for note in comparison.notes),
    ]
    return "\n".join(lines) + "\n"
