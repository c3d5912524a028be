"""A limit for the terminal: 80 columns."""

import math
from collections.abc import Callable, Sequence
from datetime import UTC
from typing import TYPE_CHECKING, get_args

from paceline.report.limit_words import (
    arithmetic_missing,
    bytes_rate,
    held_back,
    large,
    limited_by,
    operations_rate,
    share_words,
    time_words,
    tokens_words,
    what_to_do,
)
from paceline.report.lines import aligned, folded, wrapped
from paceline.report.words import median_interval, printable
from paceline.units import format_bytes, format_number, format_percentage
from paceline.weights.work import NumberKind

if TYPE_CHECKING:
    from paceline.roofline.limit import Limit
    from paceline.roofline.rates import Rates
    from paceline.roofline.reached import Reached
    from paceline.roofline.roof import Roof
    from paceline.weights.model import ModelFacts


def limit_text(limit: "Limit") -> str:
    """The model, the machine, the limits, what else is known of it, and what runs reached of them."""
    blocks = [
        _model(limit),
        _machine(limit),
        _streams(limit),
        _speculation(limit),
        _prompt(limit),
        _about_machine(limit),
        *(_run(one, limit) for one in limit.runs),
    ]
    if limit.work.experts:
        blocks.append(
            folded(
                "Experts are taken to be chosen evenly and independently by each token: where a router has "
                "favourites, a step of several tokens reads less than this says, and may be faster."
            )
        )
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _model(limit: "Limit") -> list[str]:
    work = limit.work
    kv = work.kv_read_bytes
    lines = folded(printable(_facts(limit.facts)))
    if limit.draft is not None:
        lines += folded(printable(f"Drafting for it: {_facts(limit.draft)}"))
    parts = [f"weights {format_bytes(work.token_bytes - kv)}"]
    if kv > 0:
        parts.append(f"KV in {work.key_type} {format_bytes(kv)}")
    of_head = format_percentage(work.head_operations / max(work.token_operations, 1))
    return lines + folded(
        f"A token after {work.context_tokens:,} others reads {format_bytes(work.token_bytes)} "
        f"({', '.join(parts)}) and takes {large(work.token_operations)} operations in {work.kind}, {of_head} "
        f"of them for the output head over {limit.facts.vocabulary:,} words."
    )


def _facts(facts: "ModelFacts") -> str:
    experts = f", {facts.experts_used} of {facts.experts} experts a token" if facts.experts else ""
    bits = format_number(8.0 * facts.weight_bytes / max(facts.parameters, 1))
    return (
        f"{facts.name} ({facts.architecture}), {large(facts.parameters)} parameters of {bits} bits{experts}"
    )


def _machine(limit: "Limit") -> list[str]:
    rates, kind = limit.rates, limit.work.kind
    known = rates.arithmetic_s.get(kind)
    if rates.source == "measured":
        name = f" {rates.name}" if rates.name else ""
        threads = f", {rates.threads} threads" if rates.device == "cpu" else ""
        when = f"{rates.measured_at.astimezone(UTC):%Y-%m-%d}"
        who = f"This machine's {rates.device}{name}{threads}, measured on {when}"
    else:
        who = f"The machine, as {rates.source}"
    sentence = f"{who}: reads {bytes_rate(rates.bandwidth_bytes_s)}{_spread(rates, 'read', bytes_rate)}"
    if known is not None:
        at_least = "at least " if kind in rates.at_least else ""
        spread = _spread(rates, kind, operations_rate)
        sentence += f", computes {at_least}{operations_rate(known)} in {kind}{spread}"
    texts = [f"{sentence}."]
    if rates.disturbed:
        texts.append(
            "Other work disturbed the measurement: the limits may be higher. The next call measures again."
        )
    return wrapped([printable(text) for text in texts])


def _about_machine(limit: "Limit") -> list[str]:
    """What else is known of the machine's figures, for those who doubt them: below the limits."""
    rates, kind = limit.rates, limit.work.kind
    texts = []
    ways = [f"{name} {bytes_rate(rate)}" for name, rate in rates.by_kernel.items() if name != "read"]
    if ways:
        texts.append(f"Memory otherwise: {', '.join(ways)}.")
    if rates.cache_bytes:
        texts.append(
            f"What its cache of {format_bytes(rates.cache_bytes)} may keep from step to step is taken off "
            "what has to be read."
        )
    # Those of other kinds of numbers, and of other ways through memory, have no part in the limits.
    others = {*rates.by_kernel, *get_args(NumberKind)} - {"read", kind}
    notes = [f"Note: {note}." for note in rates.notes if note.split(maxsplit=1)[0].rstrip(":") not in others]
    return wrapped([printable(text) for text in [*texts, *notes]])


def _spread(rates: "Rates", name: str, words: Callable[[float], str]) -> str:
    """How far repeats lie apart, the best being the figure."""
    if name not in rates.spread:
        return ""
    lo, best = rates.spread[name]
    return f" (repeats from {words(lo)} to {words(best)})"


