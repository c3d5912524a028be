"""What a report says of jobs, the same in every format."""

from collections.abc import Sequence

from paceline.report.calls import CallOutcomes
from paceline.report.job_figures import JobFigures
from paceline.report.model import Report
from paceline.report.words import figure, median, median_interval, share, shorten
from paceline.stats.critical_path import Part
from paceline.stats.jobs import JobState
from paceline.stats.turns import TtftGroup
from paceline.units import format_bytes, format_ms, format_number, format_percentage, format_rate

PART_NAMES = {
    Part.QUEUEING: "queueing",
    Part.FIRST_TOKEN: "first token",
    Part.GENERATING: "generating",
    Part.TOOLS: "tools",
    Part.THINKING: "thinking",
}
PART_MEANINGS = {
    Part.QUEUEING: "due and not yet sent: held back by the load's limits, or connecting",
    Part.FIRST_TOKEN: "sent and waiting for the first token",
    Part.GENERATING: "from the first token to the end of the call",
    Part.TOOLS: "the time that tools take, by the workload",
    Part.THINKING: "the time that a person takes, by the workload",
}
_LONGEST_ERROR = 160
_CALL_COLUMNS = ["calls", "sent", "ok", "failed", "not sent"]
Rows = list[tuple[str, str]]


def part_name(figures: JobFigures, part: Part) -> str:
    """What a part is called: an answer that comes in one piece has no first token of its own."""
    return "answer" if part is Part.FIRST_TOKEN and not figures.streaming else PART_NAMES[part]


def part_meaning(figures: JobFigures, part: Part) -> str:
    """What a part is."""
    if part is Part.FIRST_TOKEN and not figures.streaming:
        return "sent and waiting for the answer, which comes in one piece"
    return PART_MEANINGS[part]


def job_outcome_words(figures: JobFigures) -> str:
    """`18 ok of 20, 2 failed; 4 calls failed, 31 were not sent`."""
    jobs = figures.jobs
    counts = [
        f"{jobs.count(state):,} {state.name.lower()}"
        for state in (JobState.FAILED, JobState.INTERRUPTED)
        if jobs.count(state)
    ]
    text = ", ".join([f"{jobs.count(JobState.OK):,} ok of {figures.attempted:,}", *counts])
    failed, skipped = (int(calls[jobs.measured].sum()) for calls in (jobs.failed_calls, jobs.skipped_calls))
    told = [f"{_calls(failed)} failed"] if failed else []
    if skipped:
        told.append(f"{_calls(skipped)} never sent")
    return f"{text}; {', '.join(told)}" if told else text


def _calls(n: int) -> str:
    return f"{n:,} call{'' if n == 1 else 's'}"


def job_rows(figures: JobFigures) -> Rows:
    """Names and what they say: calls and tokens of a job, goodput, a day."""
    jobs, mine = figures.jobs, figures.jobs.ok
    rows = [("Jobs", job_outcome_words(figures))]
    if mine.any():
        rows.append(("A job has", f"{_calls_words(figures)}, {job_token_words(figures)}"))
    met = figures.goodput
    if met is not None and met.share is not None:
        limits = ", ".join(f"{name}={limit:g}" for name, limit in met.limits.items())
        rate = f"{format_rate(met.jobs_s, 'jobs/s')}, " if met.jobs_s is not None else ""
        rows.append(("Job goodput", f"{rate}{share(met.met, met.attempted)} of attempted jobs met {limits}"))
    day = figures.day()
    if day is not None:
        worth = "" if day.worth_usd is None else f", worth ${format_number(day.worth_usd)}"
        rows.append(
            ("A day", f"{format_number(day.jobs)} jobs: {format_number(day.hours)} h of waiting{worth}")
        )
    return rows if len(jobs) else []


def _calls_words(figures: JobFigures) -> str:
    jobs, mine = figures.jobs, figures.jobs.ok
    calls, critical = float(jobs.calls[mine].mean()), float(jobs.critical_calls[mine].mean())
    text = f"{calls:.3g} call{'' if calls == 1 else 's'}"
    return text if critical == calls else f"{text} ({critical:.3g} one after the other)"


def job_token_words(figures: JobFigures) -> str:
    """Mean tokens of a job that ended well; or why those of its prompts are not known."""
    tokens = figures.tokens()
    parts = []
    if tokens["prompt"] is not None:
        cached = tokens["cached"]
        of_them = f" ({format_percentage(cached / tokens['prompt'])} cached)" if cached else ""
        parts.append(f"{format_number(tokens['prompt'])} tokens in{of_them}")
    elif figures.hung_up:
        parts.append("tokens in not known (calls that were hung up tell no usage)")
    else:
        parts.append("tokens in not known (not every call told its usage)")
    if tokens["cache_write"]:
        parts.append(f"{format_number(tokens['cache_write'])} written to the cache")
    reasoning = tokens["reasoning"]
    thought = (
        f" ({format_percentage(reasoning / (tokens['completion'] or 1))} reasoning)" if reasoning else ""
    )
    parts.append(f"{format_number(tokens['completion'] or 0)} tokens out{thought}")
    return ", ".join(parts)


