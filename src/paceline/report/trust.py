"""Whether to believe a run: a verdict, and its reasons in plain words.

Pure: from figures to a verdict. `facts.trust_facts` reads the figures from a stored run.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from paceline.report.limits import (
    BUSY_WAIT_SHARE,
    FEWEST_FOR_MEDIAN,
    FEWEST_READS_FOR_P99,
    LATE_MS,
    LATE_READ_SHARE,
    LIMITS,
    SMALLEST_LAG_MS,
)
from paceline.report.reasons import Reason, Severity, over
from paceline.report.trust_facts import TrustFacts
from paceline.report.trust_jobs import as_asked, jobs_ended
from paceline.report.words import shorten
from paceline.units import format_duration_ns, format_ms, format_number, format_percentage

VerdictName = Literal["trusted", "suspect", "invalid"]
_MOST_ERRORS = 3
_LONGEST_ERROR = 120
_WAITED_MUCH, _BUSY = 0.02, 0.5
_WELL = ("ok", "hung_up")
_RANK: dict[Severity, int] = {"note": 0, "suspect": 1, "invalid": 2}


@dataclass(frozen=True)
class Trust:
    """The verdict, and its reasons, the gravest first."""

    verdict: VerdictName
    reasons: tuple[Reason, ...]
    facts: TrustFacts

    def to_dict(self) -> dict[str, object]:
        """As in `paceline.report/1`."""
        facts = self.facts
        error = facts.ttft_error_us
        lag = facts.schedule_lag_ms
        return {
            "verdict": self.verdict,
            "reasons": [str(reason) for reason in self.reasons],
            "offered_requests_s": facts.offered_requests_s,
            "achieved_requests_s": facts.achieved_requests_s,
            "dropped": facts.dropped,
            "schedule_lag_ms": {"p50": lag.p50, "p99": lag.p99} if lag else {"p50": None, "p99": None},
            "client_cpu_fraction": facts.cpu_fraction,
            "instrument_error_us": {"p50": error.p50, "p99": error.p99} if error else None,
        }


def assess(facts: TrustFacts) -> Trust:
    """The verdict: the gravest reason decides; without any, `trusted`."""
    found = [reason for check in _CHECKS for reason in check(facts)]
    reasons = tuple(sorted(found, key=lambda reason: -_RANK[reason.severity]))
    worst: Severity = max((reason.severity for reason in reasons), key=_RANK.__getitem__, default="note")
    verdict: VerdictName = "trusted" if worst == "note" else worst
    return Trust(verdict, reasons, facts)


def _ended(facts: TrustFacts) -> Iterator[Reason]:
    of = f" of {facts.planned_requests:,}" if facts.planned_requests else ""
    n = facts.begun if facts.unit == "jobs" else facts.attempted
    if facts.state == "failed":
        yield Reason("state", "invalid", "the run failed before its end: see its notes, then measure again")
    elif facts.live:
        if facts.state != "complete":
            yield Reason("state", "note", f"the day is not over: these are the {n:,} {facts.unit} so far")
    elif facts.state in ("interrupted", "running"):
        what = "the run was interrupted" if facts.state == "interrupted" else "the run still goes on"
        rest = "compare again for the rest" if facts.of_a_pair else "`paceline runs resume` finishes it"
        yield Reason(
            "state",
            "suspect",
            f"{what}: these are {n:,}{of} {facts.unit}; {rest}"
            if facts.state == "interrupted"
            else f"{what}: these are the {n:,}{of} {facts.unit} so far",
        )


def _failures(facts: TrustFacts) -> Iterator[Reason]:
    if facts.attempted == 0:
        text = "no request was measured: run longer, or with less warm-up"
        if facts.imported:
            text = "the file holds no requests, only totals: `paceline show` has them"
        yield Reason("no_requests", "invalid", text)
        return
    if facts.well == 0:
        named = _counted(facts, {name: n for name, n in facts.by_outcome.items() if name not in _WELL})
        yield Reason("no_ok", "invalid", f"none of {facts.attempted:,} requests succeeded ({named})")
        return
    found = list(_shares_failed(facts))
    yield from found
    told = {reason.code for reason in found}
    few = {
        name: n
        for name, n in facts.by_outcome.items()
        if n
        and name not in (*_WELL, "cancelled")
        and ("timeout_share" if name == "timeout" else "failed_share") not in told
    }
    if few:
        yield Reason("few_failed", "note", f"not all succeeded: {_counted(facts, few)}")


def _shares_failed(facts: TrustFacts) -> Iterator[Reason]:
    apart = (*_WELL, "timeout", "cancelled")
    failed = {name: n for name, n in facts.by_outcome.items() if name not in apart and n}
    yield from over(
        "failed_share",
        sum(failed.values()) / facts.attempted,
        lambda value, limit: (
            f"{value} of requests failed ({_counted(facts, failed)}), more than {limit}: latencies are those "
            "of the others; lower the load or mend the endpoint"
        ),
    )
    yield from over(
        "timeout_share",
        facts.by_outcome.get("timeout", 0) / facts.attempted,
        lambda value, limit: (
            f"{value} of requests timed out{_said(facts, 'timeout', ' (mostly: {})', ' ({})')}, more than "
            f"{limit}: high percentiles are only lower bounds; raise --timeout or lower the load"
        ),
    )


def _samples(facts: TrustFacts) -> Iterator[Reason]:
    if 0 < facts.well < FEWEST_FOR_MEDIAN:
        yield Reason(
            "too_few",
            "suspect",
            f"only {facts.well} requests succeeded, and a median needs {FEWEST_FOR_MEDIAN}: run longer",
        )
    elif facts.well and facts.p99_needs_n is not None:
        yield Reason(
            "p99_unbounded",
            "note",
            f"{facts.well:,} requests do not bound the p99, which needs {facts.p99_needs_n:,}",
        )


def _load(facts: TrustFacts) -> Iterator[Reason]:
    if facts.open_loop and facts.offered_requests_s and facts.achieved_requests_s is not None:
        missed = max(0.0, 1.0 - facts.achieved_requests_s / facts.offered_requests_s)
        cause = (
            f"the cap on {facts.unit} in flight held the rest back"
            if facts.capped
            else "the client fell behind"
        )
        yield from over(
            "undelivered_share",
            # A cap is the user's own word: the load is not the one named, but what was measured is right.
            min(missed, LIMITS["undelivered_share"].invalid or 1.0) if facts.capped else missed,
            lambda _, limit: (
                f"{format_number(facts.achieved_requests_s or 0)} of the offered "
                f"{format_number(facts.offered_requests_s or 0)} {facts.unit}/s were sent, more than {limit} "
                f"short: {cause}; offer less, or raise {'the cap' if facts.capped else '--threads'}"
            ),
        )
    if facts.due:
        yield from over(
            "dropped_share",
            facts.dropped / facts.due,
            lambda value, limit: (
                f"{facts.dropped:,} {facts.unit} ({value}) were due and never sent, more than {limit}: "
                "offer less, or allow more in flight"
            ),
        )
        yield from over(
            "starved_share",
            facts.starved / facts.due,
            lambda value, limit: (
                f"{value} of requests were due before their body was made, more than {limit}: the client set "
                "the load; use shorter prompts or a lower rate"
            ),
        )


def _lateness(facts: TrustFacts) -> Iterator[Reason]:
    if facts.open_loop and not facts.capped:
        yield from over(
            "late_share",
            facts.late_share,
            lambda value, limit: (
                f"{value} of requests were sent more than {LATE_MS:g} ms late, more than {limit}: "
                f"{_starvation_words(facts)}"
            ),
        )
    lag, metric = facts.schedule_lag_ms, facts.compared_with_ms
    if lag is None or metric is None:
        return
    for quantile, lag_ms, metric_ms in (("p50", lag.p50, metric.p50), ("p99", lag.p99, metric.p99)):
        if lag_ms >= SMALLEST_LAG_MS and metric_ms > 0.0:
            reasons = list(
                over("schedule_lag_share", lag_ms / metric_ms, _lag_words(facts, quantile, lag_ms))
            )
            yield from reasons
            if reasons:
                return


def _lag_words(facts: TrustFacts, quantile: str, lag_ms: float) -> Callable[[str, str], str]:
    return lambda value, limit: (
        f"the client sent {format_ms(lag_ms)} late at {quantile}, {value} of {facts.compared_with} (limit "
        f"{limit}): {_starvation_words(facts)}"
    )


def _starved_client(facts: TrustFacts) -> Iterator[Reason]:
    waited = facts.runqueue_share or 0.0
    yield from over(
        "runqueue_share",
        waited if waited > min(facts.cpu_fraction or 0.0, BUSY_WAIT_SHARE) else None,
        lambda value, limit: (
            f"CPU starvation: the load threads waited {value} of the time for a core (limit {limit}); "
            "give the client free cores, or run it on another machine"
        ),
    )
    yield from over(
        "cpu_fraction",
        facts.cpu_fraction,
        lambda value, limit: (
            f"the load threads were busy {value} of the time (limit {limit}): use more --threads or a lower "
            "load"
        ),
    )


def _stalled_client(facts: TrustFacts) -> Iterator[Reason]:
    yield from over(
        "stalled_share",
        facts.stalled_share,
        lambda value, limit: (
            f"the client stood still for {facts.stalled_s:.3g} s, {value} of the run (limit {limit}): it was "
            "stopped, suspended or kept from its cores; measure again without that"
        ),
    )
    if facts.resent and not facts.reused:
        yield Reason("resent", "note", "the server closes the connection after each answer")
    elif facts.resent:
        yield Reason(
            "resent",
            "note",
            f"{facts.resent:,} requests went out a second time: the server closed their idle connection "
            "just as they were sent",
        )


def _imported(facts: TrustFacts) -> Iterator[Reason]:
    if facts.imported:
        yield Reason(
            "imported",
            "suspect",
            f"imported: {facts.imported} measured this, and its file does not hold {'; '.join(facts.lacks)}",
        )


def _live(facts: TrustFacts) -> Iterator[Reason]:
    if facts.live:
        yield Reason(
            "live",
            "note",
            "live traffic: prompts and their times are the clients' own, and the gateway chose which came "
            "here; offers compare only as far as their prompts are alike",
        )


def _stamps(facts: TrustFacts) -> Iterator[Reason]:
    if facts.imported:
        return
    stamped = facts.kernel_stamped_share
    if stamped is not None and stamped < 1.0:
        yield Reason(
            "user_stamps",
            "note",
            f"{format_percentage(1.0 - stamped)} of requests have no stamps by the kernel: their times "
            "include the client's own delay in reading",
        )
        for quantity, metric in (("TTFT", facts.ttft_ms), ("gap between tokens", facts.gap_ms)):
            wait_ms = facts.wait_per_read_ms
            if wait_ms is not None and metric is not None and wait_ms >= SMALLEST_LAG_MS and metric.p50 > 0.0:
                yield from over("read_lag_share", wait_ms / metric.p50, _read_words(wait_ms, quantity))
    yield from _coalescing(facts)


def _coalescing(facts: TrustFacts) -> Iterator[Reason]:
    """Events that shared a read: the client's doing where it read late, else the sender's."""
    limit = LIMITS["client_coalesced_share"]
    if facts.coalesced_share is None or limit.severity(facts.coalesced_share) is None:
        return
    quantile, late_ms = _read_late(facts)
    if quantile:
        yield from over(
            "client_coalesced_share",
            facts.coalesced_share,
            lambda value, limit: (
                f"{value} of gaps between chunks are upper bounds (limit {limit}), and the client read "
                f"{format_ms(late_ms)} late at {quantile}: "
                f"{_starvation_words(facts, 'so something else held its reads up')}"
            ),
        )
    else:
        yield Reason(
            "coalesced",
            "note",
            f"{format_percentage(facts.coalesced_share)} of gaps between chunks are upper bounds: the server "
            "or the network sent several events at once",
        )


def _read_late(facts: TrustFacts) -> tuple[str, float]:
    """The percentile at which the client read so late that events piled up before it, and how late that was.

    Empty: it did not. Typical reads tell: one that comes early against the distance of the events finds
    several only where they were sent together. The p99 counts too where it is of many reads and the client
    was short of a core, as then it may have stood still now and then, and many events came meanwhile.
    """
    lag, spacing_ms = facts.read_lag_ms, facts.event_spacing_ms or 0.0
    if lag is None:
        return "", 0.0
    if lag.p50 >= max(SMALLEST_LAG_MS, LATE_READ_SHARE * spacing_ms):
        return "p50", lag.p50
    stood_still = lag.p99 >= max(SMALLEST_LAG_MS, spacing_ms) and facts.reads >= FEWEST_READS_FOR_P99
    return ("p99", lag.p99) if stood_still and _short_of_cores(facts) else ("", 0.0)


def _read_words(wait_ms: float, quantity: str) -> Callable[[str, str], str]:
    return lambda value, limit: (
        f"CPU starvation: a read waited {format_ms(wait_ms)} for a core on average, {value} of the median "
        f"{quantity} (limit {limit}); give the client free cores"
    )


def _instrument(facts: TrustFacts) -> Iterator[Reason]:
    if not facts.calibrated and not facts.imported and not facts.live:
        yield Reason(
            "no_calibration",
            "note",
            "the instrument's error on this machine is not known: `paceline calibrate` measures it",
        )
    for quantity, error, metric in (
        ("TTFT", facts.ttft_error_us, facts.ttft_ms),
        ("gap between tokens", facts.itl_error_us, facts.gap_ms),
    ):
        if error is None or metric is None:
            continue
        found: list[Reason] = []
        for quantile, error_us, metric_ms in (("p50", error.p50, metric.p50), ("p99", error.p99, metric.p99)):
            if metric_ms > 0.0:
                share = error_us / 1000.0 / metric_ms
                found += over("instrument_error_share", share, _error_words(error_us, quantile, quantity))
        # One reason a quantity, the graver: what spoils the median spoils the p99 too.
        yield from sorted(found, key=lambda reason: -_RANK[reason.severity])[:1]


def _error_words(error_us: float, quantile: str, quantity: str) -> Callable[[str, str], str]:
    at_p50 = quantile == "p50"
    figure = f"median {quantity}" if at_p50 else f"{quantile} of the {quantity}"
    so = "too small a time for this machine" if at_p50 else "this tail may be the instrument's own"
    return lambda value, limit: (
        f"the instrument's own error, {format_duration_ns(error_us * 1000)} at {quantile}, is {value} of the "
        f"{figure} (limit {limit}): {so}"
    )


def _tokens(facts: TrustFacts) -> Iterator[Reason]:
    yield from over(
        "token_mismatch_share",
        facts.token_mismatch_share,
        lambda value, limit: (
            f"token counts disagree by {value} between the stream and the server's usage (limit {limit}): "
            "rates and times per token carry that doubt"
        ),
    )
    yield from over(
        "over_limit_share",
        facts.over_limit_share,
        lambda value, limit: (
            f"{value} of answers have more tokens by the server's usage than were allowed (limit {limit}): "
            "its counts are wrong; give a tokenizer"
        ),
    )
    if facts.tokens_approximate:
        yield Reason(
            "approximate",
            "note",
            "tokens per event are not known exactly: ITL, time per token and decode rate are approximate; "
            "a tokenizer makes them exact",
        )
    if facts.prompts_unique:
        yield from over(
            "cached_share",
            facts.cached_share,
            lambda value, limit: (
                f"the server took {value} of the prompt tokens from its cache (limit {limit}) although "
                "prompts have no common beginning: was this workload and seed run before? change --seed"
            ),
        )


def _history(facts: TrustFacts) -> Iterator[Reason]:
    for text in facts.notes:
        yield Reason("note", "note", text)


def _short_of_cores(facts: TrustFacts) -> bool:
    return (facts.runqueue_share or 0.0) > _WAITED_MUCH or (facts.cpu_fraction or 0.0) > _BUSY


def _starvation_words(
    facts: TrustFacts, otherwise: str = "so look for a slow connect or a full send buffer"
) -> str:
    """Why the client was late, as far as it is known, and what to do."""
    waited, busy = facts.runqueue_share or 0.0, facts.cpu_fraction or 0.0
    if facts.imported:
        return "why is not in the file"
    if waited > _WAITED_MUCH:
        return (
            f"CPU starvation, its threads waited {format_percentage(waited)} of the time for a core; "
            "give it free cores, or another machine"
        )
    if busy > _BUSY:
        return (
            f"its threads were busy {format_percentage(busy)} of the time; use more --threads or a lower load"
        )
    return f"its threads had cores to spare, {otherwise}"


def _counted(facts: TrustFacts, outcomes: dict[str, int]) -> str:
    """`8 connect_error: connection refused; 2 empty`: the most frequent ones with what they mostly said."""
    named = sorted(((name, n) for name, n in outcomes.items() if n), key=lambda item: -item[1])
    texts = [
        f"{n:,} {name}{_said(facts, name, ', mostly: {}', ': {}') if place < _MOST_ERRORS else ''}"
        for place, (name, n) in enumerate(named)
    ]
    return ("; " if any(name in facts.errors for name, _ in named) else ", ").join(texts) or "no outcome"


def _said(facts: TrustFacts, outcome: str, mostly: str, all_of_them: str) -> str:
    error = facts.errors.get(outcome)
    if error is None:
        return ""
    return (all_of_them if error.of_all else mostly).format(shorten(error.text, _LONGEST_ERROR))


_CHECKS: tuple[Callable[[TrustFacts], Iterator[Reason]], ...] = (
    _imported,
    _live,
    _failures,
    _stalled_client,
    _starved_client,
    _lateness,
    _load,
    _stamps,
    _instrument,
    _tokens,
    as_asked,
    _ended,
    _samples,
    jobs_ended,
    _history,
)
