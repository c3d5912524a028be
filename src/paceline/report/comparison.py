"""Two reports side by side: what differs, by how much, and with what certainty."""

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from paceline.report.differences import differences, interleaved
from paceline.report.evidence import over_whole_run
from paceline.report.model import Report
from paceline.report.trust import VerdictName
from paceline.stats.compare import Comparison, Statistic, compare
from paceline.stats.frame import Frame

SCHEMA = "paceline.comparison/1"
SMALLEST_DIFFERENCE = 0.05
_ORDER: tuple[VerdictName, ...] = ("trusted", "suspect", "invalid")


@dataclass(frozen=True)
class ComparisonReport:
    """B against A. `paired`: measured in turn, in blocks of equal number. `notes`: what is not alike."""

    a: Report
    b: Report
    results: list[Comparison]
    paired: bool
    smallest_difference: float
    notes: tuple[str, ...]

    @property
    def basis(self) -> Report:
        """The side whose headline is compared: A, but a closed loop where only A is an open one."""
        return self.b if self.a.evidence.open_loop and not self.b.evidence.open_loop else self.a

    @property
    def verdict(self) -> VerdictName:
        """The lesser of the two runs' verdicts: a comparison is no better than its worse side."""
        return max((self.a.trust.verdict, self.b.trust.verdict), key=_ORDER.index)

    def to_dict(self) -> dict[str, Any]:
        """`paceline.comparison/1` (docs/reference/report.md)."""
        return {
            "schema": SCHEMA,
            "a": _side(self.a),
            "b": _side(self.b),
            "interleaved": self.paired,
            "smallest_difference": self.smallest_difference,
            "notes": list(self.notes),
            "results": [result.to_dict() for result in self.results],
        }

    def to_json(self) -> str:
        """The document as text, with a line end."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def compare_reports(
    a: Report, b: Report, *, smallest_difference: float = SMALLEST_DIFFERENCE
) -> ComparisonReport:
    """Compare the headline metrics that both have, at p50 and p99.

    Runs that were measured in turn, block by block, are compared pair by pair. `smallest_difference`: the
    share below which a difference is of no interest. Throughput is over the steady parts or, where one run
    has none, over the whole of both. Of an open and a closed loop, latencies count from the sending in both:
    under a closed loop no request is due at an instant.
    """
    if a.evidence.throughput.steady != b.evidence.throughput.steady:
        a, b = (replace(side, evidence=over_whole_run(side.evidence)) for side in (a, b))
    paired = interleaved(a, b)
    made = ComparisonReport(a, b, [], paired, smallest_difference, tuple(differences(a, b)))
    results = []
    for name in [name for name in made.basis.headline if name in a.metrics and name in b.metrics]:
        for statistic in _statistics(name):
            side_a, side_b = a.evidence.samples[name], b.evidence.samples[name]
            results.append(
                compare(
                    side_a,
                    side_b,
                    statistic=statistic,
                    blocks_a=_blocks(a, side_a.row) if paired else None,
                    blocks_b=_blocks(b, side_b.row) if paired else None,
                    paired=paired,
                    smallest_difference=smallest_difference,
                )
            )
    return replace(made, results=results)


def _statistics(name: str) -> tuple[Statistic, ...]:
    if name == "fluidity":
        return ("mean",)
    return ("p50",) if name == "output_tok_s" else ("p50", "p99")


def _blocks(report: Report, rows: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """The block of each sample: its row's segment."""
    blocks: npt.NDArray[np.int64] = Frame(report.evidence.rows).ints("segment")[rows]
    return blocks


def _side(report: Report) -> dict[str, Any]:
    document = report.to_dict()
    return {name: document[name] for name in ("run", "trust", "outcomes", "throughput")}
