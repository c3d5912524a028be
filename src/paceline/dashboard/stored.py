"""Reports of stored runs, as the command line makes them."""

from pathlib import Path

from paceline.cli import render
from paceline.report.model import Report
from paceline.store.runs import open_run


def report_of(ref: str, home: Path) -> Report:
    """The report of a run; a tokenizer that is not here is a note of it. Raises StoreError."""
    run = open_run(ref, at=home)

    def note(why: str) -> None:
        text = f"tokens are not counted by the run's own tokenizer: {why}"
        run.manifest.notes = [*run.manifest.notes, text]

    return render.report_of(run, uncounted=note)
