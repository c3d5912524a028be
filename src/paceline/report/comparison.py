"""Two reports side by side: what differs, by how much, and with what certainty."""

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from paceline.report.evidence import over_whole_run
from paceline.report.model import Report
from paceline.report.trust import VerdictName
from paceline.stats.compare import Comparison, Statistic, compare
from paceline.stats.frame import Frame

SCHEMA = "paceline.comparison/1"
SMALLEST_DIFFERENCE = 0.05
_ORDER: tuple[VerdictName, ...] = ("trusted", "suspect", "invalid")
# Of what must be alike for a comparison to say something of the endpoints alone.
_LOAD_KEYS = ("arrival", "concurrency_cap", "new_connections", "requests", "duration_ns")
_WORKLOAD_KEYS = (
    "prompt_tokens",
    "output_tokens",
    "max_tokens",
    "shared_prefix_tokens",
    "unique_prefix",
    "system",
    "temperature",
    "streaming",
    "extra",
)


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
    has none, over the whole of both.
    """
    if a.evidence.throughput.steady != b.evidence.throughput.steady:
        a, b = (replace(side, evidence=over_whole_run(side.evidence)) for side in (a, b))
    paired = _interleaved(a, b)
    results = []
    for name in [name for name in a.headline if name in b.metrics]:
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
    return ComparisonReport(a, b, results, paired, smallest_difference, tuple(_differences(a, b)))


def _statistics(name: str) -> tuple[Statistic, ...]:
    if name == "fluidity":
        return ("mean",)
    return ("p50",) if name == "output_tok_s" else ("p50", "p99")


def _interleaved(a: Report, b: Report) -> bool:
    """Whether the two were measured in turn, with each other."""
    of_a, of_b = (report.manifest.load.get("interleaved") or {} for report in (a, b))
    return bool(of_a and of_b and of_a.get("with") == b.manifest.id and of_b.get("with") == a.manifest.id)


def _blocks(report: Report, rows: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """The block of each sample: its row's segment."""
    blocks: npt.NDArray[np.int64] = Frame(report.evidence.rows).ints("segment")[rows]
    return blocks


def _differences(a: Report, b: Report) -> list[str]:
    """What else than the endpoint differs, in words."""
    found = []
    for what, keys, of_a, of_b in (
        ("load", _LOAD_KEYS, a.manifest.load, b.manifest.load),
        ("workload", _WORKLOAD_KEYS, a.manifest.workload, b.manifest.workload),
    ):
        unlike = [key for key in keys if of_a.get(key) != of_b.get(key)]
        if unlike:
            found.append(
                f"the {what} is not the same ({', '.join(unlike)}): part of any difference may be its doing"
            )
    if a.manifest.host != b.manifest.host:
        found.append("the two were not measured on the same machine with the same cores")
    if a.manifest.version != b.manifest.version:
        found.append(f"measured by different versions, {a.manifest.version} and {b.manifest.version}")
    if not _interleaved(a, b):
        found.append("not measured in turn: what changed between the two runs counts as a difference")
    return found


def _side(report: Report) -> dict[str, Any]:
    document = report.to_dict()
    return {name: document[name] for name in ("run", "trust", "outcomes", "throughput")}
