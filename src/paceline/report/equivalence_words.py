"""How the equivalence of two endpoints is said: cells of tables, sentences, examples."""

import json
import math
from typing import TYPE_CHECKING

from paceline.report.sentences import short_label
from paceline.report.words import printable, shorten
from paceline.stats.compare import Comparison, Interval
from paceline.units import format_number

if TYPE_CHECKING:
    from paceline.advisor.answer_pairs import Divergence, Example
    from paceline.advisor.answer_sides import SideFacts
    from paceline.advisor.equivalence import Equivalence

TITLES = {"same": "same", "different": "different", "not enough data": "not enough data"}
PAIRS = {"a": "A with A", "b": "B with B", "ab": "A with B"}
_LONGEST_EXTRA = 60
_BEFORE = 50


def title(found: "Equivalence") -> str:
    """The verdict: `SAME`, `DIFFERENT`, `NOT ENOUGH DATA (needs 40 more prompts)`."""
    head = found.verdict.upper()
    return head if found.needs_more is None else f"{head} (needs about {found.needs_more:,} more prompts)"


def side_name(side: "SideFacts") -> str:
    """Which endpoint a side is: name of the run, model, URL, and what its bodies say beside."""
    extra = ""
    if side.extra:
        extra = f", {shorten(json.dumps(side.extra, ensure_ascii=False), _LONGEST_EXTRA)}"
    return printable(f"{side.name or side.run_id}: {side.model} at {side.endpoint}{extra}")


def speed_sentence(found: "Equivalence") -> str:
    """`Same answers; B's decode rate is 2.40 times A's (2.31 to 2.48).`, or nothing without a figure."""
    parts = [said for one in found.speed if (said := _speed_part(one))]
    if not parts:
        return ""
    answers = {
        "same": "Same answers",
        "different": "Other answers",
        "not enough data": "Whether the answers are the same is open",
    }[found.verdict]
    return f"{answers}; B's {' and '.join(parts)}."


def _speed_part(one: Comparison) -> str:
    ratio = one.ratio
    if one.metric == "e2e_ms" or ratio.lo is None or ratio.hi is None or not math.isfinite(ratio.value):
        return ""
    name = short_label(one.metric) if one.metric == "ttft_ms" else "decode rate"
    return f"{name} is {_times(ratio.value)} times A's ({_times(ratio.lo)} to {_times(ratio.hi)})"


def _times(value: float) -> str:
    return f"{value:.2f}" if value < 10.0 else format_number(value)


def agreement_rows(found: "Equivalence") -> list[list[str]]:
    """Lines of the table of agreement: what, A with A, B with B, A with B."""
    rows = [
        ["Same text", *(share_cell(getattr(found.texts, side)) for side in PAIRS)],
        ["Alike from the start", *(share_cell(getattr(found.beginnings, side)) for side in PAIRS)],
    ]
    parts = [found.divergence[side] for side in PAIRS]
    rows.append([f"First difference, {found.unit}", *(_place(one) for one in parts)])
    shares = [_place_share(one) for one in parts]
    return [*rows, ["  of the answer", *shares]] if any(shares) else rows


def share_cell(one: Interval) -> str:
    """`98% (91 to 100)`; `-` where it is not known."""
    if one.lo is None or one.hi is None:
        return "-"
    return f"{_whole(one.value)}% ({_whole(one.lo)} to {_whole(one.hi)})"


def _whole(share: float) -> str:
    """Never 0 or 100 of what is not none or all."""
    percent = 100.0 * share
    if 0.0 < percent < 1.0 or 99.0 < percent < 100.0:
        return f"{percent:.1f}"
    return f"{percent:.0f}"


def _place(one: "Divergence") -> str:
    if math.isnan(one.pieces_p50):
        return "none" if one.pairs else "-"
    return f"{one.pieces_p50:.0f} (p10 {one.pieces_p10:.0f})"


def _place_share(one: "Divergence") -> str:
    return "" if math.isnan(one.share_p50) else f"{100 * one.share_p50:.0f}% (p10 {100 * one.share_p10:.0f}%)"


def side_rows(found: "Equivalence") -> list[list[str]]:
    """Lines of the table of both sides: what, A, B; without lines that say nothing of either."""
    a, b = found.a, found.b
    rows = [
        ["Answered", *(f"{one.by_kind['answered']:,} of {one.attempted:,}" for one in (a, b))],
        *(
            [name.capitalize(), *(f"{one.by_kind[name]:,}" for one in (a, b))]
            for name in ("empty", "refused")
        ),
        ["Failed", *(_failed(one) for one in (a, b))],
        ["Ended by", *(_counted(one.by_finish) for one in (a, b))],
        ["Words, mean", *(_mean(one.words) for one in (a, b))],
        ["Tokens, mean", *(_mean(one.completion_tokens) for one in (a, b))],
        ["Reasoning, mean", *(_mean(one.reasoning_tokens) for one in (a, b))],
        ["Calls itself", *(shorten(printable(", ".join(one.server_models)), 30) or "-" for one in (a, b))],
    ]
    if found.scores is not None:
        rows.append(["Solved", share_cell(found.scores.a), share_cell(found.scores.b)])
    return [row for row in rows if set(row[1:]) - {"0", "-"}]


def _failed(side: "SideFacts") -> str:
    n = side.by_kind["failed"]
    return f"{n:,}: {_counted(side.by_failure)}" if n else "0"


def _counted(counts: object) -> str:
    assert isinstance(counts, dict)
    return ", ".join(f"{printable(str(name))} {n:,}" for name, n in counts.items()) or "-"


def _mean(value: float | None) -> str:
    return "-" if value is None else format_number(value)


def limits_words(found: "Equivalence") -> list[str]:
    """What the verdict shows and what it does not."""
    said = []
    seen = found.texts.seen
    if seen is not None:
        said.append(
            f"With {found.compared:,} prompts, a loss of {100 * seen:.0f}% of what a side repeats would have "
            "been found four times in five."
        )
    elif found.compared and not found.once:
        said.append(
            f"So few repeated answers ({found.compared:,} prompts) could not have shown a difference."
        )
    if found.verdict == "different":
        said.append(
            "Other answers show another model, other weights or other arithmetic (quantisation, kernels, "
            "hardware): texts cannot tell these apart. Whether it is worse is for scores to say."
        )
    elif found.verdict == "same":
        said.append(
            "The same answers to these prompts do not show the same answers to all: longer prompts and rarer "
            "tasks may differ."
        )
    said.append("Speed is of each prompt's first request: a later one may find its prompt in a cache.")
    return said


def example_parts(text: str, at: int, most: int = 220) -> tuple[str, str]:
    """A text around a place, on one line: the end of what comes before, and what comes after."""
    before = " ".join(text[max(at - _BEFORE, 0) : at].split(" "))
    head = "..." if at > _BEFORE else ""
    after = text[at : at + most]
    tail = "..." if len(text) > at + most else ""
    return printable(f"{head}{before}"), printable(f"{after}{tail}")


def example_title(example: "Example", found: "Equivalence") -> str:
    """Which prompt an example is of."""
    again = "" if found.once else ": each side twice so" if example.repeated else ": one side not always so"
    return f"Prompt {example.prompt_sha256[:8]}{again}"


def prompt_words(example: "Example", most: int = 240) -> str:
    """The end of the prompt, where what is asked mostly stands; nothing where it is not known."""
    if example.prompt is None:
        return ""
    text = printable(" ".join(example.prompt.split()))
    return text if len(text) <= most else f"...{text[-most:]}"
