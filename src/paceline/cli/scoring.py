"""Scores of a capability probe, after its run and anew."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from paceline.cli.output import STDOUT, harmless, talk, wrapped, write_outputs

if TYPE_CHECKING:
    from paceline.store.runs import StoredRun


def scores_after(run: "StoredRun") -> dict[str, Any] | None:
    """The scores of a run that has just ended; None for one that is no probe, or that cannot be scored now.

    The run is whole without them, so that what is in their way is only said.
    """
    from paceline.errors import PacelineError
    from paceline.measure.capability import is_probe, score_run

    if not is_probe(run):
        return None
    try:
        return score_run(run)
    except PacelineError as error:
        talk(f"the answers are not scored: {error.message}")
        talk(f"hint: {error.hint or ''}; then: paceline capability score {run.id}")
        return None


def show_scores(
    document: Mapping[str, Any], json_path: Path | None = None, *, data_on_stdout: bool = False
) -> None:
    """Print scores, and write the document where it is asked for; `-` is stdout, and people read stderr."""
    from paceline.report.figures import json_text

    text = "\n".join(line for one in _lines(document) for line in (wrapped(one).splitlines() or [""]))
    if data_on_stdout or json_path == STDOUT:
        talk(text)
    else:
        typer.echo(f"\n{harmless(text)}")
    hint = "the scores are kept: `paceline capability score` writes them anew"
    write_outputs({"--json": json_path}, lambda _: json_text(document), hint=hint)


def _lines(document: Mapping[str, Any]) -> list[str]:
    from paceline.report.capability_text import notes, table_lines

    return [*table_lines(document), "", *notes(document)]
