"""A report for the terminal: 80 columns, and plain text when it is piped."""

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from paceline.report.figures import QUANTILES
from paceline.report.job_text import call_parts, parts_bar, turn_parts
from paceline.report.job_words import asked_rows, hangup_rows, job_rows
from paceline.report.model import Report
from paceline.report.sentences import (
    client_words,
    due_notes,
    goodput_words,
    outcome_words,
    rate_words,
    short_label,
    shortage_notes,
    speed_words,
    table_metrics,
    token_words,
)
from paceline.report.server_text import server_parts
from paceline.report.server_words import server_rows
from paceline.report.trust import Trust
from paceline.report.words import (
    figure,
    label,
    load_words,
    median,
    median_interval,
    offer_rows,
    printable,
    sentence_list,
    tail,
    workload_words,
)

WIDTH = 80
_COLOURS = {"trusted": "green", "suspect": "yellow", "invalid": "red"}
_HIGHER_IS_BETTER = ("output_tok_s", "fluidity")


def print_report(report: Report, console: Console) -> None:
    """Print a report; without trailing blanks where no terminal is."""
    if console.is_terminal:
        console.print(render(report), highlight=False)
    else:
        console.file.write(render_text(report, min(console.width, WIDTH)))


def render_text(report: Report, width: int = WIDTH) -> str:
    """A report as plain text."""
    return plain_text(render(report), width)


def plain_text(what: RenderableType, width: int = WIDTH) -> str:
    """Anything that Rich prints as text, without colours and trailing blanks."""
    console = Console(
        width=width, no_color=True, color_system=None, force_terminal=False, legacy_windows=False
    )
    with console.capture() as captured:
        console.print(what, highlight=False)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def render(report: Report) -> RenderableType:
    """A report as something that Rich prints."""
    parts: list[RenderableType] = [trust_box(report.trust), Text(), _facts(report)]
    jobs = report.evidence.jobs
    if report.well:
        parts += [Text(), latency_table(report), *_footnotes(report)]
        if jobs is not None:
            bar = parts_bar(jobs)
            parts += [*([Text()] if bar else []), *bar, *turn_parts(jobs)]
    if jobs is not None:
        parts += call_parts(jobs)
    parts += [*server_parts(report.evidence.server), Text(), _results(report)]
    return Group(*parts)


def trust_box(trust: Trust) -> RenderableType:
    """The verdict, and one line a reason."""
    colour = _COLOURS[trust.verdict]
    head = Text(trust.verdict.upper(), style=f"bold {colour}")
    if not trust.reasons:
        head.append("  no reason was found to doubt these figures", style="dim")
    lines = [bullet(str(reason), "dim" if reason.severity == "note" else colour) for reason in trust.reasons]
    return Group(head, *lines)


def bullet(text: str, style: str) -> RenderableType:
    """One line of a list, wrapped under its own beginning."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=1)
    grid.add_column(overflow="fold")
    grid.add_row(Text("-", style=style), Text(printable(text)))
    return Padding(grid, (0, 0, 0, 2))


def pairs(rows: list[tuple[str, str]]) -> Table:
    """Names and what they say, one a line."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True, min_width=10)
    grid.add_column(overflow="fold")
    for name, text in rows:
        grid.add_row(Text(name), Text(printable(text)))
    return grid


def _facts(report: Report) -> RenderableType:
    manifest = report.manifest
    rows = [
        *offer_rows(manifest.workload, "Offer"),
        ("Endpoint", f"{manifest.endpoint}  {manifest.protocol}"),
        ("Model", manifest.model),
        ("Load", load_words(manifest.load)),
    ]
    workload = workload_words(manifest.workload, manifest.protocol)
    if workload:
        rows.append(("Workload", workload))
    rows.append(("Requests", outcome_words(report)))
    rows.append(("Run", f"{manifest.id}{f'  {manifest.name}' if manifest.name else ''}"))
    return pairs(rows)


def latency_table(report: Report) -> Table:
    """The headline latencies: p50 with its interval, p90, p95, p99 and the maximum."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column("ms", no_wrap=True, header_style="dim")
    for name in ("p50", "95% interval", "p90", "p95", "p99", "max"):
        table.add_column(name, justify="right", no_wrap=True, header_style="dim", style=_weight(name))
    for name in table_metrics(report, _latencies(report)):
        summary = report.summary(name)
        table.add_row(
            Text(short_label(name)),
            median(name, summary.p50),
            median_interval(name, summary.p50),
            *(tail(name, getattr(summary, quantile), summary.p50) for quantile in QUANTILES[1:]),
            figure(name, summary.max),
        )
    return table


def _weight(column: str) -> str:
    return {"p50": "bold", "95% interval": "dim"}.get(column, "")


def _latencies(report: Report) -> list[str]:
    return [name for name in report.headline if name not in _HIGHER_IS_BETTER]


def _footnotes(report: Report) -> list[RenderableType]:
    notes = due_notes(report) + shortage_notes(report, table_metrics(report, _latencies(report)))
    approximate = [short_label(name) for name in report.headline if report.metrics[name].approximate]
    if approximate:
        notes.append(f"Approximate, as tokens per event are not known: {sentence_list(approximate)}.")
    return [Padding(Text(note, style="dim"), (0, 0, 0, 0)) for note in notes]


def _results(report: Report) -> RenderableType:
    jobs = report.evidence.jobs
    rows = [*(job_rows(jobs) if jobs is not None else []), ("Speed", speed_words(report))]
    for name in _HIGHER_IS_BETTER:
        if name in report.metrics:
            rows.append((label(name), rate_words(name, report.metrics[name], report.evidence.reading_tok_s)))
    met = goodput_words(report)
    if met:
        rows.append(("Goodput", met))
    rows += [*hangup_rows(report), *asked_rows(report)]
    rows.append(("Tokens", token_words(report)))
    if report.cost is not None and report.cost.words():
        rows.append(("Cost", report.cost.words()))
    rows += server_rows(report.evidence.server) if report.evidence.server is not None else []
    rows.append(("Client", client_words(report.trust)))
    return pairs(rows)
