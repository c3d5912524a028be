"""A report as one HTML file."""

from collections import Counter
from typing import Any

import pyarrow as pa

from paceline import __version__
from paceline.report.charts import beyond_words, histogram_chart, ladder_chart
from paceline.report.figures import QUANTILES
from paceline.report.job_html import job_charts, job_context
from paceline.report.model import Report, goodput_reason
from paceline.report.page import Page
from paceline.report.sentences import (
    client_words,
    due_notes,
    goodput_words,
    outcome_words,
    short_label,
    shortage_notes,
    speed_words,
    table_metrics,
    token_words,
)
from paceline.report.server_html import server_charts, server_context
from paceline.report.timeline import points_words, timeline_chart
from paceline.report.trust import Trust
from paceline.report.words import (
    figure,
    interval,
    label,
    load_words,
    median,
    median_interval,
    offer_name,
    offer_rows,
    offer_words,
    samples_word,
    share,
    tail,
    unit,
    workload_words,
)
from paceline.stats.frame import Frame
from paceline.stats.jobs import JobState
from paceline.stats.metrics import metric_info
from paceline.units import format_duration_ns, format_ms, format_number, format_percentage

_TITLES = {
    "trusted": "Trusted",
    "suspect": "Suspect: read the reasons before you rely on these figures",
    "invalid": "Invalid: do not rely on these figures",
}
_DISTRIBUTIONS = ("ttft", "e2e", "itl_ms")
_MOST_ERRORS = 8
_COLUMNS = [(quantile, median_interval if quantile == "p50" else interval) for quantile in QUANTILES]


def render_html(report: Report) -> str:
    """One self-contained file: trust box, headline, distributions, time, outcomes, environment."""
    return page_of(report).as_file()


def page_of(report: Report) -> Page:
    """What its page holds."""
    names = distribution_names(report)
    charts = {**job_charts(report), **server_charts(report.evidence)}
    for name in names:
        values, summary = report.samples(name).values, report.summary(name)
        charts[f"{name}_histogram"] = histogram_chart(name, values, summary)
        charts[f"{name}_percentiles"] = ladder_chart(name, values, summary)
    over_time = timeline_chart(report.evidence)
    if over_time is not None:
        charts["timeline"] = over_time
    manifest = report.manifest
    offer = offer_name(manifest.workload)
    title = f"{offer}: live traffic" if offer else f"{manifest.name or manifest.id}: {manifest.model}"
    whose = f"{offer_words(manifest.workload)}, {manifest.model} at " if offer else ""
    context = {
        "title": f"{title}, {report.trust.verdict}",
        "version": __version__,
        "model": offer or manifest.model,
        "endpoint": f"{whose}{manifest.endpoint}",
        "load": load_words(manifest.load),
        "workload": workload_words(manifest.workload, manifest.protocol),
        "run": f"{manifest.id}{f', {manifest.name}' if manifest.name else ''}",
        "due_note": " ".join(due_notes(report)),
        "trust": trust_context(report.trust),
        "cards": _cards(report),
        "jobs": job_context(report),
        "distributions": [_distribution(report, name) for name in names],
        "metrics": [_metric(report, name) for name in table_metrics(report, report.shown)],
        "shortage": " ".join(shortage_notes(report, table_metrics(report, report.shown))),
        "server": server_context(report.evidence),
        "has_timeline": over_time is not None,
        "steady": report.evidence.throughput.steady,
        "drawn": points_words(report.evidence),
        "outcomes": _outcomes(report),
        "errors": _errors(report),
        "run_facts": _run_facts(report),
        "host_facts": _host_facts(report),
        "file_name": f"{manifest.id}.json",
    }
    return Page("report.html", context, charts, report.to_json())


