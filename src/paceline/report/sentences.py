"""What a report says in words, the same in every format."""

from paceline.report.figures import QUANTILES
from paceline.report.model import MetricReport, Report, goodput_reason, tokens_approximate
from paceline.report.trust import Trust
from paceline.report.words import (
    bound,
    figure,
    label,
    median,
    median_interval,
    samples_word,
    sentence_list,
    share,
    unit,
)
from paceline.units import format_duration_ns, format_ms, format_number, format_percentage, format_rate

DUE_NOTE = "TTFT and E2E count from when a request was due, whether it was sent late or not."
_MARKS = {
    "?": "? an end that is not bounded",
    ">": ">= only a lower bound",
    "~": "~ not bounded on either side",
}


def outcome_words(report: Report) -> str:
    """`390 ok of 400, 8 timeout, 2 truncated`."""
    others = [f"{n:,} {name}" for name, n in report.evidence.by_outcome.items() if name != "ok"]
    return ", ".join([f"{report.ok:,} ok of {report.attempted:,}", *others])


def short_label(name: str) -> str:
    """A metric's label without `from due`: under an open loop a footnote says it once."""
    return label(name).removesuffix(", from due").removesuffix(" from due")


def due_notes(report: Report) -> list[str]:
    """From where latencies count, under an open loop."""
    return [DUE_NOTE] if report.evidence.open_loop else []


def shortage_notes(report: Report, names: list[str]) -> list[str]:
    """What `?`, `>=` and `~` mean, where used, and how many samples it takes to do without them."""
    summaries = {name: report.summary(name) for name in names}
    tails = [bound(name, getattr(one, tail)) for name, one in summaries.items() for tail in QUANTILES[1:]]
    medians = [f"{median(name, one.p50)} {median_interval(name, one.p50)}" for name, one in summaries.items()]
    said = " ".join([*tails, *medians])
    meanings = [words for mark, words in _MARKS.items() if mark in said]
    parts = []
    for quantile in QUANTILES:
        open_ones = {name: getattr(one, quantile) for name, one in summaries.items()}
        open_ones = {name: estimate for name, estimate in open_ones.items() if not estimate.enough}
        needs: dict[str, list[int]] = {}
        for name, estimate in open_ones.items():
            if estimate.needs_n is not None:
                needs.setdefault(samples_word(name), []).append(estimate.needs_n)
        if needs:
            parts.append(f"{quantile} needs {sentence_list([_span(n, what) for what, n in needs.items()])}")
        elif open_ones:
            parts.append(f"{quantile} is hidden by timeouts")
    return [f"{', '.join(meanings)}; n too small: {'; '.join(parts)}"] if meanings and parts else []


def _span(needed: list[int], what: str) -> str:
    """`112 to 121 requests`."""
    upto = f" to {max(needed):,}" if max(needed) > min(needed) else ""
    return f"{min(needed):,}{upto} {what}"


def table_metrics(report: Report, names: list[str]) -> list[str]:
    """The metrics of a table of latencies: a job's time before `names`."""
    return [*([report.job_metric] if report.job_metric else []), *names]


def speed_words(report: Report) -> str:
    """Throughput over the steady window, and how long that was."""
    pace, jobs = report.evidence.throughput, report.evidence.jobs
    if pace.output_tok_s is None or pace.requests_s is None:
        return "too short to tell"
    rates = [format_rate(pace.output_tok_s), format_rate(pace.requests_s, "requests/s")]
    if is_embedding(report) and pace.prompt_tok_s is not None:
        rates[0] = format_rate(pace.prompt_tok_s, "prompt tok/s")
    # Where a job is one request it would be the same rate twice.
    if jobs is not None and jobs.jobs_s is not None and jobs.jobs.several_calls:
        rates.append(format_rate(jobs.jobs_s, "jobs/s"))
    text = ", ".join(rates)
    if report.failed_tokens:
        text = f"{text}, with the tokens of requests that did not succeed"
    if not pace.steady:
        why = "as the other side" if pace.at_will else "no steady part"
        return f"{text}, over all {_seconds(pace.whole_seconds)}: {why}"
    return f"{text}, over the steady {_seconds(pace.seconds)} of {_seconds(pace.whole_seconds)}"


def is_embedding(report: Report) -> bool:
    """Whether the run is of embeddings, which are no tokens."""
    return report.manifest.protocol == "openai-embeddings"


def rate_words(name: str, metric: MetricReport, reading_tok_s: float) -> str:
    """A metric of which more is better: the median, its interval, and the mean."""
    p50 = metric.summary.p50
    ends = median_interval(name, p50)
    spread = f" ({ends})" if ends else ""
    mean = figure(name, metric.summary.mean)
    if name == "fluidity":
        return f"{mean}% of tokens in time for a reader at {reading_tok_s:g} tok/s"
    return f"{median(name, p50)}{spread} {unit(name)} at the median request, mean {mean}"


def goodput_words(report: Report) -> str:
    """Goodput and the limits it is about; empty without limits."""
    met, why = report.evidence.goodput, goodput_reason(report.evidence)
    if why is not None:
        return f"not known: {why}"
    if met is None or met.share is None:
        return ""
    limits = ", ".join(f"{name}={limit:g}" for name, limit in (report.manifest.slo or {}).items())
    rate = f"{format_rate(met.requests_s, 'requests/s')}, " if met.requests_s is not None else ""
    return f"{rate}{share(met.met, met.attempted)} of attempted requests met {limits}"


def token_words(report: Report) -> str:
    """Tokens by source, and how far the sources disagree; `speed_words` counts the same requests."""
    tokens = report.evidence.tokens
    source = f"{tokens.source}, approximate" if tokens_approximate(report.evidence) else tokens.source
    parts = [] if is_embedding(report) else [f"{report.generated_tokens:,} generated ({source})"]
    if report.failed_tokens:
        all_of_them = report.failed_tokens == report.generated_tokens
        n = "all" if all_of_them else f"{report.failed_tokens:,}"
        parts.append(f"{n} of them in requests that did not succeed")
    if tokens.completion is not None and tokens.mismatched_requests:
        in_ok = " in those that did" if report.failed_tokens else ""
        parts.append(f"{tokens.completion:,} by the server's usage{in_ok}")
    if tokens.reasoning:
        parts.append(f"{tokens.reasoning:,} of them reasoning")
    if tokens.prompt is not None:
        cached = f", {tokens.cached:,} of them cached" if tokens.cached else ""
        parts.append(f"{tokens.prompt:,} in prompts by the server's count{cached}")
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
            f"offered {facts.unit}/s sent"
        )
    return ", ".join(parts) or "not recorded"


def _seconds(seconds: float) -> str:
    return format_duration_ns(seconds * 1e9)
