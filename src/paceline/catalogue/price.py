"""The price of an offer at one date, and what columns of tokens cost by it."""

from dataclasses import dataclass, replace
from datetime import date
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_PER_MTOK = 1e-6


@dataclass(frozen=True)
class Rates:
    """USD for a million tokens, and for a request.

    None: as an ordinary prompt token; of reasoning: as any token of the answer.
    """

    input_usd_per_mtok: float
    output_usd_per_mtok: float
    cache_read_usd_per_mtok: float | None = None
    cache_write_usd_per_mtok: float | None = None
    request_usd: float = 0.0
    reasoning_usd_per_mtok: float | None = None

    def times(self, factor: float) -> "Rates":
        """Each of them so many times."""
        known = {name: value for name, value in vars(self).items() if value is not None}
        return Rates(**{name: _multiplied(value, factor) for name, value in known.items()})


@dataclass(frozen=True)
class ContextTier:
    """The rates of a request whose whole prompt has more than so many tokens.

    They are those of all its tokens, not only of those beyond.
    """

    over_prompt_tokens: int
    rates: Rates


@dataclass(frozen=True)
class Costs:
    """USD of each request, float64[n] a part; nan where the tokens are not known.

    input: prompt tokens that no cache gave or took. output: all tokens of the answer, reasoning among them.
    reasoning: of which; nan where it is not known.
    """

    input: Floats
    cache_read: Floats
    cache_write: Floats
    output: Floats
    reasoning: Floats
    requests: Floats

    @property
    def total(self) -> Floats:
        """Of the whole request, float64[n]."""
        return self.input + self.cache_read + self.cache_write + self.output + self.requests


@dataclass(frozen=True)
class Price:
    """What an offer costs.

    kind: `tokens`, or `hours` of own hardware: `usd_per_hour` for all that serves the offer, and `rates`
    are 0. tiers: ascending. source: package and version, or file and line, with the date; as_of: the date
    that the price is of.
    """

    kind: Literal["tokens", "hours"]
    rates: Rates
    source: str
    as_of: date
    tiers: tuple[ContextTier, ...] = ()
    usd_per_hour: float | None = None
    warnings: tuple[str, ...] = ()

    def times(self, factor: float) -> "Price":
        """So many times the price; the source says so."""
        if factor == 1.0:
            return self
        return replace(
            self,
            rates=self.rates.times(factor),
            tiers=tuple(ContextTier(one.over_prompt_tokens, one.rates.times(factor)) for one in self.tiers),
            usd_per_hour=None if self.usd_per_hour is None else _multiplied(self.usd_per_hour, factor),
            source=f"{self.source}, times {factor:g}",
        )

    def usd(
        self,
        prompt: npt.ArrayLike,
        cached: npt.ArrayLike,
        cache_write: npt.ArrayLike,
        completion: npt.ArrayLike,
        reasoning: npt.ArrayLike | None = None,
    ) -> Costs:
        """What requests cost by their tokens, float64[n] each or one for all; without hours of hardware.

        prompt: the whole prompt, tokens from and into a cache among them; completion: reasoning among them.
        nan: not known. A prompt or a completion that is not known makes its parts nan; a `cached`,
        `cache_write` or `reasoning` that is not known counts as none. No token is charged twice where a
        server's parts are more than the whole.
        """
        prompt, cached, written, completion, thought = np.broadcast_arrays(
            *(np.asarray(one, np.float64) for one in (prompt, cached, cache_write, completion)),
            np.asarray(np.nan if reasoning is None else reasoning, np.float64),
        )
        known_cached = np.minimum(np.nan_to_num(cached), prompt)
        known_written = np.minimum(np.nan_to_num(written), prompt - known_cached)
        known_thought = np.minimum(np.nan_to_num(thought), completion)
        rate = _Column(self, prompt)
        read_rate = rate.of("cache_read_usd_per_mtok", "input_usd_per_mtok")
        write_rate = rate.of("cache_write_usd_per_mtok", "input_usd_per_mtok")
        output_rate = rate.of("output_usd_per_mtok")
        thought_rate = rate.of("reasoning_usd_per_mtok", "output_usd_per_mtok")
        of_thought = known_thought * thought_rate
        fresh = prompt - known_cached - known_written
        return Costs(
            input=fresh * rate.of("input_usd_per_mtok") * _PER_MTOK,
            cache_read=known_cached * read_rate * _PER_MTOK,
            cache_write=known_written * write_rate * _PER_MTOK,
            output=((completion - known_thought) * output_rate + of_thought) * _PER_MTOK,
            reasoning=np.where(np.isnan(thought), np.nan, of_thought * _PER_MTOK),
            requests=rate.of("request_usd"),
        )


@dataclass(frozen=True)
class PriceUnknown:
    """No price is known: why, and what to do."""

    why: str
    hint: str


class _Column:
    """The rates of each request by the size of its prompt."""

    def __init__(self, price: Price, prompt: Floats) -> None:
        self._steps = (price.rates, *(one.rates for one in price.tiers))
        # A prompt of exactly so many tokens is not over it. Of an unknown one all that depends on it is nan.
        starts = np.array([one.over_prompt_tokens for one in price.tiers], np.float64)
        self._step = np.searchsorted(starts, np.nan_to_num(prompt), side="left")
        self._unknown = np.isnan(prompt) if price.tiers else np.zeros(prompt.shape, np.bool_)

    def of(self, name: str, otherwise: str | None = None) -> Floats:
        """Rate `name` of each request, and where there is none that of `otherwise`, float64[n]."""
        found = [getattr(one, name) for one in self._steps]
        if otherwise is not None:
            found = [
                getattr(one, otherwise) if value is None else value
                for one, value in zip(self._steps, found, strict=True)
            ]
        rates = np.array(found, np.float64)
        column: Floats = np.where(self._unknown & (len(set(found)) > 1), np.nan, rates[self._step])
        return column


def _multiplied(value: float, factor: float) -> float:
    # Rounded to 12 digits: a price of 0.1 times 3 is 0.3.
    return float(f"{value * factor:.12g}")
