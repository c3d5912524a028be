"""How fast one side is against the other, where each was asked for the first time."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from paceline.advisor.answers import Answers
from paceline.report.differences import interleaved
from paceline.report.model import Report
from paceline.stats.compare import Comparison, compare
from paceline.stats.frame import Frame
from paceline.stats.metrics import MetricSamples

METRICS = ("ttft_ms", "output_tok_s", "e2e_ms")


def first_pass_speed(
    a: tuple[Report, Answers], b: tuple[Report, Answers], *, smallest_difference: float = 0.05
) -> list[Comparison]:
    """Medians of B against A, over the first request of each prompt that both were asked.

    A later request may find its prompt in a cache, and so is no measure. Blocks are compared in pairs where
    the runs were made in turn.
    """
    paired = interleaved(a[0], b[0])
    found = []
    for name in METRICS:
        if not (a[0].knows(name) and b[0].knows(name)):
            continue
        (of_a, blocks_a), (of_b, blocks_b) = (
            _first(*side, name, other[1]) for side, other in ((a, b), (b, a))
        )
        found.append(
            compare(
                of_a,
                of_b,
                statistic="p50",
                blocks_a=blocks_a if paired else None,
                blocks_b=blocks_b if paired else None,
                paired=paired,
                smallest_difference=smallest_difference,
            )
        )
    return found


def _first(
    report: Report, answers: Answers, name: str, other: Answers
) -> tuple[MetricSamples, npt.NDArray[np.int64]]:
    """Samples of the first pass, and the segment of each."""
    rows = [given[0].row for prompt, given in answers.by_prompt.items() if prompt in other.by_prompt]
    samples = report.samples(name)
    kept = np.isin(samples.row, rows)
    first = replace(
        samples,
        values=samples.values[kept],
        at_ns=samples.at_ns[kept],
        row=samples.row[kept],
        censored=np.empty(0),
    )
    segments: npt.NDArray[np.int64] = Frame(report.evidence.rows).ints("segment")[first.row]
    return first, segments
