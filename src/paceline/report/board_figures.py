"""The figures that offers are held against each other by: name, unit and good direction of each."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class FigureInfo:
    """`label` heads a column; `better`: which direction is good."""

    name: str
    label: str
    unit: str
    better: Literal["lower", "higher"]
    definition: str


FIGURES: dict[str, FigureInfo] = {
    info.name: info
    for info in (
        FigureInfo("ttft_p50_ms", "TTFT p50", "ms", "lower", "median TTFT"),
        FigureInfo("ttft_p95_ms", "TTFT p95", "ms", "lower", "95th percentile of TTFT"),
        FigureInfo(
            "ttfat_p50_ms", "first answer", "ms", "lower", "median time to the first token of the answer"
        ),
        FigureInfo("output_tok_s", "tok/s", "tok/s", "higher", "median decode rate of a request"),
        FigureInfo(
            "stability",
            "TTFT p95/p50",
            "x",
            "lower",
            "95th percentile of TTFT over its median: 1 is always the same",
        ),
        FigureInfo("stall_p95_ms", "stall p95", "ms", "lower", "95th percentile of requests' longest gaps"),
        FigureInfo(
            "e2e_500_ms",
            "E2E 500",
            "ms",
            "lower",
            "median time to an answer of 500 tokens: TTFT of the answer, then 499 tokens at its own rate",
        ),
        FigureInfo("success_share", "ok", "%", "higher", "requests that ended well, of those attempted"),
        FigureInfo("capability", "capability", "%", "higher", "share of the benchmark's items solved"),
        FigureInfo("usd_per_job", "USD/job", "USD", "lower", "bill of one job of the workload"),
        FigureInfo(
            "tok_s_per_usd",
            "tok/s per USD",
            "tok/s/USD",
            "higher",
            "median decode rate over the bill of 1,000 jobs",
        ),
    )
}
"""In the order of columns. Shares are fractions here, and percent where they are printed."""
