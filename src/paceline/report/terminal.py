"""A report for the terminal: 80 columns, and plain text when it is piped."""

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from paceline.report.evidence import READING_TOK_S
from paceline.report.model import QUANTILES, MetricReport, Report, token_source
from paceline.report.trust import Trust
from paceline.report.words import (
    bound,
    figure,
    interval,
    label,
    load_words,
    sentence_list,
    share,
    shortage,
    unit,
    workload_words,
)
from paceline.units import format_duration_ns, format_ms, format_number, format_percentage, format_rate

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
    console = Console(
        width=width, no_color=True, color_system=None, force_terminal=False, legacy_windows=False
    )
    with console.capture() as captured:
        console.print(render(report), highlight=False)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def render(report: Report) -> RenderableType:
    """A report as something that Rich prints."""
    parts: list[RenderableType] = [trust_box(report.trust), Text(), _facts(report)]
    if report.ok:
        parts += [Text(), latency_table(report), *_footnotes(report)]
    parts += [Text(), _results(report)]
    return Group(*parts)


def trust_box(trust: Trust) -> RenderableType:
    """The verdict, and one line a reason."""
    colour = _COLOURS[trust.verdict]
    head = Text(trust.verdict.upper(), style=f"bold {colour}")
    if not trust.reasons:
        head.append("  no reason was found to doubt these figures", style="dim")
    lines = [_bullet(str(reason), "dim" if reason.severity == "note" else colour) for reason in trust.reasons]
    return Group(head, *lines)


def _bullet(text: str, style: str) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=1)
    grid.add_column(overflow="fold")
    grid.add_row(Text("-", style=style), Text(text))
    return Padding(grid, (0, 0, 0, 2))


def _pairs(rows: list[tuple[str, str]]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True, min_width=10)
    grid.add_column(overflow="fold")
    for name, text in rows:
        grid.add_row(Text(name), Text(text))
    return grid


def _facts(report: Report) -> RenderableType:
    manifest = report.manifest
    rows = [
        ("Endpoint", f"{manifest.endpoint}  {manifest.protocol}"),
        ("Model", manifest.model),
        ("Load", load_words(manifest.load)),
    ]
    workload = workload_words(manifest.workload)
    if workload:
        rows.append(("Workload", workload))
    rows.append(("Requests", outcome_words(report)))
    rows.append(("Run", f"{manifest.id}{f'  {manifest.name}' if manifest.name else ''}"))
    return _pairs(rows)


def outcome_words(report: Report) -> str:
    """`390 ok of 400, 8 timeout, 2 truncated`."""
    others = [f"{n:,} {name}" for name, n in report.evidence.by_outcome.items() if name != "ok"]
    return ", ".join([f"{report.ok:,} ok of {report.attempted:,}", *others])


def latency_table(report: Report) -> Table:
    """The headline latencies: p50 with its interval, p90, p95, p99 and the maximum."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column("ms", no_wrap=True, header_style="dim")
    for name in ("p50", "95% interval", "p90", "p95", "p99", "max"):
        table.add_column(name, justify="right", no_wrap=True, header_style="dim", style=_weight(name))
    for name in _latencies(report):
        metric = report.metrics[name]
        p50 = metric.summary.p50
        table.add_row(
            Text(short_label(name)),
            bound(name, p50),
            interval(name, p50),
            *(bound(name, metric.quantile(quantile)) for quantile in QUANTILES[1:]),
            figure(name, metric.summary.max),
        )
    return table


def _weight(column: str) -> str:
    return {"p50": "bold", "95% interval": "dim"}.get(column, "")


def _latencies(report: Report) -> list[str]:
    return [name for name in report.headline if name not in _HIGHER_IS_BETTER]


def short_label(name: str) -> str:
    """A metric's label without `from due`: under an open loop a footnote says it once."""
    return label(name).removesuffix(", from due").removesuffix(" from due")


def _footnotes(report: Report) -> list[RenderableType]:
    notes = []
    if report.evidence.open_loop:
        notes.append("TTFT and E2E count from when a request was due, whether it was sent late or not.")
    notes += shortage_notes(report, _latencies(report))
    approximate = [short_label(name) for name in report.headline if report.metrics[name].approximate]
    if approximate:
        notes.append(f"Approximate, as tokens per event are not known: {sentence_list(approximate)}.")
    return [Padding(Text(note, style="dim"), (0, 0, 0, 0)) for note in notes]


