"""What starting, resuming and showing a tuning share: what is said meanwhile, and how it ends."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from paceline.cli.output import STDOUT, harmless, talk, write_outputs
from paceline.units import format_duration_ns

if TYPE_CHECKING:
    from paceline.tuning.journal import Block, Journal, TrialEntry
    from paceline.tuning.tune import Watch


def run_tuning(journal: "Journal") -> None:
    """Do what is missing of a tuning. What ends it in its midst says that nothing measured is lost.

    One that was asked for in a way that cannot be done, as by too small a budget, leaves nothing behind.
    """
    from paceline.errors import StoreError, UsageError
    from paceline.tuning.journal import delete_tuning
    from paceline.tuning.start import tuner

    tuning = journal.tuning
    talk(
        f"tuning {tuning.id}: {harmless(tuning.model_name)} on {tuning.engine} {tuning.engine_version or ''}"
    )
    talk(f"  goal {tuning.goal}, tier {tuning.tier}, budget {format_duration_ns(tuning.budget_s * 1e9)}")
    try:
        with journal:
            one = tuner(journal, _watch(journal))
            with _kept(journal):
                one.run()
    except UsageError:
        if not journal.tuning.trials:
            with suppress(StoreError):
                delete_tuning(journal.tuning.id)
        raise


@contextmanager
def _kept(journal: "Journal") -> Iterator[None]:
    from paceline.errors import PacelineError

    resume = f"paceline tune resume {journal.tuning.id}"
    try:
        yield
    except PacelineError as error:
        if journal.tuning.trials:
            kept = f"what was measured is kept; {resume} goes on"
            error.hint = f"{error.hint}; {kept}" if error.hint else kept
        raise
    except KeyboardInterrupt:
        talk(f"what was measured is kept; {resume} goes on")
        raise


def _watch(journal: "Journal") -> "Watch":
    """Each block as it begins, with the time used, and its figure, in the search beside the defaults."""
    from paceline.report.tuning_text import block_lines
    from paceline.tuning.goal import parse_goal
    from paceline.tuning.leaders import leaders
    from paceline.tuning.tune import Watch

    goal = parse_goal(journal.tuning.goal)

    def ended(entry: "TrialEntry", block: "Block") -> None:
        searched = any(one is block for one in entry.blocks)
        talk(block_lines(goal, entry, block, leaders(journal.tuning, goal) if searched else ()))

    def begins(text: str) -> None:
        spent, budget = (
            format_duration_ns(seconds * 1e9) for seconds in (journal.tuning.spent_s, journal.tuning.budget_s)
        )
        talk(f"{text} [{spent} of {budget}]")

    return Watch(block=begins, ended=ended, said=talk)


def conclude_tuning(ref: str, paths: Mapping[str, Path | None]) -> int:
    """Print and write what a tuning has found. Exit code 1 where it failed."""
    from paceline.report.tuning_html import render_tuning_html
    from paceline.report.tuning_text import tuning_text
    from paceline.tuning.goal import parse_goal
    from paceline.tuning.journal import open_tuning
    from paceline.tuning.leaders import leaders

    tuning = open_tuning(ref)
    goal = parse_goal(tuning.goal)
    found = leaders(tuning, goal)

    def rendered(option: str) -> str:
        if option == "--html":
            return render_tuning_html(tuning, goal, found)
        return tuning.model_dump_json(by_alias=True, indent=2) + "\n"

    if paths.get("--json") != STDOUT:
        typer.echo(harmless(tuning_text(tuning, goal, found)), nl=False)
    write_outputs(paths, rendered, hint=f"the tuning is stored: paceline tune show {tuning.id}")
    return 1 if tuning.state == "failed" else 0