def distribution_names(report: Report) -> list[str]:
    """The metrics whose distributions are drawn: a job's time, TTFT, ITL and E2E, as far as they apply."""
    wanted = [name for name in report.headline if name.startswith(_DISTRIBUTIONS)]
    wanted += [report.job_metric] if report.job_metric else []
    order = ("job", "ttft", "itl", "e2e")
    return sorted(wanted, key=lambda name: [name.startswith(start) for start in order].index(True))


def trust_context(trust: Trust) -> dict[str, Any]:
    """The trust box, for `parts.html`."""
    facts = trust.facts
    rows = []
    if facts.offered_requests_s is not None and facts.achieved_requests_s is not None:
        achieved = format_number(facts.achieved_requests_s)
        if facts.open_loop:
            rows.append(
                ("sent of offered", f"{achieved} of {format_number(facts.offered_requests_s)} {facts.unit}/s")
            )
        else:
            rows.append(("sent", f"{achieved} {facts.unit}/s"))
    if facts.dropped:
        rows.append(("dropped", f"{facts.dropped:,}"))
    if facts.schedule_lag_ms is not None:
        lag = facts.schedule_lag_ms
        rows.append(("sent late by", f"{format_ms(lag.p50)} p50, {format_ms(lag.p99)} p99"))
    if facts.cpu_fraction is not None:
        rows.append(("client CPU", format_percentage(facts.cpu_fraction)))
    error = facts.ttft_error_us
    rows.append(
        (
            "instrument's error",
            f"{format_duration_ns(error.p50 * 1e3)} p50, {format_duration_ns(error.p99 * 1e3)} p99"
            if error is not None
            else "not calibrated",
        )
    )
    reasons = [{"severity": reason.severity, "text": str(reason)} for reason in trust.reasons]
    return {"verdict": trust.verdict, "title": _TITLES[trust.verdict], "reasons": reasons, "facts": rows}


def _cards(report: Report) -> list[dict[str, str]]:
    cards = []
    for name in distribution_names(report):
        summary = report.summary(name)
        spread = median_interval(name, summary.p50)
        cards.append(
            _card(
                f"{short_label(name)}, median",
                median(name, summary.p50),
                unit(name),
                f"p99 {tail(name, summary.p99, summary.p50)} {unit(name)}",
                f"{spread} {unit(name)}" if spread else "",
            )
        )
    pace, met = report.evidence.throughput, report.evidence.goodput
    if pace.output_tok_s is not None and pace.requests_s is not None:
        speed = format_number(pace.output_tok_s)
        cards.append(_card("Throughput", speed, "tok/s", f"{format_number(pace.requests_s)} requests/s"))
    why = goodput_reason(report.evidence)
    if why is not None:
        cards.append(_card("Met the SLO", "-", "", why))
    elif met is not None and met.share is not None:
        rate = f"{format_number(met.requests_s or 0.0)} requests/s"
        cards.append(_card("Met the SLO", share(met.met, met.attempted), "", rate))
    jobs = report.evidence.jobs
    if jobs is not None:
        count = f"{jobs.jobs.count(JobState.OK):,} of {jobs.attempted:,} jobs"
        goal = jobs.goodput
        if goal is not None and goal.share is not None:
            rate = f"{format_number(goal.jobs_s or 0.0)} jobs/s"
            cards.append(_card("Jobs that met their SLO", share(goal.met, goal.attempted), "", rate))
        cards.append(_card("Jobs done", share(jobs.jobs.count(JobState.OK), jobs.attempted), "", count))
    count = f"{report.well:,} of {report.attempted:,} requests"
    return [*cards, _card("Succeeded", share(report.well, report.attempted), "", count)]


def _card(name: str, value: str, own_unit: str, more: str, spread: str = "") -> dict[str, str]:
    return {"name": name, "value": value, "unit": own_unit, "more": more, "spread": spread}


