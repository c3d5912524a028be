"""Options of commands that judge what is stored: which runs, and by which prices.

Imports nothing heavy before it is asked to.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from datetime import datetime

    from paceline.advisor.digests import AllDigests

EVIDENCE = "Evidence"
EVER = "all"

Load = Annotated[
    str | None,
    typer.Option(
        help="Only this load, as 'closed 8' or 'poisson 5/s'. Default: the one that most offers have.",
        rich_help_panel=EVIDENCE,
    ),
]
Since = Annotated[
    str,
    typer.Option(
        help="Only runs begun since: 7d, 36h, a day (2026-11-30), a moment, or all. In UTC.",
        rich_help_panel=EVIDENCE,
    ),
]
At = Annotated[
    str | None,
    typer.Option(help="Prices of this day (2026-11-30). Default: today.", rich_help_panel=EVIDENCE),
]
Prices = Annotated[
    Path | None,
    typer.Option(
        help="Prices of your own (TOML), in place of prices.toml in the store.", rich_help_panel=EVIDENCE
    ),
]
Refs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[RUN]...", help="Stored runs: ids, names or latest. None: the runs of all offers."
    ),
]


def begin_of(since: str, now: "datetime") -> "datetime | None":
    """The moment that --since means; None for `all`. Raises ConfigError."""
    from paceline.cli.moments import parse_moment

    return None if since == EVER else parse_moment(since, "--since", now)


def chosen_digests(refs: Sequence[str] | None) -> "AllDigests":
    """The digests of these runs, each once, or of all stored runs. Raises StoreError."""
    from paceline.advisor.digests import AllDigests, all_digests, keep
    from paceline.report.model import build_report
    from paceline.store.runs import open_run

    if not refs:
        return all_digests(watch=watch)
    runs = {run.id: run for run in map(open_run, refs)}
    return AllDigests(tuple(keep(build_report(run)) for run in runs.values()), ())


def say_left_out(found: "AllDigests") -> None:
    """On stderr, which runs give no figures, and why."""
    from paceline.advisor.digests import Problem
    from paceline.advisor.evidence import why_left_out
    from paceline.cli.output import talk

    reasons = [(one.run_id, why_left_out(one)) for one in found.digests]
    for one in (*found.problems, *(Problem(run_id, why) for run_id, why in reasons if why is not None)):
        talk(f"run {one.run_id} is left out: {one.text}")


def watch(done: int, of: int) -> None:
    """Runs are read once; that may take a while the first time."""
    from paceline.cli.output import talk

    if done == 0:
        talk(f"reading {of:,} {'run that was' if of == 1 else 'runs that were'} not read before")
    elif done < of and done % 50 == 0:
        talk(f"  {done:,} of {of:,}")
