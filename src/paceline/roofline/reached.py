"""What share of a machine's limit a measured run reached, and what held it back, by figures.

The share of the bandwidth is the model bandwidth utilisation of Databricks (LLM Inference Performance
Engineering: Best Practices, 2023): (bytes of the weights and of KV a step) x steps a second / peak bandwidth.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from paceline.roofline.roof import PromptRoof, Roof, Spent, prompt_roof, roof, spent_on
from paceline.stats.quantiles import Estimate

if TYPE_CHECKING:
    from paceline.roofline.rates import Rates
    from paceline.weights.work import Work

Holds = Literal["memory", "arithmetic", "engine", "beyond"]
NEAR = 0.7
"""From this share on a limit is what holds a run back."""
# More than one token a step is taken from gaps only where there are clearly more: a late event alone makes
# the next gap short.
_SEVERAL = 1.1


@dataclass(frozen=True, slots=True)
class Drafts:
    """What a server says of its speculation, over all requests: tokens drafted, and accepted of those.

    generated: after the first of each answer, which comes of its prompt.
    """

    generated: int
    drafted: int
    accepted: int

    @property
    def steps(self) -> int:
        """Each gave one token of its own beside the accepted ones."""
        return self.generated - self.accepted


@dataclass(frozen=True, slots=True)
class Observed:
    """A measured run, in what a limit can be held against.

    streams: that were decoding at once, on average. prompt_tokens, cached_tokens, output_tokens: of a
    request, on average; None where nobody said. decode_tok_s: of a request, the median. gaps_ms: float64[n],
    between events that carry tokens; gap_tokens: int[n], what the event after each carries. drafts: None
    where the server says nothing. ttft_ms: the median; None where nothing was streamed.
    """

    run_id: str
    streams: int
    prompt_tokens: float | None
    cached_tokens: float | None
    output_tokens: float
    decode_tok_s: Estimate
    ttft_ms: Estimate | None
    gaps_ms: npt.NDArray[np.float64]
    gap_tokens: npt.NDArray[np.integer]
    drafts: Drafts | None = None

    @property
    def context_tokens(self) -> int:
        """That a stream's cache held on average: the prompt and half of the answer."""
        return round((self.prompt_tokens or 0.0) + self.output_tokens / 2.0)


@dataclass(frozen=True, slots=True)
class Share:
    """A share of a limit; lo, hi: by the interval of what was measured, None where that is open."""

    value: float
    lo: float | None
    hi: float | None


@dataclass(frozen=True, slots=True)
class Reached:
    """A run beside the limit at its own context and streams.

    plain: the roof without speculation. tokens_a_step: of one stream; tokens_by: who says so, the server's
    own figures or the gaps between events (no fewer than so many); None: nobody, and it is taken for one.
    verified: tokens that a step computed of each stream. steps_s: a second. spent: the least that such a step
    takes. moved_bytes_s: weights and KV. of_limit: least time of a step over measured time. of_bandwidth: as
    Databricks' MBU; may be above 1 where a cache holds much of the model. of_arithmetic: None where the rate
    is not known. gap_s: of each step, what the machine's limits do not explain. prompt: the least that what
    was in no cache of a prompt takes; None where nobody said how long prompts were.
    """

    observed: Observed
    plain: Roof
    tokens_a_step: float
    tokens_by: Literal["server", "gaps"] | None
    verified: float
    steps_s: float
    spent: Spent
    moved_bytes_s: float
    of_limit: Share
    of_bandwidth: Share
    of_arithmetic: Share | None
    holds: Holds
    prompt: PromptRoof | None

    @property
    def speculates(self) -> bool:
        """Whether steps gave more than one token."""
        return self.tokens_a_step > 1.0

    @property
    def gap_s(self) -> float:
        """Of a step, beyond the least that it takes; 0 where the run is at its limit."""
        return max(1.0 / self.steps_s - self.spent.seconds, 0.0)