def _distribution(report: Report, name: str) -> dict[str, Any]:
    values, summary = report.samples(name).values, report.summary(name)
    p50, p99 = median(name, summary.p50), tail(name, summary.p99, summary.p50)
    about = f"{label(name)}: median {p50}, p99 {p99}, largest {figure(name, summary.max)} {unit(name)}"
    approximate = ", approximate as tokens per event are not known" if _approximate(report, name) else ""
    return {
        "name": name,
        "label": short_label(name),
        "definition": definition(name) + approximate,
        "n": f"{summary.n:,}",
        "what": samples_word(name),
        "beyond": beyond_words(name, values),
        "histogram_label": f"Histogram. {about}",
        "ladder_label": f"Percentiles. {about}",
    }


def definition(name: str) -> str:
    """What a metric is, as a sentence that stands alone."""
    if name == "itl_ms":
        return "Gap before each event that carries tokens, divided among its tokens"
    text = metric_info(name).definition.replace("->", "\N{RIGHTWARDS ARROW}")
    return text[:1].upper() + text[1:]


def _metric(report: Report, name: str) -> dict[str, Any]:
    summary = report.summary(name)
    own = unit(name)
    mark = ", approximate" if _approximate(report, name) else ""
    return {
        "label": f"{label(name)}{f', {own}' if own else ''}{mark}",
        "definition": definition(name),
        "n": f"{summary.n:,}",
        "mean": figure(name, summary.mean),
        "quantiles": [
            {
                "value": median(name, summary.p50)
                if quantile == "p50"
                else tail(name, getattr(summary, quantile), summary.p50),
                "interval": spread(name, getattr(summary, quantile)),
            }
            for quantile, spread in _COLUMNS
        ],
        "max": figure(name, summary.max),
    }


def _approximate(report: Report, name: str) -> bool:
    return name in report.metrics and report.metrics[name].approximate


def _outcomes(report: Report) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "n": f"{n:,}",
            "share": share(n, report.attempted),
            "width": round(100 * n / report.attempted, 2),
        }
        for name, n in report.evidence.by_outcome.items()
    ]


def _errors(report: Report) -> list[str]:
    """The most frequent messages of failed requests, with their outcomes."""
    rows = report.evidence.rows
    frame = Frame(rows)
    failed = rows.select(["outcome", "error"]).filter(pa.array(frame.measured & ~frame.well))
    said = zip(failed["outcome"].to_pylist(), failed["error"].to_pylist(), strict=True)
    counted = Counter((str(outcome), str(message)) for outcome, message in said if message)
    return [f"{n:,} {outcome}: {message}" for (outcome, message), n in counted.most_common(_MOST_ERRORS)]


def _run_facts(report: Report) -> list[tuple[str, str]]:
    manifest = report.manifest
    rows = [
        ("run", f"{manifest.id}{f', {manifest.name}' if manifest.name else ''} ({report.evidence.state})"),
        ("started", f"{manifest.started_at:%Y-%m-%d %H:%M:%S %Z}"),
        *offer_rows(manifest.workload, "offer"),
        ("endpoint", f"{manifest.endpoint}, {manifest.protocol}"),
        ("model", manifest.model),
        ("load", load_words(manifest.load)),
        ("requests", workload_words(manifest.workload, manifest.protocol)),
        ("seed", str(manifest.load.get("seed", "-"))),
        ("outcomes", outcome_words(report)),
        ("speed", speed_words(report)),
        ("goodput", goodput_words(report)),
        ("tokens", token_words(report)),
        ("cost", report.cost.words() if report.cost else ""),
        ("client", client_words(report.trust)),
    ]
    return [(name, text) for name, text in rows if text]


def _host_facts(report: Report) -> list[tuple[str, str]]:
    manifest = report.manifest
    rows = [("Paceline", manifest.version), *((name, str(value)) for name, value in manifest.host.items())]
    calibration = manifest.calibration
    if calibration is not None:
        rows.append(
            ("calibrated", f"{calibration.get('made_at', '-')}, {calibration.get('streams', '-')} streams")
        )
    return rows
