"""What sweep, capacity and the resuming of a study share: the view, the steps' figures, the end."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paceline.cli.output import STDOUT, talk, write_outputs
from paceline.cli.render import keep_digest

if TYPE_CHECKING:
    from paceline.measure.job import Job, Prepared
    from paceline.measure.live_stats import Snapshot
    from paceline.measure.study import StepPlan, Watch
    from paceline.report.study import StudyReport
    from paceline.store.runs import StoredRun
    from paceline.store.studies import StoredStudy, StudyStep, StudyWriter


def run_study(writer: "StudyWriter", job: "Job", first: "Prepared | None" = None) -> None:
    """Do what is missing of a study. `first`: the job as it was prepared, for what the endpoint has shown."""
    from paceline.measure.study import Runner
    from paceline.measure.study_capacity import run_capacity
    from paceline.measure.study_sweep import run_sweep
    from paceline.report.model import build_report
    from paceline.report.study_figures import report_figures

    def judge(run: "StoredRun", cut_short: bool) -> dict[str, Any]:
        report = build_report(run)
        keep_digest(report)
        return report_figures(report, cut_short)

    asked = writer.manifest.asked
    talk(f"{writer.manifest.kind} {writer.id} of {writer.manifest.endpoint}, model {writer.manifest.model}")
    for note in first.notes if first is not None else ():
        talk(f"  {note}")
    with _kept(writer), writer, _watching(writer) as watch:
        runner: Runner = Runner(
            writer=writer,
            judge=judge,
            watch=watch,
            settle_ns=int(asked["settle_ns"]),
            keep_salt=bool(asked["keep_salt"]),
        )
        (run_sweep if writer.manifest.kind == "sweep" else run_capacity)(runner, job)


@contextmanager
def _kept(writer: "StudyWriter") -> Iterator[None]:
    """What ends a study in its midst says that nothing measured is lost."""
    from paceline.errors import PacelineError

    try:
        yield
    except PacelineError as error:
        done = writer.manifest.steps
        shown = f"what has ended is kept (paceline study show {writer.id}); " if done else ""
        resume = f"{shown}paceline study resume {writer.id} goes on"
        error.hint = f"{error.hint}; {resume}" if error.hint else resume
        raise


@contextmanager
def _watching(writer: "StudyWriter") -> "Iterator[Watch]":
    """A view of the step that goes on, and a line for each that has ended."""
    from dataclasses import replace

    from paceline.cli.live import make_view
    from paceline.measure.study import Watch

    label = ""

    from paceline.report.study_words import at_words

    def begins(plan: "StepPlan") -> None:
        nonlocal label
        at = at_words(plan.at)
        label = f"step {plan.number + 1}{_of(writer)}: {at}"

    def snapshot(now: "Snapshot") -> None:
        view.update(replace(now, label=label))

    with make_view(writer.manifest.model) as view:
        yield Watch(step=begins, snapshot=snapshot, ended=lambda step: talk(step_line(writer, step)))


def _of(writer: "StudyWriter") -> str:
    asked = writer.manifest.asked
    return f" of {len(asked['points']) * asked['repeats']}" if writer.manifest.kind == "sweep" else ""


def step_line(writer: "StudyWriter", step: "StudyStep") -> str:
    """One step that has ended, in a line."""
    from paceline.report.study_words import at_words
    from paceline.report.words import share
    from paceline.units import format_ms, format_number

    figures = step.figures
    parts = [f"step {step.number + 1}{_of(writer)}: {at_words(step.at)}"]
    ttft = ((figures.get("ttft") or {}).get("p50") or {}).get("value")
    if ttft is not None:
        parts.append(f"TTFT {format_ms(ttft)}")
    if figures.get("output_tok_s") is not None:
        parts.append(f"{format_number(figures['output_tok_s'])} tok/s")
    if figures.get("met") is not None:
        parts.append(f"{share(figures['met'], figures['attempted'])} met")
    if step.overload:
        parts.append(f"cut short: {step.overload}")
    elif figures.get("trust") not in ("trusted", None):
        parts.append(figures["trust"])
    return "  ".join(parts)


def conclude_study(study: "StoredStudy", paths: Mapping[str, Path | None]) -> int:
    """Report a study that has ended, and return the exit code."""
    from paceline.report.study import build_study_report

    report = build_study_report(study)
    interrupted = report.state == "interrupted"
    if interrupted:
        talk("interrupted: this is the report of what there is")
    emit_study(report, paths)
    if interrupted:
        talk(f"paceline study resume {study.id} goes on with it")
    verdict = (report.manifest.result or {}).get("verdict", "found")
    answered = bool(report.manifest.steps) and verdict in ("found", "above the range")
    return 0 if answered and report.trust != "invalid" else 1


def emit_study(report: "StudyReport", paths: Mapping[str, Path | None]) -> None:
    """Print a study's report, and write it in every format that was asked for."""
    from rich.console import Console

    from paceline.report import study_text

    stream = sys.stderr if STDOUT in paths.values() else sys.stdout
    study_text.print_study(report, Console(file=stream))
    stream.flush()
    write_outputs(paths, lambda option: rendered_study(report, option))


def rendered_study(report: "StudyReport", option: str) -> str:
    """A study's report in the format of an option: `--json`, `--html`, `--markdown` or `--csv`."""
    if option == "--json":
        return report.to_json()
    if option == "--html":
        from paceline.report.study_html import render_html

        return render_html(report)
    if option == "--markdown":
        from paceline.report.study_text import render_markdown

        return render_markdown(report)
    from paceline.report.study_csv import render_csv

    return render_csv(report)
