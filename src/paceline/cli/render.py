"""From a stored run to what the user asked to see: the terminal, and files."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from paceline.cli.output import STDOUT, talk, write_outputs

if TYPE_CHECKING:
    from collections.abc import Callable

    from paceline.cli.options import ReportFlags
    from paceline.measure.driver import RunResult
    from paceline.measure.job import Prepared
    from paceline.report.model import Report
    from paceline.store.runs import StoredRun
    from paceline.workloads.spec import WorkloadSpec


def say_head(prepared: "Prepared") -> None:
    """Before load begins: what will be done, and what the endpoint's check has shown."""
    talk(f"measuring {prepared.target.display}, model {prepared.target.model}")
    for line in (*prepared.job.load.describe(), request_words(prepared.job.workload), *prepared.notes):
        talk(f"  {line}")
    if prepared.server is not None:
        talk(f"  server metrics: {prepared.server.title} at {prepared.server.url}")
    if prepared.encodes_each:
        talk("  preparing requests: with this tokenizer each prompt is cut and encoded by itself")


def request_words(workload: "WorkloadSpec") -> str:
    """What each request is, in the words of the report."""
    from paceline.report.words import workload_words

    return workload_words(workload.to_dict())


def conclude(result: "RunResult", flags: "ReportFlags", *, scores_path: Path | None = None) -> int:
    """Report a run that has ended, and return the exit code.

    Of a capability probe its scores too, which also go to `scores_path`.
    """
    from paceline.cli.scoring import scores_after, show_scores
    from paceline.store.runs import open_run

    if result.state == "interrupted":
        talk("interrupted: this is the report of what there is")
    run = open_run(result.run_id)
    # Before the digest, which has them.
    scores = scores_after(run)
    report = report_of(run)
    keep_digest(report)
    on_stdout = STDOUT in (*flags.paths().values(), scores_path)
    emit(report, flags, data_on_stdout=on_stdout)
    if scores is not None:
        show_scores(scores, scores_path, data_on_stdout=on_stdout)
    if result.store_error is not None:
        talk(f"error: the run ended early: {result.store_error.message}")
        if result.store_error.hint:
            talk(f"hint: {result.store_error.hint}")
        return 1
    if result.state == "interrupted":
        talk(f"paceline runs resume {result.run_id} finishes it")
    return exit_code(report)


def keep_digest(report: "Report") -> None:
    """Keep what a board needs of a run that was just measured, so that it need not be read again for that.

    Never fails: a board makes what is not there.
    """
    from paceline.advisor.digests import keep

    try:
        keep(report)
    except Exception as error:
        talk(f"a board will read this run again: {error}")


def exit_code(report: "Report") -> int:
    """1 for a run that failed or is invalid, else 0."""
    return 1 if report.trust.verdict == "invalid" or report.manifest.state == "failed" else 0


def report_of(run: "StoredRun", uncounted: "Callable[[str], None] | None" = None) -> "Report":
    """The report of a stored run; its tokens counted by its own tokenizer, where that is here.

    `uncounted` gets why they are not, where it is not; None: it is said on stderr.
    """
    from paceline.errors import ConfigError
    from paceline.measure.local_tokens import local_event_tokens
    from paceline.report.model import build_report

    tokenizer = run.manifest.workload.get("tokenizer")
    local_tokens = None
    if tokenizer:
        try:
            local_tokens = local_event_tokens(run.rows(["text", "event_bytes"]), tokenizer)
        except ConfigError as error:
            (uncounted or _say_uncounted)(error.message)
    return build_report(run, local_tokens=local_tokens)


def _say_uncounted(why: str) -> None:
    talk(f"tokens are not counted here: {why}")


def costed(report: "Report") -> "Report":
    """The report with what the run has cost, by the prices of its day."""
    from dataclasses import replace

    from paceline.cli.pricing import price_of_run
    from paceline.report.cost import run_cost

    return replace(report, cost=run_cost(report.evidence, price_of_run(report.manifest)))


def emit(report: "Report", flags: "ReportFlags", *, data_on_stdout: bool = False) -> None:
    """Print the report, and write it in every format that was asked for.

    What goes to stdout as data is alone there: the report for people then goes to stderr.
    """
    paths = flags.paths()
    report = costed(report)
    print_report(report, data_on_stdout=data_on_stdout or STDOUT in paths.values())
    write_outputs(paths, lambda option: rendered(report, option))


def print_report(report: "Report", *, data_on_stdout: bool = False) -> None:
    """Print a report for people."""
    from rich.console import Console

    from paceline.report import terminal

    stream = sys.stderr if data_on_stdout else sys.stdout
    if stream.isatty():
        # Apart from what was said before it.
        stream.write("\n")
        terminal.print_report(report, Console(file=stream))
    else:
        stream.write(terminal.render_text(report))
        stream.flush()


def rendered(report: "Report", option: str) -> str:
    """A report in the format of an option: `--json`, `--html`, `--markdown`, `--csv`; `jobs`: as CSV."""
    if option == "--json":
        return report.to_json()
    if option == "--html":
        from paceline.report.html import render_html

        return render_html(report)
    if option == "jobs":
        from paceline.report.job_csv import render_jobs_csv

        return render_jobs_csv(report)
    if option == "--markdown":
        from paceline.report.markdown import render_markdown

        return render_markdown(report)
    from paceline.report.csv import render_csv

    return render_csv(report)