def reached(
    work_at: "Callable[[int], Work]", rates: "Rates", observed: Observed, *, draft: "Work | None" = None
) -> Reached:
    """Hold a run against its limit. work_at: the work of a token by the context before it.

    draft: of a model that drafted, where the server says how much was drafted. Raises ValueError for a run
    without a decode rate.
    """
    decode = observed.decode_tok_s
    if not decode.n or not decode.value > 0.0:
        raise ValueError(f"run {observed.run_id} has no decode rate")
    work = work_at(observed.context_tokens)
    plain = roof(work, rates, streams=observed.streams)
    tokens, said_by = _tokens_a_step(observed, plain.spent.seconds)
    drafted = max(_drafted_a_step(observed), tokens - 1.0)
    steps_s = decode.value / tokens
    moved = _between(lambda n: work.step_bytes(n, observed.streams), 1.0 + drafted)
    operations = _between(lambda n: float(work.step_operations(n, observed.streams)), 1.0 + drafted)
    if draft is not None and observed.drafts is not None:
        moved += drafted * draft.step_bytes(1, observed.streams)
        operations += drafted * draft.step_operations(1, observed.streams)
    spent = spent_on(moved, operations, work.kind, rates)

    def share(seconds: float) -> Share:
        lo, hi = (None if end is None else end / tokens * seconds for end in (decode.lo, decode.hi))
        return Share(steps_s * seconds, lo, hi)

    return Reached(
        observed=observed,
        plain=plain,
        tokens_a_step=tokens,
        tokens_by=said_by,
        verified=1.0 + drafted,
        steps_s=steps_s,
        spent=spent,
        moved_bytes_s=steps_s * moved,
        of_limit=share(spent.seconds),
        of_bandwidth=share(moved / rates.bandwidth_bytes_s),
        of_arithmetic=None if spent.arithmetic_s is None else share(spent.arithmetic_s),
        holds=_holds(share(spent.seconds), steps_s, spent),
        prompt=_prompt(work_at, rates, observed),
    )


def _prompt(work_at: "Callable[[int], Work]", rates: "Rates", observed: Observed) -> PromptRoof | None:
    if observed.prompt_tokens is None:
        return None
    return prompt_roof(
        work_at, rates, max(round(observed.prompt_tokens - (observed.cached_tokens or 0.0)), 1)
    )


def _holds(of_limit: Share, steps_s: float, spent: Spent) -> Holds:
    # What is above it by chance alone is at it.
    if (of_limit.value if of_limit.lo is None else of_limit.lo) > 1.0:
        return "beyond"
    if steps_s * spent.memory_s >= NEAR and spent.bound == "memory":
        return "memory"
    return "arithmetic" if steps_s * (spent.arithmetic_s or 0.0) >= NEAR else "engine"


def _tokens_a_step(observed: Observed, least_s: float) -> tuple[float, Literal["server", "gaps"] | None]:
    """Tokens that a step gave a stream: by the server's count, else no fewer than gaps prove.

    No two steps can end within less than a step's least time, so that no more fit into a gap than the gap
    over that time (rounded: the network adds and takes), nor more than the tokens that came after it. Tokens
    of one step come together: where most of the time lies in gaps that hold no step, they did not, and it is
    another model or machine than was said.
    """
    if observed.drafts is not None:
        return observed.drafts.generated / observed.drafts.steps, "server"
    if not least_s > 0.0 or not observed.gap_tokens.sum():
        return 1.0, None
    fit = np.floor(observed.gaps_ms / (least_s * 1e3) + 0.5)
    if observed.gaps_ms[fit < 1.0].sum() > observed.gaps_ms.sum() / 2.0:
        return 1.0, None
    steps = max(float(np.minimum(fit, observed.gap_tokens).sum()), 1.0)
    tokens = float(observed.gap_tokens.sum()) / steps
    return (tokens, "gaps") if tokens >= _SEVERAL else (1.0, "gaps")


def _drafted_a_step(observed: Observed) -> float:
    return 0.0 if observed.drafts is None else observed.drafts.drafted / observed.drafts.steps


def _between(value_at: Callable[[int], float], tokens: float) -> float:
    """A value of so many tokens, on average: between those of the whole numbers next to it."""
    below = int(tokens)
    low = value_at(below)
    return low if tokens == below else low + (tokens - below) * (value_at(below + 1) - low)