def asked_rows(report: Report) -> Rows:
    """What was asked for exactly, against what came."""
    rows = []
    lengths, cache = report.evidence.asked_lengths, report.evidence.asked_cache
    if lengths is not None:
        exact = share(round(lengths.exact_share * lengths.n), lengths.n)
        rows.append(
            (
                "Lengths",
                f"{exact} of answers as long as asked; {lengths.asked:.4g} tokens asked and "
                f"{lengths.came:.4g} came on average",
            )
        )
    if cache is not None:
        seen = "the server does not say" if cache.seen is None else f"{format_percentage(cache.seen)} cached"
        rows.append(("Cache", f"first prompts: {format_percentage(cache.asked)} common to all asked, {seen}"))
    return rows


def hangup_rows(report: Report) -> Rows:
    """What servers did after a hang-up."""
    found = report.evidence.hangups
    if found is None:
        return []
    parts = [f"in {found.stopped:,} of {found.n:,} the server stopped"]
    if found.stop.n:
        p50 = found.stop.p50
        parts[0] += f", after {median('stop_ms', p50)} ms at the median ({median_interval('stop_ms', p50)})"
    if found.stop.n and not found.going_on:
        parts[0] += f", at most {figure('stop_ms', found.stop.max)}"
    if found.going_on:
        parts.append(f"in {found.going_on:,} not within {format_ms(found.watched_ms)}")
    if found.tail_bytes is not None:
        parts.append(f"{format_bytes(found.tail_bytes[0])} came after a hang-up on average")
    return [("Hang-ups", "; ".join(parts))]


def parts_shares(figures: JobFigures) -> list[tuple[Part, float, float]]:
    """Parts that are not nothing, in order: the part, its mean in ms, its share of a job."""
    parts = figures.parts_ms() or {}
    whole = sum(parts.values())
    return [(part, ms, ms / whole) for part, ms in parts.items() if ms > 0.0] if whole > 0.0 else []


def whole_percent(share: float) -> str:
    """`39%`; `<1%` of what is little, and not nothing."""
    return "<1%" if 0.0 < share < 0.005 else f"{100.0 * share:.0f}%"


def parts_title(figures: JobFigures) -> str:
    """What the bar of the parts is of."""
    parts = figures.parts_ms() or {}
    since = ", from when it was due" if figures.headline == "job_from_intended_ms" else ""
    return f"Where a job's time goes: {format_ms(sum(parts.values()))} on average{since}"


def groups_head(what: str) -> list[str]:
    """Columns of `group_cells`."""
    return [what, "n", "p50, ms", "95% interval", "mean", "prompt", "cached"]


def group_cells(group: TtftGroup, name: str) -> list[str]:
    """One line of a table of TTFTs."""
    return [
        name,
        f"{group.n:,}",
        median("ttft_ms", group.ttft_ms),
        median_interval("ttft_ms", group.ttft_ms),
        figure("ttft_ms", group.ttft_mean_ms),
        "-" if group.prompt_tokens is None else format_number(group.prompt_tokens),
        "-" if group.cached_share is None else format_percentage(group.cached_share),
    ]


def few(groups: Sequence[TtftGroup], most: int) -> list[TtftGroup]:
    """At most so many of a series, evenly spaced, the first and the last among them."""
    if len(groups) <= most:
        return list(groups)
    return [groups[round(place * (len(groups) - 1) / (most - 1))] for place in range(most)]


def calls_table(figures: JobFigures, most: int) -> tuple[list[str], list[list[str]]] | None:
    """How calls ended by their names: the head and lines; None where there is only one name and no failure.

    Of more than `most` names, those of which most failed or were not sent.
    """
    calls = figures.calls
    if not calls or (len(calls) == 1 and not calls[0].failed):
        return None
    kept = set(sorted(calls, key=lambda one: -(one.failed + one.not_sent))[:most])
    wrong = any(one.error for one in calls)
    lines = [
        [
            one.name,
            *(f"{n:,}" for n in (one.sent, one.ok, one.failed, one.not_sent)),
            *([_error_words(one)] if wrong else []),
        ]
        for one in calls
        if one in kept
    ]
    return [*_CALL_COLUMNS, *(["most frequent error"] if wrong else [])], lines


def _error_words(call: CallOutcomes) -> str:
    if call.error is None:
        return ""
    of_all = "" if call.error.n == call.failed else f"{call.error.n:,} of {call.failed:,}: "
    return f"{of_all}{shorten(str(call.error), _LONGEST_ERROR)}"


def turn_tables(figures: JobFigures, most: int) -> list[tuple[str, list[list[str]]]]:
    """Tables of TTFT: the head of the first column, and lines; by turn, cached share, and call."""
    turns = figures.turns
    if turns is None:
        return []
    tables = []
    if turns.by_turn:
        tables.append(
            ("turn", [group_cells(one, f"{int(one.name) + 1}") for one in few(turns.by_turn, most)])
        )
    if len(turns.by_cached_share) > 1:
        tables.append(("cached", [group_cells(one, one.name) for one in turns.by_cached_share]))
    if len(turns.by_call) > 1:
        tables.append(("call", [group_cells(one, one.name) for one in few(turns.by_call, most)]))
    return tables
