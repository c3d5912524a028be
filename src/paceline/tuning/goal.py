"""What the tuner is to reach: `min itl_ms`, or `max goodput @ ttft_ms<=500,itl_ms<=50`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Goal:
    """metric: of a request (`itl_ms`, `ttft_ms`, `e2e_ms`, `tpot_ms`), or `goodput`, `output_tok_s`.

    slo: metric -> limit, for goodput. text: as it was written.
    """

    direction: Literal["min", "max"]
    metric: str
    slo: Mapping[str, float]
    text: str
