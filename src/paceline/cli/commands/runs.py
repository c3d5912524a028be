"""`paceline runs`: what was measured before."""

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paceline.cli.defaults import settings
from paceline.cli.option_groups import with_groups
from paceline.cli.options import ReportFlags
from paceline.errors import ConfigError

if TYPE_CHECKING:
    from paceline.store.runs import RunEntry

# Room for name, model and endpoint, however narrow the terminal is.
_NARROWEST = 16
_LEAST_OF_MODEL = 10

app = typer.Typer(help="List, show, export, delete and resume stored runs.", no_args_is_help=True)


@app.callback()
def _home() -> None:
    settings()


Ref = Annotated[str, typer.Argument(help="A run's id, the beginning of one, a name, or latest.")]


@app.command("list")
def list_(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print paceline.runs/1 in place of the table.")
    ] = False,
) -> int:
    """List all runs, the newest first."""
    from paceline.store.runs import list_runs

    entries = list_runs()
    if as_json:
        typer.echo(json.dumps({"schema": "paceline.runs/1", "runs": [entry.to_dict() for entry in entries]}))
    elif not entries:
        from paceline.cli.output import talk
        from paceline.store.paths import runs_folder

        talk(f"there are no runs in {runs_folder()}")
    else:
        from paceline.cli.output import harmless, terminal_columns

        for line in _table(entries, terminal_columns()):
            typer.echo(harmless(line))
    return 0


@app.command("show")
@with_groups
def show(ref: Ref, report: ReportFlags) -> int:
    """Report a stored run anew, in any format."""
    from paceline.cli.output import check_outputs
    from paceline.cli.render import emit, report_of
    from paceline.store.runs import open_run

    check_outputs(report.paths())
    emit(report_of(open_run(ref)), report)
    return 0


@app.command("export")
def export(
    ref: Ref,
    path: Annotated[
        Path,
        typer.Argument(
            help="FILE.parquet: the rows; FILE.tar: the whole run; .jobs.csv: jobs; .json, .csv, .html, .md."
        ),
    ],
) -> int:
    """Write a stored run to one file, in the format that its name ends in."""
    from paceline.cli.output import check_outputs, talk, write_output
    from paceline.cli.render import costed, rendered, report_of
    from paceline.store.export import export_archive, export_parquet
    from paceline.store.runs import open_run

    check_outputs({"the file": path})
    run = open_run(ref)
    options = {".json": "--json", ".csv": "--csv", ".html": "--html", ".md": "--markdown"}
    if path.suffix == ".parquet":
        export_parquet(run, path)
    elif path.suffix == ".tar":
        export_archive(run, path)
    elif path.name.endswith(".jobs.csv"):
        write_output(path, rendered(report_of(run), "jobs"))
    elif path.suffix in options:
        write_output(path, rendered(costed(report_of(run)), options[path.suffix]))
    else:
        raise ConfigError(
            f"{path}: no format has names that end in {path.suffix or 'nothing'}",
            f"end it in .parquet, .tar, .jobs.csv, {', '.join(options)}",
        )
    talk(f"wrote {path}")
    return 0


@app.command("delete")
def delete(refs: Annotated[list[str], typer.Argument(help="Runs to delete, for good.")]) -> int:
    """Delete stored runs."""
    from paceline.cli.output import talk
    from paceline.store.paths import home
    from paceline.store.runs import delete_run, find_id

    # All are looked up before the first is gone, so that a mistyped one deletes nothing; they are not
    # opened, so that a damaged one can be deleted.
    for run_id in dict.fromkeys([find_id(ref, home()) for ref in refs]):
        delete_run(run_id)
        talk(f"deleted {run_id}")
    return 0


@app.command("resume")
@with_groups
def resume(  # noqa: PLR0917
    ref: Ref,
    report: ReportFlags,
    header: Annotated[
        list[str] | None,
        typer.Option("--header", "-H", help="A header 'Name: value' that the run was made with."),
    ] = None,
    api_key_env: Annotated[
        str | None, typer.Option(help="Environment variable with the key, where it is another now.")
    ] = None,
    ca_file: Annotated[
        Path | None, typer.Option(help="Trust this CA (PEM), where it lies elsewhere now.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check/--no-check", help="Ask the endpoint for one token before load begins.")
    ] = True,
) -> int:
    """Finish a run that was cut off: the same load and seed, the requests that are missing."""
    from dataclasses import replace

    from paceline.cli.live import make_view
    from paceline.cli.output import check_outputs
    from paceline.cli.render import conclude, say_head
    from paceline.measure import driver
    from paceline.measure.job import Credentials, job_of, prepare
    from paceline.store.runs import open_run

    check_outputs(report.paths())
    run = open_run(ref)
    driver.check_resumable(run)
    credentials = Credentials(headers=tuple(header or ()), api_key_env=api_key_env, ca_file=ca_file)
    prepared = prepare(replace(job_of(run, credentials), checked=check))
    say_head(prepared)
    with make_view(f"{prepared.target.display} {prepared.target.model}") as view:
        result = driver.resume(run.id, prepared, watch=view.update)
    return conclude(result, report)


def _table(entries: "list[RunEntry]", width: int | None = None) -> list[str]:
    """Columns as wide as they need to be; within `width` STARTED goes first, then endpoints are cut."""
    from paceline.cli.output import clipped

    rows = [
        (
            entry.id,
            _local(entry.started_at),
            entry.state,
            entry.name or "",
            f"{entry.model} at {entry.endpoint}" if entry.endpoint else "",
        )
        for entry in entries
    ]
    rows.insert(0, ("ID", "STARTED", "STATE", "NAME", "MODEL"))
    named = any(entry.name for entry in entries)
    columns = [0, 1, 2, 3, 4] if named else [0, 1, 2, 4]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    if width is not None:
        last = min(widths[4], _NARROWEST)
        if named and _room(width, widths, columns) < widths[3] + last:
            # The id begins with the same instant, and a name is what a run can be asked for by.
            columns.remove(1)
        room = max(_room(width, widths, columns), _NARROWEST)
        if named:
            # The endpoint is cut before the name.
            widths[3] = min(widths[3], max(room - min(last, _LEAST_OF_MODEL), room // 2))
            room -= widths[3]
        widths[4] = min(widths[4], room)
    return [
        "  ".join(clipped(row[column], widths[column]).ljust(widths[column]) for column in columns).rstrip()
        for row in rows
    ]


def _room(width: int, widths: list[int], columns: list[int]) -> int:
    """What is left for the name and the model, with their gaps taken off."""
    return width - sum(widths[column] for column in columns if column < 3) - 2 * (len(columns) - 1)


def _local(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment.astimezone():%Y-%m-%d %H:%M}"