def shortage_notes(report: Report, names: list[str]) -> list[str]:
    """What it takes to bound the quantiles that are not bounded; nothing when all are."""
    parts = []
    for quantile in QUANTILES:
        by_reason: dict[str, list[str]] = {}
        for name in names:
            estimate = report.metrics[name].quantile(quantile)
            if not estimate.enough:
                by_reason.setdefault(shortage(estimate), []).append(short_label(name))
        if by_reason:
            needs = ", ".join(f"{why} ({', '.join(who)})" for why, who in by_reason.items())
            parts.append(f"{quantile} {needs}")
    return [f">= n too small: {'; '.join(parts)}"] if parts else []


def _results(report: Report) -> RenderableType:
    rows = [("Speed", speed_words(report))]
    for name in _HIGHER_IS_BETTER:
        if name in report.metrics:
            rows.append((label(name), rate_words(name, report.metrics[name])))
    met = goodput_words(report)
    if met:
        rows.append(("Goodput", met))
    rows.append(("Tokens", token_words(report)))
    rows.append(("Client", client_words(report.trust)))
    return _pairs(rows)


def speed_words(report: Report) -> str:
    """Throughput over the steady window, and how long that was."""
    pace = report.evidence.throughput
    if pace.output_tok_s is None or pace.requests_s is None:
        return "too short to tell"
    text = f"{format_rate(pace.output_tok_s)}, {format_rate(pace.requests_s, 'requests/s')}"
    if not pace.steady:
        return f"{text}, over all {_seconds(pace.whole_seconds)}: no steady part"
    return f"{text}, over the steady {_seconds(pace.seconds)} of {_seconds(pace.whole_seconds)}"


def rate_words(name: str, metric: MetricReport) -> str:
    """A metric of which more is better: the median, its interval, and the mean."""
    p50 = metric.summary.p50
    spread = f" ({interval(name, p50)})" if interval(name, p50) else ""
    mean = figure(name, metric.summary.mean)
    if name == "fluidity":
        return f"{mean}% of tokens in time for a reader at {READING_TOK_S:g} tok/s"
    return f"{bound(name, p50)}{spread} {unit(name)} at the median request, mean {mean}"


def goodput_words(report: Report) -> str:
    """Goodput and the limits it is about; empty without limits."""
    met = report.evidence.goodput
    if met is None or met.share is None:
        return ""
    limits = ", ".join(f"{name}={limit:g}" for name, limit in (report.manifest.slo or {}).items())
    rate = f"{format_rate(met.requests_s, 'requests/s')}, " if met.requests_s is not None else ""
    return f"{rate}{share(met.met, met.attempted)} of attempted requests met {limits}"


def token_words(report: Report) -> str:
    """Tokens by source, and how far the sources disagree."""
    tokens = report.evidence.tokens
    parts = [f"{tokens.counted + tokens.hidden:,} generated ({token_source(report.evidence)})"]
    if tokens.completion is not None and tokens.mismatched_requests:
        parts.append(f"{tokens.completion:,} by the server's usage")
    if tokens.reasoning:
        parts.append(f"{tokens.reasoning:,} of them reasoning")
    if tokens.prompt is not None:
        cached = f", {tokens.cached:,} of them cached" if tokens.cached else ""
        parts.append(f"{tokens.prompt:,} in prompts{cached}")
    if tokens.mismatch_share:
        apart = format_percentage(tokens.mismatch_share)
        parts.append(f"counts differ by {apart} in {tokens.mismatched_requests:,} requests")
    return "; ".join(parts)


def client_words(trust: Trust) -> str:
    """The instrument: its error, lateness and load."""
    facts = trust.facts
    parts = []
    if facts.ttft_error_us is not None:
        parts.append(
            f"TTFT error {format_duration_ns(facts.ttft_error_us.p50 * 1e3)} p50, "
            f"{format_duration_ns(facts.ttft_error_us.p99 * 1e3)} p99"
        )
    if facts.schedule_lag_ms is not None:
        lag = facts.schedule_lag_ms
        parts.append(f"sent {format_ms(lag.p50)} late at p50, {format_ms(lag.p99)} at p99")
    if facts.cpu_fraction is not None:
        parts.append(f"CPU {format_percentage(facts.cpu_fraction)}")
    if facts.open_loop and facts.offered_requests_s and facts.achieved_requests_s is not None:
        parts.append(
            f"{format_number(facts.achieved_requests_s)} of {format_number(facts.offered_requests_s)} "
            "offered requests/s sent"
        )
    return ", ".join(parts) or "not recorded"


def _seconds(seconds: float) -> str:
    return format_duration_ns(seconds * 1e9)