def _streams(limit: "Limit") -> list[str]:
    head = ["STREAMS", "TOK/S EACH", "TOGETHER", "A STEP", "LIMITED BY"]
    asked = limit.asked.acceptance
    rows = [
        [
            f"{one.streams:,}",
            _rate(one.stream_tok_s),
            _rate(one.together_tok_s),
            _step(one),
            limited_by(one.spent),
        ]
        for one in limit.streams
    ]
    if limit.speculated:
        head += ["DRAFTED", "TOK/S EACH"]
        rows = [
            [*row, str(one.drafted), _rate(one.stream_tok_s)]
            for row, one in zip(rows, limit.speculated, strict=True)
        ]
    lines = ["At most, and never more:", "", *_table(head, rows)]
    if limit.speculated and asked is not None:
        lines += ["", *folded(f"The last two columns: with drafts of which {_share(asked)} are accepted.")]
    if limit.ridge is not None and limit.ridge > 1:
        lines += ["", *folded(f"From {limit.ridge:,} streams on arithmetic limits, not the memory.")]
    elif limit.ridge is None and limit.arithmetic_known and limit.streams[0].spent.bound == "memory":
        lines += ["", *folded("However many streams: at this context the memory limits, for the sake of KV.")]
    if not limit.arithmetic_known:
        lines += ["", *folded(arithmetic_missing(limit))]
    return lines


def _speculation(limit: "Limit") -> list[str]:
    if not limit.speculation:
        return []
    plain = limit.streams[0] if limit.streams[0].streams == 1 else None
    rows = [
        [
            _share(one.acceptance or 0.0),
            str(one.drafted),
            format_number(one.tokens_a_step),
            _rate(one.stream_tok_s),
            limited_by(one.spent),
        ]
        for one in limit.speculation
    ]
    head = ["ACCEPTED", "DRAFTED", "TOKENS A STEP", "TOK/S", "LIMITED BY"]
    if plain is not None and math.isfinite(plain.stream_tok_s):
        head.insert(4, "TIMES")
        for row, one in zip(rows, limit.speculation, strict=True):
            row.insert(4, format_number(one.stream_tok_s / plain.stream_tok_s))
    who = "a drafting model" if limit.draft is not None else "drafts that cost nothing (n-grams)"
    length = "the length that gives most" if limit.asked.drafted is None else "the length that was asked for"
    lead = folded(f"One stream with speculation, at most: {who}, of {length}.")
    return [*lead, "", *_table(head, rows)]


def _prompt(limit: "Limit") -> list[str]:
    one = limit.prompt
    if one.spent.seconds <= 0.0:
        return []
    rate = f" ({format_number(one.prompt_tok_s)} tok/s)" if limit.arithmetic_known else ""
    return folded(
        f"A prompt of {one.prompt_tokens:,} tokens, none of them from a cache: TTFT no less than "
        f"{time_words(one.ttft_s)}{rate}, limited by {limited_by(one.spent)}."
    )


def _run(one: "Reached", limit: "Limit") -> list[str]:
    run, decode = one.observed, one.observed.decode_tok_s
    streams = "one stream" if run.streams == 1 else f"{run.streams:,} streams at once"
    interval = median_interval("output_tok_s", decode)
    spoken = f"{format_number(decode.value)} tok/s" + (f" ({interval})" if interval else "")
    lines = folded(
        printable(
            f"Run {run.run_id}: {spoken}, {streams}, about {run.context_tokens:,} tokens of context, "
            f"{decode.n:,} answers"
        )
    )
    told = tokens_words(one)
    of_arithmetic = "-" if one.of_arithmetic is None else share_words(one.of_arithmetic)
    rows = [
        ["of its limit", share_words(one.of_limit)],
        ["of the bandwidth (MBU)", f"{share_words(one.of_bandwidth)}, {bytes_rate(one.moved_bytes_s)}"],
        ["of the arithmetic", of_arithmetic],
    ]
    if one.prompt is not None and run.ttft_ms is not None and one.prompt.spent.seconds > 0.0:
        least = f"at least {time_words(one.prompt.ttft_s)} for {one.prompt.prompt_tokens:,} tokens"
        rows.append(["TTFT", f"{time_words(run.ttft_ms.value / 1e3)}, {least}"])
    wide = max(len(row[0]) for row in rows)
    lines += [f"  {name.ljust(wide)}  {text}" for name, text in rows]
    texts = [f"{told[:1].upper()}{told[1:]}." if told else "", held_back(one, limit), what_to_do(one, limit)]
    if limit.rates.disturbed:
        texts.append(
            "Other work disturbed the machine's measurement, so that true shares are lower than these."
        )
    return [*lines, *(line for text in texts if text for line in folded(text, 78, "  ", "  "))]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Numbers to the right, words (the column LIMITED BY) to the left."""
    return aligned([head, *rows], (head.index("LIMITED BY"),))


def _rate(tok_s: float) -> str:
    return format_number(tok_s) if math.isfinite(tok_s) else "unknown"


def _step(one: "Roof") -> str:
    return time_words(one.spent.seconds) if one.spent.seconds > 0.0 else "-"


def _share(value: float) -> str:
    return "all" if value == 1.0 else f"{100.0 * value:g}%"
