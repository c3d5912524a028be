"""How an offer feels, in words: for the terminal, and as `paceline.instant/1`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from paceline.catalogue.thresholds import Threshold, thresholds
from paceline.report.figures import clean, json_text, offer_dict
from paceline.report.lines import WIDTH, folded
from paceline.report.words import printable

if TYPE_CHECKING:
    from paceline.advisor.evidence import OfferEvidence
    from paceline.advisor.instant import InstantVerdict
    from paceline.stats.quantiles import Estimate

SCHEMA = "paceline.instant/1"
# More requests than these nobody sends to settle how something feels.
_NEVER = 100_000
_SAID = {
    "noticeable": "a pause is noticed",
    "not enough data": "not enough data",
}


def verdict_words(verdict: "InstantVerdict") -> str:
    """One mode's verdict as sentences, without the mode's name."""
    grade, time, mode = verdict.grade, verdict.usable_ms, verdict.mode
    if time is None:
        return "No request ended well, so there is nothing to feel."
    what = {None: "The answer is whole", 1: "The answer begins"}.get(
        mode.usable_tokens, f"The first {mode.usable_tokens} tokens are there"
    )
    sentences = [f"{_SAID.get(grade, grade).capitalize()}.", f"{what} within {_range(time)} in 95 of 100."]
    limit = thresholds()[verdict.limit] if verdict.limit else None
    if limit is not None:
        within = f"{verdict.within:,} of {verdict.n:,}"
        sentences.append(f"{within} came within {seconds(limit.value)}: {limit.text}.")
    if grade == "not enough data":
        sentences.append(_missing(verdict.needs_more))
    elif verdict.maybe is not None:
        sentences.append(f"It may be {verdict.maybe}: more requests would tell.")
    if verdict.pace_share is not None and verdict.pace_times is not None:
        pace = f"{verdict.pace_times:.3g} times the pace of {mode.pace}"
        slow = round(100.0 * (1.0 - verdict.pace_share))
        sentences.append(
            f"Text comes at {pace}." if not slow else f"Text comes at {pace}; {slow} of 100 fall behind."
        )
    if verdict.stall_ms is not None:
        sentences.append(f"The longest gap is up to {seconds(verdict.stall_ms.value)} in 95 of 100.")
    return " ".join(sentences)


def seconds(ms: float) -> str:
    """A time in words: `85 ms`, `1.2 s`."""
    return f"{ms:.3g} ms" if ms < 999.5 else f"{ms / 1000.0:.3g} s"


def instant_text(found: "Sequence[tuple[OfferEvidence, Sequence[InstantVerdict]]]") -> str:
    """Each offer's verdicts, in lines of 80 columns, and where the limits are from."""
    lines: list[str] = []
    used: dict[str, Threshold] = {}
    for evidence, verdicts in found:
        n = len(evidence.columns["outcome"])
        head = f"{evidence.key}, {evidence.workload}, {evidence.load}: {n:,} requests of {_runs(evidence)}"
        lines += [*folded(printable(head)), ""]
        for verdict in verdicts:
            lines += folded(verdict_words(verdict), WIDTH, f"{verdict.mode.name:7} ", " " * 8)
            for name in (*(name for _, name in verdict.mode.limits), verdict.mode.pace):
                if name is not None:
                    used[name] = thresholds()[name]
        lines.append("")
    if used:
        lines.append("Limits, and where they are from:")
        for one in used.values():
            value = seconds(one.value) if one.unit == "ms" else f"{one.value:g} {one.unit}"
            lines += folded(f"{value}: {one.text} ({one.source})", WIDTH, "  ", "    ")
    return "\n".join(lines).rstrip() + "\n"


def instant_json(found: "Sequence[tuple[OfferEvidence, Sequence[InstantVerdict]]]") -> str:
    """`paceline.instant/1` (docs/guides/instant.md)."""
    offers = [
        {
            **offer_dict(evidence.key),
            "workload": evidence.workload,
            "load": evidence.load,
            "runs": [one.run_id for one in evidence.digests],
            "verdicts": [_verdict_dict(verdict) for verdict in verdicts],
        }
        for evidence, verdicts in found
    ]
    document = {"schema": SCHEMA, "offers": clean(offers)}
    return json_text(document)


def _verdict_dict(verdict: "InstantVerdict") -> dict[str, Any]:
    limit = thresholds()[verdict.limit] if verdict.limit else None
    return {
        "mode": verdict.mode.name,
        "grade": verdict.grade,
        "usable_p95_ms": verdict.usable_ms.to_dict() if verdict.usable_ms else None,
        "limit": {"name": limit.name, "ms": limit.value, "source": limit.source} if limit else None,
        "within": verdict.within,
        "n": verdict.n,
        "maybe": verdict.maybe,
        "pace_share": verdict.pace_share,
        "pace_times": verdict.pace_times,
        "stall_p95_ms": verdict.stall_ms.to_dict() if verdict.stall_ms else None,
        "needs_more": verdict.needs_more,
        "text": verdict_words(verdict),
    }


def _missing(needs_more: int | None) -> str:
    if needs_more is None or needs_more > _NEVER:
        return "Too close to the limit to call."
    return f"{needs_more:,} more requests may settle it."


def _range(time: "Estimate") -> str:
    value = f"{'' if time.known else 'more than '}{seconds(time.value)}"
    return f"{value} ({seconds(time.lo)} to {seconds(time.hi)})" if time.lo and time.hi else f"about {value}"


def _runs(evidence: "OfferEvidence") -> str:
    ids = [one.run_id for one in evidence.digests]
    return f"run {ids[0]}" if len(ids) == 1 else f"{len(ids)} runs"
