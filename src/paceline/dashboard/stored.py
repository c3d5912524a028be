"""Reports of stored runs, as the command line makes them."""

from pathlib import Path

from paceline.errors import ConfigError
from paceline.measure.local_tokens import local_event_tokens
from paceline.report.model import Report, build_report
from paceline.store.runs import open_run


def report_of(ref: str, home: Path) -> Report:
    """The report of a run; its tokens counted by its own tokenizer, where that is here. Raises StoreError."""
    run = open_run(ref, at=home)
    tokenizer = run.manifest.workload.get("tokenizer")
    local_tokens = None
    if tokenizer:
        try:
            local_tokens = local_event_tokens(run.rows(["text", "event_bytes"]), tokenizer)
        except ConfigError as error:
            run.manifest.notes = [
                *run.manifest.notes,
                f"tokens are not counted by the run's own tokenizer: {error.message}",
            ]
    return build_report(run, local_tokens=local_tokens)
