"""From two endpoints or stored runs to whether they are one model, in words, files and an exit code."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from paceline.cli.comparing import Pair
from paceline.cli.output import STDOUT, talk, write_outputs
from paceline.errors import ConfigError, EndpointError

if TYPE_CHECKING:
    from paceline.advisor.equivalence import Equivalence, Limits
    from paceline.measure.job import Job, Prepared


@dataclass(frozen=True)
class Asked:
    """What is to be concluded. tokenizer: None: the runs' own. examples: how many are shown."""

    limits: "Limits"
    tokenizer: str | None
    examples: int
    fail_if_different: bool


def measure_sides(a: "Job", b: "Job") -> Pair:
    """Ask both endpoints, with a view. Raises EndpointError where one does not answer as it must."""
    from paceline.cli.live import make_view
    from paceline.measure.equivalence import blocks, measure_equivalence
    from paceline.store.runs import open_run
    from paceline.workloads.equivalence import EquivalenceSource

    sides = _prepared(a), _prepared(b)
    for letter, side in zip("AB", sides, strict=True):
        talk(f"{letter}: {side.target.display}, model {side.target.model}")
        for note in side.notes:
            talk(f"  {note}")
    jobs = sides[0].job.jobs
    assert isinstance(jobs, EquivalenceSource)
    times = "twice" if jobs.n_passes > 1 else "once"
    talk(f"  each: {jobs.n_prompts} prompts, asked {times}, seed {a.workload.seed}")
    talk(f"  in {blocks(sides[0])} pairs of blocks, in random order")
    with make_view(f"{sides[0].target.model} against {sides[1].target.model}") as view:
        results = measure_equivalence(*sides, watch=view.update)
    return Pair(open_run(results[0].run_id), open_run(results[1].run_id), results)


def conclude(pair: Pair, asked: Asked, paths: Mapping[str, Path | None]) -> int:
    """Judge, print, write, and return the exit code."""
    from paceline.advisor.equivalence_runs import equivalence_of
    from paceline.cli.render import keep_digest, report_of

    reports = report_of(pair.a), report_of(pair.b)
    if pair.measured:
        for report in reports:
            keep_digest(report)
    if pair.interrupted:
        talk("interrupted: this is what the answers so far show, and cannot be resumed")
    try:
        found = equivalence_of(
            pair.a,
            pair.b,
            limits=asked.limits,
            tokenizer=asked.tokenizer,
            examples=asked.examples,
            reports=reports,
        )
    except ConfigError:
        if not pair.interrupted:
            raise
        talk("interrupted before both had answered one prompt: there is nothing to judge")
        return 1
    print_equivalence(found, data_on_stdout=STDOUT in paths.values())
    hint = "the runs are stored: paceline equivalent RUN-A RUN-B writes it anew"
    write_outputs(paths, lambda option: _rendered(found, option), hint=hint)
    for result in pair.measured:
        if result.store_error is not None:
            talk(f"error: the run {result.run_id} ended early: {result.store_error.message}")
    failed = any(result.state == "failed" for result in pair.measured)
    invalid = any(report.trust.verdict == "invalid" for report in reports)
    return 1 if failed or invalid or (asked.fail_if_different and found.verdict == "different") else 0


def print_equivalence(found: "Equivalence", *, data_on_stdout: bool = False) -> None:
    """Print it for people."""
    from rich.console import Console

    from paceline.report import equivalence_text

    stream = sys.stderr if data_on_stdout else sys.stdout
    equivalence_text.print_equivalence(found, Console(file=stream))
    stream.flush()


def _rendered(found: "Equivalence", option: str) -> str:
    if option == "--json":
        return found.to_json()
    if option == "--html":
        from paceline.report.equivalence_html import render_html

        return render_html(found)
    from paceline.report.equivalence_text import render_markdown

    return render_markdown(found)


def _prepared(job: "Job") -> "Prepared":
    from paceline.measure.job import prepare

    try:
        return prepare(job)
    except EndpointError as error:
        if job.workload.temperature is not None and "temperature" in error.message:
            raise EndpointError(error.message, "send none, to both: --temperature none") from None
        raise
