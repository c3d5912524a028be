"""The price of an offer at one date, and what columns of tokens cost by it."""

from dataclasses import dataclass
from datetime import date
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Rates:
    """USD for a million tokens, and for a request; None: as an ordinary prompt token."""

    input_usd_per_mtok: float
    output_usd_per_mtok: float
    cache_read_usd_per_mtok: float | None = None
    cache_write_usd_per_mtok: float | None = None
    request_usd: float = 0.0


@dataclass(frozen=True)
class ContextTier:
    """The rates of a request whose whole prompt has more than so many tokens."""

    over_prompt_tokens: int
    rates: Rates


@dataclass(frozen=True)
class Price:
    """What an offer costs.

    kind: `tokens`, or `hours` of own hardware: `usd_per_hour` for all that serves the offer, and `rates` are 0.
    tiers: ascending. source: package and version, or file and line; as_of: the date that the price is of.
    """

    kind: Literal["tokens", "hours"]
    rates: Rates
    source: str
    as_of: date
    tiers: tuple[ContextTier, ...] = ()
    usd_per_hour: float | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class PriceUnknown:
    """No price is known: why, and what to do."""

    why: str
    hint: str
