"""A study as one HTML file."""

from typing import Any

from paceline import __version__
from paceline.report.page import Page
from paceline.report.study import StudyReport
from paceline.report.study_charts import study_charts
from paceline.report.study_text import head_cells, notes, rows_of
from paceline.report.study_words import (
    asked_rows,
    knee_words,
    title_words,
    trust_lines,
    verdict_words,
)

_CHARTS = {
    "share": (
        "Share that met the objectives",
        "One dot a load, larger for more requests, red where a step was cut short. Dashed: the share that is "
        "asked for. Shaded: where the capacity lies. The line: the highest load that meets.",
    ),
    "interactivity": (
        "Throughput against interactivity",
        "Each point is a load: what all users get together, against what the median one gets. Up and right "
        "is better. The ring marks the knee; bars are 95 % intervals.",
    ),
    "ttft": (
        "TTFT against load",
        "Bands are 95 % intervals. Dashed across: the objective. Dashed upright: the knee.",
    ),
    "goodput": (
        "Goodput against load",
        "Requests a second that were answered, and those of them that met the objectives. Bands are 95 % "
        "intervals.",
    ),
}
_TITLES = {
    "trusted": "The steps can be trusted",
    "suspect": "Some steps are suspect: read why before you rely on these figures",
    "invalid": "Some steps are invalid: do not rely on these figures",
}


def render_html(report: StudyReport) -> str:
    """One self-contained file: the answer, the trust in its steps, the curves, every point."""
    return page_of(report).as_file()


def page_of(report: StudyReport) -> Page:
    """What its page holds."""
    charts = study_charts(report)
    manifest = report.manifest
    verdict = verdict_words(report)
    context = {
        "title": f"{title_words(report)}, {manifest.id}",
        "version": __version__,
        "heading": title_words(report),
        "endpoint": manifest.endpoint,
        "verdict": verdict[:1],
        "verdict_kind": _verdict_kind(report),
        "verdict_lines": verdict[1:],
        "trust": {"verdict": report.trust, "title": _trust_title(report), "reasons": trust_lines(report)},
        "knees": [text for series in report.series if (text := knee_words(report, series))],
        "charts_shown": [
            {"name": name, "title": _CHARTS[name][0], "about": _CHARTS[name][1]} for name in charts
        ],
        "head": head_cells(report),
        "tables": [
            {"label": series.label, "rows": rows_of(report, series, with_intervals=True)}
            for series in report.series
        ],
        "notes": notes(report),
        "facts_rows": asked_rows(report),
        "file_name": f"{manifest.id}.json",
    }
    return Page("study.html", context, charts, report.to_json())


def _trust_title(report: StudyReport) -> str:
    return _TITLES[report.trust] if report.manifest.steps else "There are no figures yet"


def _verdict_kind(report: StudyReport) -> Any:
    """The colour of the answer."""
    found = (report.manifest.result or {}).get("verdict")
    return "trusted" if found == "found" else "suspect"
