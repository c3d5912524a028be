"""A report as Markdown, for an issue, a pull request or a wiki."""

import re

from paceline.report.figures import QUANTILES
from paceline.report.job_text import markdown_lines
from paceline.report.job_words import asked_rows, hangup_rows, job_rows
from paceline.report.model import Report
from paceline.report.sentences import (
    client_words,
    goodput_words,
    outcome_words,
    shortage_notes,
    speed_words,
    table_metrics,
    token_words,
)
from paceline.report.server_text import server_markdown
from paceline.report.server_words import server_rows
from paceline.report.trust import Trust
from paceline.report.words import (
    figure,
    label,
    load_words,
    median,
    median_interval,
    offer_name,
    offer_rows,
    tail,
    unit,
    workload_words,
)


def render_markdown(report: Report) -> str:
    """The report, the trust verdict first."""
    manifest = report.manifest
    title = offer_name(manifest.workload) or manifest.model
    lines = [f"# {escape(title)} at {escape(manifest.endpoint)}", "", *trust_lines(report.trust), ""]
    jobs = report.evidence.jobs
    lines += _pairs(
        *offer_rows(manifest.workload, "Offer"),
        ("Load", load_words(manifest.load)),
        ("Workload", workload_words(manifest.workload, manifest.protocol)),
        ("Requests", outcome_words(report)),
        *(job_rows(jobs) if jobs is not None else []),
        ("Speed", speed_words(report)),
        ("Goodput", goodput_words(report)),
        *hangup_rows(report),
        *asked_rows(report),
        ("Tokens", token_words(report)),
        *([("Cost", report.cost.words())] if report.cost and report.cost.words() else []),
        *(server_rows(report.evidence.server) if report.evidence.server is not None else []),
        ("Client", client_words(report.trust)),
        ("Run", f"{manifest.id}, {manifest.started_at:%Y-%m-%d %H:%M:%S %Z}, Paceline {manifest.version}"),
    )
    if report.metrics:
        lines += ["", *_metric_table(report)]
        lines += [f"\n{escape(note)}" for note in shortage_notes(report, table_metrics(report, report.shown))]
    if jobs is not None:
        lines += markdown_lines(jobs)
    lines += server_markdown(report.evidence.server)
    return "\n".join(lines) + "\n"


def trust_lines(trust: Trust) -> list[str]:
    """The verdict, and one line a reason."""
    return [f"**{trust.verdict}**", "", *(f"- {escape(str(reason))}" for reason in trust.reasons)]


def table_lines(head: list[str], rows: list[list[str]]) -> list[str]:
    """A table; all columns but the first are aligned right. Cells are escaped here."""
    lines = [_row(head), _row(["---", *["---:"] * (len(head) - 1)], plain=True)]
    return lines + [_row(row) for row in rows]


def escape(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return re.sub(r"([\\`*_{}\[\]<|#~])", r"\\\1", " ".join(text.split()))


def _metric_table(report: Report) -> list[str]:
    head = ["metric", "n", "p50", "95 % interval", "p90", "p95", "p99", "max"]
    rows = []
    for name in table_metrics(report, report.shown):
        summary = report.summary(name)
        mark = " (approximate)" if name in report.metrics and report.metrics[name].approximate else ""
        own = f", {unit(name)}" if unit(name) else ""
        rows.append(
            [
                f"{label(name)}{own}{mark}",
                f"{summary.n:,}",
                median(name, summary.p50),
                median_interval(name, summary.p50),
                *(tail(name, getattr(summary, quantile), summary.p50) for quantile in QUANTILES[1:]),
                figure(name, summary.max),
            ]
        )
    return table_lines(head, rows)


def _pairs(*rows: tuple[str, str]) -> list[str]:
    return [f"- {name}: {escape(text)}" for name, text in rows if text]


def _row(cells: list[str], *, plain: bool = False) -> str:
    return f"| {' | '.join(cell if plain else escape(cell) for cell in cells)} |"
