"""What is said of a limit in sentences: what a run was held back by, and what to do about it."""

from typing import TYPE_CHECKING

from paceline.units import format_duration_ns, format_number, format_percentage, format_rate

if TYPE_CHECKING:
    from paceline.roofline.limit import Limit
    from paceline.roofline.reached import Reached, Share
    from paceline.roofline.roof import Spent

# A server's count of drafts is worth a word from this share of tokens on that came by them.
_WORTH_A_WORD = 1.005


def operations_rate(per_second: float) -> str:
    """`812 Gop/s`, `1.24 Top/s`; an operation is a multiplication or an addition."""
    for size, unit in ((1e12, "Top/s"), (1e9, "Gop/s"), (1e6, "Mop/s")):
        if per_second >= size:
            return format_rate(per_second / size, unit)
    return format_rate(per_second, "op/s")


def bytes_rate(per_second: float) -> str:
    """`25.3 GB/s`, `3.35 TB/s`, in powers of ten as vendors state it."""
    for size, unit in ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s")):
        if per_second >= size:
            return format_rate(per_second / size, unit)
    return format_rate(per_second, "B/s")


def large(count: float) -> str:
    """`268 M`, `7.24 G`: parameters and operations."""
    for size, unit in ((1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")):
        if count >= size:
            return f"{format_number(count / size)}{unit}"
    return format_number(count)


def time_words(seconds: float) -> str:
    """`9.51 ms`."""
    return format_duration_ns(seconds * 1e9)


def share_words(share: "Share") -> str:
    """`54% (53% to 55%)`; without the interval where it is open."""
    if share.lo is None or share.hi is None:
        return f"{format_percentage(share.value)} (too few answers for an interval)"
    return (
        f"{format_percentage(share.value)} ({format_percentage(share.lo)} to {format_percentage(share.hi)})"
    )


def limited_by(spent: "Spent") -> str:
    """What a step takes longest for."""
    if spent.seconds <= 0.0:
        return "unknown"
    return spent.bound if spent.arithmetic_s is not None else "memory alone"


def arithmetic_missing(limit: "Limit") -> str:
    """Why there is no arithmetic roof, and what to do."""
    kind, rates = limit.work.kind, limit.rates
    how = "is not known"
    if kind in rates.at_least:
        how = f"is {operations_rate(rates.arithmetic_s[kind])} or more, by how much is not known"
    return (
        f"The machine's arithmetic rate in {kind} {how}: these limits are those of the memory alone, and "
        "the best length of a draft cannot be told. State the rate (--bandwidth with --arithmetic), or the "
        "length (--draft-tokens)."
    )


def held_back(one: "Reached", limit: "Limit") -> str:
    """What held a run back, by its figures."""
    spent, took = one.spent, time_words(1.0 / one.steps_s)
    if one.holds == "memory":
        return (
            f"Held back by: the memory. To read what a step needs takes {time_words(spent.memory_s)} of its "
            f"{took} at the bandwidth that was measured."
        )
    if one.holds == "arithmetic":
        return (
            "Held back by: arithmetic. The operations of a step take "
            f"{time_words(spent.arithmetic_s or 0.0)} of its {took} at the rate that was measured."
        )
    if one.holds == "beyond":
        return (
            "It is above its limit, so that something is not as stated: the run was on another machine or of "
            "another model, the machine was busy as it was measured (--again measures anew), or steps gave "
            "several tokens and nobody said so."
        )
    token = f" ({format_duration_ns(one.gap_s / one.tokens_a_step * 1e9)} a token)" if one.speculates else ""
    return (
        f"Held back by: neither memory nor arithmetic. A step took {took}, of which the machine's limits "
        f"explain {time_words(spent.seconds)}; {time_words(one.gap_s)}{token} is the engine's own: kernels "
        f"below the machine's best, sampling over {limit.facts.vocabulary:,} words, scheduling, threads."
    )


def what_to_do(one: "Reached", limit: "Limit") -> str:
    """One sentence."""
    more = _more_streams(one, limit)
    if one.holds == "memory":
        ways = "fewer bytes a token (a smaller quantisation, a smaller KV type)"
        ways += "" if one.speculates else ", several tokens a step (speculation)"
        return f"What is left: {ways}{more}."
    if one.holds == "arithmetic":
        return "What is left: fewer operations a token: a smaller model, or shorter drafts."
    if one.holds == "beyond":
        return "Measure the machine when it is quiet, and the run again on it."
    gain = f"{format_number(1.0 / one.of_limit.value)} times"
    return (
        f"What is left: up to {gain} by the engine's settings, if its kernels were perfect; `paceline tune` "
        f"looks for them{more}."
    )


def _more_streams(one: "Reached", limit: "Limit") -> str:
    """What a larger batch would give, where the machine has room for it."""
    streams = one.observed.streams
    if limit.ridge is None or streams >= limit.ridge or one.spent.bound != "memory":
        return ""
    return f"; and more streams at once, which read the weights once for all: up to {limit.ridge:,} here"


def tokens_words(one: "Reached") -> str:
    """Tokens of a step, and who says so; nothing where it is one."""
    drafts = one.observed.drafts
    if one.tokens_by == "server" and drafts is not None and drafts.drafted:
        of = f"{format_number(one.tokens_a_step)} tokens a step"
        kept = f"{drafts.accepted:,} of {drafts.drafted:,} drafted accepted"
        return f"{of}, by the server's own figures ({kept})"
    if one.tokens_by == "gaps" and one.tokens_a_step > _WORTH_A_WORD:
        return (
            f"at least {format_number(one.tokens_a_step)} tokens a step, told by tokens that came closer "
            "together than two steps can"
        )
    return ""
