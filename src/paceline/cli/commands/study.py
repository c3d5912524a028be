"""`paceline study`: sweeps and capacities that were measured before."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from paceline.cli.defaults import settings
from paceline.cli.option_groups import with_groups
from paceline.cli.study_options import CredentialFlags, StudyReportFlags

if TYPE_CHECKING:
    from paceline.store.studies import StudyEntry

_NARROWEST = 16

app = typer.Typer(
    help="List, show, resume and delete studies: sweeps and searches for a capacity.", no_args_is_help=True
)


@app.callback()
def _home() -> None:
    settings()


Ref = Annotated[str, typer.Argument(help="A study's id, the beginning of one, a name, or latest.")]


@app.command("list")
def list_(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print paceline.studies/1 in place of the table.")
    ] = False,
) -> int:
    """List all studies, the newest first."""
    from paceline.cli.output import talk, terminal_columns
    from paceline.store.studies import list_studies, studies_folder

    entries = list_studies()
    if as_json:
        typer.echo(
            json.dumps({"schema": "paceline.studies/1", "studies": [entry.to_dict() for entry in entries]})
        )
    elif not entries:
        talk(f"there are no studies in {studies_folder()}")
    else:
        for line in _table(entries, terminal_columns()):
            typer.echo(line)
    return 0


@app.command("show")
@with_groups
def show(ref: Ref, report: StudyReportFlags) -> int:
    """Report a study anew, in any format."""
    from paceline.cli.output import check_outputs
    from paceline.cli.studying import emit_study
    from paceline.report.study import build_study_report
    from paceline.store.studies import open_study

    check_outputs(report.paths())
    emit_study(build_study_report(open_study(ref)), report.paths())
    return 0


@app.command("resume")
@with_groups
def resume(
    ref: Ref,
    report: StudyReportFlags,
    credentials: CredentialFlags,
    budget: Annotated[
        str | None,
        typer.Option(help="Of a search for a capacity: it may take so long in all, in place of its own."),
    ] = None,
) -> int:
    """Go on with a study that was cut off, or whose time was up.

    Steps that have ended are kept; one that was cut off is done again.
    """
    from paceline.cli.output import check_outputs
    from paceline.cli.studying import conclude_study, run_study
    from paceline.errors import ConfigError, StoreError
    from paceline.measure.study import job_of_study
    from paceline.store.studies import StudyWriter, open_study
    from paceline.units import parse_duration_ns

    check_outputs(report.paths())
    study = open_study(ref)
    manifest = study.manifest
    if budget is not None and manifest.kind != "capacity":
        raise ConfigError("--budget is for a search for a capacity", "leave it out")
    if study.state == "complete" and budget is None:
        more = "; give it more time with --budget" if manifest.kind == "capacity" else ""
        raise StoreError(f"study {study.id} is complete{more}", f"show it: paceline study show {study.id}")
    job = job_of_study(manifest, credentials.credentials())
    writer = StudyWriter.reopen(study.id)
    asked = dict(manifest.asked)
    if budget is not None:
        asked["budget_s"] = parse_duration_ns(budget, "--budget") / 1e9
    try:
        writer.update(state="running", finished_at=None, asked=asked)
    except StoreError:
        writer.release()
        raise
    run_study(writer, job)
    return conclude_study(open_study(study.id), report.paths())


@app.command("delete")
def delete(
    refs: Annotated[list[str], typer.Argument(help="Studies to delete, for good.")],
    with_runs: Annotated[bool, typer.Option("--runs", help="Delete the runs of their steps too.")] = False,
) -> int:
    """Delete studies; their runs stay, if nothing else is said."""
    from paceline.cli.output import talk
    from paceline.store.studies import delete_study, find_study, runs_of

    # All are looked up before the first is gone, so that a mistyped one deletes nothing.
    for study_id in dict.fromkeys([find_study(ref) for ref in refs]):
        runs = runs_of(study_id) if with_runs else []
        delete_study(study_id)
        talk(f"deleted {study_id}")
        _delete_runs(runs)
    return 0


def _delete_runs(runs: list[str]) -> None:
    from paceline.cli.output import talk
    from paceline.store.runs import delete_run

    for run_id in runs:
        delete_run(run_id)
    if runs:
        talk(f"deleted {len(runs)} runs of its steps")


def _table(entries: "list[StudyEntry]", width: int | None = None) -> list[str]:
    """Columns as wide as they need to be; within `width` the last is cut."""
    from paceline.cli.output import clipped

    rows = [
        (
            entry.id,
            entry.kind,
            entry.state,
            str(entry.steps),
            entry.name or "",
            f"{entry.model} at {entry.endpoint}" if entry.endpoint else "",
        )
        for entry in entries
    ]
    rows.insert(0, ("ID", "KIND", "STATE", "STEPS", "NAME", "MODEL"))
    named = any(entry.name for entry in entries)
    columns = [0, 1, 2, 3, 4, 5] if named else [0, 1, 2, 3, 5]
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    if width is not None:
        widths[4] = min(widths[4], 20)
        used = sum(widths[column] + 2 for column in columns[:-1])
        widths[5] = max(width - used, _NARROWEST)
    return [
        "  ".join(clipped(row[column], widths[column]).ljust(widths[column]) for column in columns).rstrip()
        for row in rows
    ]
