"""Everything that `paceline limit` says of a model on a machine."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from paceline.roofline.rates import Rates
from paceline.roofline.reached import Observed, Reached, reached
from paceline.roofline.roof import (
    ACCEPTANCES,
    PromptRoof,
    Roof,
    best_roof,
    limiting_rate,
    prompt_roof,
    ridge,
    roof,
)
from paceline.weights.model import ModelFacts
from paceline.weights.work import Work, token_work


@dataclass(frozen=True, slots=True)
class Asked:
    """Of what the limit is wanted. context_tokens: before a token; also the length of the prompt.

    acceptance: of drafted tokens, for each number of streams; None: of one stream alone, at several. drafted:
    tokens a step; None: those that give most. kv_type: of keys and values.
    """

    context_tokens: int
    streams: tuple[int, ...]
    acceptance: float | None = None
    drafted: int | None = None
    kv_type: str = "f16"


@dataclass(frozen=True, slots=True)
class Limit:
    """What a model can have at most. streams: without speculation; speculated: with it, at what was asked.

    speculation: of one stream, by acceptance; empty where the arithmetic rate is not known, and no length of
    draft was given. runs: measured ones beside it.
    """

    asked: Asked
    facts: ModelFacts
    draft: ModelFacts | None
    rates: Rates
    work: Work
    streams: tuple[Roof, ...]
    speculated: tuple[Roof, ...]
    ridge: int | None
    speculation: tuple[Roof, ...]
    prompt: PromptRoof
    runs: tuple[Reached, ...] = ()

    @property
    def arithmetic_known(self) -> bool:
        """Whether the machine's rate for the model's kind of numbers is."""
        return limiting_rate(self.rates, self.work.kind) is not None


def find_limit(
    facts: ModelFacts,
    rates: Rates,
    asked: Asked,
    *,
    draft: ModelFacts | None = None,
    observed: Sequence[Observed] = (),
) -> Limit:
    """The limit of a model on a machine, and runs beside it. draft: a model that drafts for it.

    Raises ValueError for a type of KV that is not known, and for numbers that cannot be.
    """
    work_at = works(facts, asked.kv_type)
    draft_at = None if draft is None else works(draft, asked.kv_type)
    work = work_at(asked.context_tokens)
    drafting = None if draft_at is None else draft_at(asked.context_tokens)

    def speculated(acceptance: float, streams: int) -> Roof | None:
        if asked.drafted is None:
            return best_roof(work, rates, acceptance=acceptance, streams=streams, draft=drafting)
        return roof(
            work, rates, streams=streams, acceptance=acceptance, draft_tokens=asked.drafted, draft=drafting
        )

    shares = sorted({*ACCEPTANCES, *([] if asked.acceptance is None else [asked.acceptance])})
    own = asked.acceptance
    return Limit(
        asked=asked,
        facts=facts,
        draft=draft,
        rates=rates,
        work=work,
        streams=tuple(roof(work, rates, streams=n) for n in asked.streams),
        speculated=() if own is None else _known(speculated(own, n) for n in asked.streams),
        ridge=ridge(work, rates),
        speculation=_known(speculated(share, 1) for share in shares),
        prompt=prompt_roof(work_at, rates, max(asked.context_tokens, 1)),
        runs=tuple(
            reached(work_at, rates, one, draft=None if draft_at is None else draft_at(one.context_tokens))
            for one in observed
        ),
    )


def works(facts: ModelFacts, kv_type: str) -> Callable[[int], Work]:
    """The work of a token by the context before it."""

    @cache
    def at(context_tokens: int) -> Work:
        return token_work(facts, context_tokens=context_tokens, kv_type=kv_type)

    return at


def _known(roofs: Iterable[Roof | None]) -> tuple[Roof, ...]:
    return tuple(one for one in roofs if one is not None)
