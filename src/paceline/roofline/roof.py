"""The most tokens a second that a model can have on a machine: a limit, and never a prediction.

A step of an engine reads the weights that it touches and the KV of each stream once, and computes. With
perfect overlap it takes no less than the longer of bytes / bandwidth and operations / arithmetic (the
roofline of Williams, Waterman and Patterson, CACM 2009). What the last level of cache holds from one step to
the next need not be read anew, so that much is taken off the bytes.

Speculation: a step verifies d drafted tokens and gives one of its own. Where each drafted token is accepted
with probability a, whatever came before, a step gives (1 - a^(d+1)) / (1 - a) tokens on average (Leviathan,
Kalman and Matias 2023, arXiv 2211.17192, equation 1), and computes d + 1 positions, the output head at each.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from paceline.roofline.rates import Rates
    from paceline.weights.work import Work

Bound = Literal["memory", "arithmetic"]
ACCEPTANCES = (0.5, 0.7, 0.8, 0.9, 0.95, 1.0)
"""What a table of speculation is over; 1.0: all drafted tokens are accepted."""
MOST_DRAFTED = 1_024
"""Longer drafts are not looked at."""
MOST_STREAMS = 1 << 20
"""Beyond these no ridge is looked for."""
# The shortest draft that gives all but this of the best: where arithmetic limits, a longer one gains nothing.
_AS_GOOD = 1e-3
# Attention grows with what came before a token: a prompt's is summed at so many places, evenly spaced.
_PLACES = 64


@dataclass(frozen=True, slots=True)
class Spent:
    """What some work takes at best. bytes: that the memory has to give, without what the cache may hold.

    memory_s, arithmetic_s: what each takes alone; the latter None where the machine's rate for the model's
    kind of numbers is not known.
    """

    bytes: float
    operations: float
    memory_s: float
    arithmetic_s: float | None

    @property
    def seconds(self) -> float:
        """The least that it takes, as far as is known; 0.0 where nothing is."""
        return max(self.memory_s, self.arithmetic_s or 0.0)

    @property
    def bound(self) -> Bound:
        """What takes longer."""
        return "arithmetic" if (self.arithmetic_s or 0.0) > self.memory_s else "memory"


@dataclass(frozen=True, slots=True)
class Roof:
    """The most that streams can have.

    spent: of one step of all streams. drafted: tokens that each stream's step verifies beside its own; 0: no
    speculation. acceptance: None without. tokens_a_step: of one stream, on average.
    """

    streams: int
    drafted: int
    acceptance: float | None
    tokens_a_step: float
    spent: Spent

    @property
    def stream_tok_s(self) -> float:
        """Of one stream; infinite where nothing is known that limits it."""
        return self.tokens_a_step / self.spent.seconds if self.spent.seconds > 0.0 else math.inf

    @property
    def together_tok_s(self) -> float:
        """Of all streams."""
        return self.streams * self.stream_tok_s


@dataclass(frozen=True, slots=True)
class PromptRoof:
    """The least that reading a prompt takes of which no cache holds anything. spent: of all its tokens."""

    prompt_tokens: int
    spent: Spent

    @property
    def ttft_s(self) -> float:
        """The least time to the first token."""
        return self.spent.seconds

    @property
    def prompt_tok_s(self) -> float:
        """The most prompt tokens a second, of one prompt by itself."""
        return self.prompt_tokens / self.spent.seconds if self.spent.seconds > 0.0 else math.inf


def roof(
    work: "Work",
    rates: "Rates",
    *,
    streams: int = 1,
    acceptance: float | None = None,
    draft_tokens: int = 0,
    draft: "Work | None" = None,
) -> Roof:
    """The most tok/s of so many streams in one batch.

    acceptance: of each drafted token, 0 to 1; needed where any are drafted. draft: of a model that drafts,
    one step a token, on the same machine; None: drafts cost nothing (n-grams). Raises ValueError for numbers
    that cannot be.
    """
    if streams < 1 or draft_tokens < 0:
        raise ValueError(f"{streams} streams with {draft_tokens} drafted tokens cannot be")
    if draft_tokens and acceptance is None:
        raise ValueError("drafts without an acceptance")
    tokens = 1.0 if acceptance is None else expected_tokens(acceptance, draft_tokens)
    moved = work.step_bytes(draft_tokens + 1, streams)
    operations = float(work.step_operations(draft_tokens + 1, streams))
    if draft is not None and draft_tokens:
        moved += draft_tokens * draft.step_bytes(1, streams)
        operations += draft_tokens * draft.step_operations(1, streams)
    spent = spent_on(moved, operations, work.kind, rates)
    return Roof(streams, draft_tokens, acceptance, tokens, spent)


def best_roof(
    work: "Work",
    rates: "Rates",
    *,
    acceptance: float,
    streams: int = 1,
    draft: "Work | None" = None,
    most_drafted: int = MOST_DRAFTED,
) -> Roof | None:
    """The roof at the length of draft that gives most; of those as good, the shortest.

    None where the arithmetic rate is not known: nothing then says when a draft is too long.
    """
    if limiting_rate(rates, work.kind) is None:
        return None
    found = [
        roof(work, rates, streams=streams, acceptance=acceptance, draft_tokens=drafted, draft=draft)
        for drafted in range(most_drafted + 1)
    ]
    best = max(one.stream_tok_s for one in found)
    return next(one for one in found if one.stream_tok_s >= best * (1.0 - _AS_GOOD))


def ridge(work: "Work", rates: "Rates") -> int | None:
    """The fewest streams in one batch, of a token each, at which arithmetic limits and no longer the memory.

    None where the rate is not known, or KV takes the memory longer than arithmetic however many there are.
    """

    def limits(streams: int) -> bool:
        return roof(work, rates, streams=streams).spent.bound == "arithmetic"

    if limiting_rate(rates, work.kind) is None or not limits(MOST_STREAMS):
        return None
    low, high = 0, MOST_STREAMS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if limits(middle) else (middle, high)
    return high


def prompt_roof(work_at: "Callable[[int], Work]", rates: "Rates", prompt_tokens: int) -> PromptRoof:
    """The least time of a prompt. work_at: the work of a token by how many came before it.

    All weights are read once, the output head is computed once, each token attends to those before it.
    """
    if prompt_tokens < 1:
        raise ValueError(f"a prompt of {prompt_tokens} tokens cannot be")
    places = min(prompt_tokens, _PLACES)
    works = [work_at(int((place + 0.5) * prompt_tokens / places)) for place in range(places)]
    operations = sum(work.prompt_operations(prompt_tokens) for work in works) / places
    moved = work_at(0).step_bytes(prompt_tokens, 1)
    return PromptRoof(prompt_tokens, spent_on(moved, operations, works[0].kind, rates))


def spent_on(moved_bytes: float, operations: float, kind: str, rates: "Rates") -> Spent:
    """What bytes and operations take on a machine; `kind` of numbers, as in `Rates.arithmetic_s`."""
    from_memory = max(moved_bytes - rates.cache_bytes, 0.0)
    rate = limiting_rate(rates, kind)
    return Spent(
        bytes=from_memory,
        operations=operations,
        memory_s=from_memory / rates.bandwidth_bytes_s,
        arithmetic_s=None if rate is None else operations / rate,
    )


def limiting_rate(rates: "Rates", kind: str) -> float | None:
    """Operations a second that no engine passes; None where they are not known, or known as a lower bound."""
    return None if kind in rates.at_least else rates.arithmetic_s.get(kind)


def expected_tokens(acceptance: float, drafted: int) -> float:
    """Tokens of a step, its own among them: 1 where none are drafted, `drafted` + 1 where all are accepted.

    Raises ValueError for an acceptance that is no share.
    """
    if not 0.0 <= acceptance <= 1.0:
        raise ValueError(f"an acceptance lies between 0 and 1: {acceptance}")
    if acceptance == 1.0:
        return float(drafted + 1)
    return float((1.0 - acceptance ** (drafted + 1)) / (1.0 - acceptance))
