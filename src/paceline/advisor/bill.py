"""The bill of one job of a workload at one offer, from the tokens that were measured."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from paceline.advisor.figures import Figure
from paceline.catalogue.price import Price, PriceUnknown
from paceline.stats.frame import Ints

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class JobCosts:
    """usd: of each sampled job, float64[j]; block: what a bootstrap draws it with, int64[j], from 0."""

    usd: Floats
    block: Ints


@dataclass(frozen=True)
class Bill:
    """usd_per_job, and where the workload says how many jobs a day, usd_per_day and usd_per_month (30 days).

    parts: USD of a job for `input`, `cache_read`, `cache_write`, `output` (reasoning is in it), `reasoning` (of
    which), `requests`, or `hardware`. tokens: mean of a job. basis: whose tokens: `measured`, or `asked` (the
    workload's own lengths, without reasoning). price: PriceUnknown where there is none; figures then have no
    value, and say so.
    """

    usd_per_job: Figure
    usd_per_day: Figure | None
    usd_per_month: Figure | None
    parts: Mapping[str, float]
    tokens: Mapping[str, float]
    basis: Literal["measured", "asked"]
    jobs_per_day: float | None
    price: Price | PriceUnknown
    notes: tuple[str, ...] = ()
