"""From two runs, stored before or measured in turn now, to a comparison and an exit code."""

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from paceline.cli.output import STDOUT, talk, write_outputs
from paceline.errors import ConfigError

if TYPE_CHECKING:
    from paceline.measure.driver import RunResult
    from paceline.measure.job import Prepared
    from paceline.report.comparison import ComparisonReport
    from paceline.store.runs import StoredRun


@dataclass(frozen=True)
class Pair:
    """Two runs to compare; `measured` says how they ended where they were measured just now."""

    a: "StoredRun"
    b: "StoredRun"
    measured: "tuple[RunResult, ...]" = ()

    @property
    def interrupted(self) -> bool:
        """Whether measuring was broken off."""
        return any(result.state == "interrupted" for result in self.measured)


def are_endpoints(a: str, b: str) -> bool:
    """Whether two arguments are URLs, and not stored runs. Raises ConfigError for one of each."""
    kinds = [bool(re.search(r"://|^[^/\s]+:\d+(/|$)", text)) for text in (a, b)]
    if kinds[0] != kinds[1]:
        url, run = (a, b) if kinds[0] else (b, a)
        raise ConfigError(
            f"{url} is an endpoint and {run} is a stored run: only two of one kind can be compared",
            "measure the endpoint first, and compare the two runs",
        )
    return kinds[0]


def stored_pair(a: str, b: str) -> Pair:
    """Two stored runs. Raises StoreError."""
    from paceline.store.runs import open_run

    return Pair(open_run(a), open_run(b))


def measure_both(a: "Prepared", b: "Prepared", pairs: int | None = None) -> Pair:
    """Measure two endpoints in turn, with a view."""
    from paceline.cli.live import make_view
    from paceline.cli.render import request_words
    from paceline.measure.interleave import interleave, pairs_for
    from paceline.store.runs import open_run

    count = pairs or pairs_for(a.job.load)
    for letter, side in (("A", a), ("B", b)):
        talk(f"{letter}: {side.target.display}, model {side.target.model}")
        for note in side.notes:
            talk(f"  {note}")
    for line in (*a.job.load.describe(), request_words(a.job.workload)):
        talk(f"  each: {line}")
    talk(f"  in {count} pairs of blocks, in random order")
    with make_view(f"{a.target.model} against {b.target.model}") as view:
        results = interleave(a, b, pairs=count, watch=view.update)
    return Pair(open_run(results[0].run_id), open_run(results[1].run_id), results)


def comparison_of(pair: Pair, smallest_difference: float) -> "ComparisonReport":
    """Both reports, side by side."""
    from paceline.cli.render import keep_digest, report_of
    from paceline.report.comparison import compare_reports

    reports = report_of(pair.a), report_of(pair.b)
    if pair.measured:
        for report in reports:
            keep_digest(report)
    comparison = compare_reports(*reports, smallest_difference=smallest_difference)
    if pair.interrupted and comparison.results:
        talk("interrupted: this compares what there is, and cannot be resumed")
    return comparison


def nothing_to_compare(pair: Pair, comparison: "ComparisonReport") -> bool:
    """Whether measuring was broken off before there was anything to compare; says so."""
    if not pair.interrupted or comparison.results:
        return False
    talk("interrupted before a pair of blocks was complete: nothing to compare")
    return True


def conclude_comparison(
    pair: Pair, paths: Mapping[str, Path | None], smallest_difference: float, threshold: float | None
) -> int:
    """Compare, print, write, and return the exit code; `threshold`: how much slower B may be."""
    comparison = comparison_of(pair, smallest_difference)
    if nothing_to_compare(pair, comparison):
        return 1
    print_comparison(comparison, data_on_stdout=STDOUT in paths.values())
    write_outputs(paths, lambda option: rendered_comparison(comparison, option))
    slower = slower_than(comparison, threshold)
    for words in slower:
        talk(words)
    return 1 if slower or failed(pair, comparison) else 0


def failed(pair: Pair, comparison: "ComparisonReport") -> bool:
    """Whether either side failed or is invalid; says what the store had to say."""
    for result in pair.measured:
        if result.store_error is not None:
            talk(f"error: the run {result.run_id} ended early: {result.store_error.message}")
    return comparison.verdict == "invalid" or any(result.state == "failed" for result in pair.measured)


def slower_than(comparison: "ComparisonReport", threshold: float | None) -> list[str]:
    """What of B is shown to be worse by more than the threshold, in words."""
    from paceline.report.comparison_text import result_cells
    from paceline.stats.compare import fail_if_slower
    from paceline.units import format_percentage

    if threshold is None:
        return []
    found = []
    for result in comparison.results:
        if fail_if_slower(result, threshold):
            name, a, b, ratio, interval, _ = result_cells(result)
            if result.statistic == "share":
                found.append(f"more jobs of B fail: {b} against {a} ({interval})")
                continue
            found.append(
                f"B is slower: {name}: B / A is {ratio} ({interval}), "
                f"more than {format_percentage(threshold)} worse"
            )
    return found


def print_comparison(comparison: "ComparisonReport", *, data_on_stdout: bool = False) -> None:
    """Print a comparison for people."""
    from rich.console import Console

    from paceline.report import comparison_text

    stream = sys.stderr if data_on_stdout else sys.stdout
    comparison_text.print_comparison(comparison, Console(file=stream))
    stream.flush()


def rendered_comparison(comparison: "ComparisonReport", option: str) -> str:
    """A comparison in the format of an option: `--json`, `--html` or `--markdown`."""
    if option == "--json":
        return comparison.to_json()
    if option == "--html":
        from paceline.report.comparison_html import render_html

        return render_html(comparison)
    from paceline.report.comparison_text import render_markdown

    return render_markdown(comparison)
