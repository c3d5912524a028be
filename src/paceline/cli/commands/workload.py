"""`paceline workload`: the built-in workloads, and files of one's own."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paceline.errors import ConfigError

if TYPE_CHECKING:
    from paceline.workloads.spec import WorkloadSpec

app = typer.Typer(help="List, show, copy and check workloads.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="A built-in workload.")]


@app.command("list")
def list_() -> int:
    """List the built-in workloads."""
    from paceline.cli.output import COLUMNS, wrapped
    from paceline.workloads.files import built_in_names, load_workload

    names = built_in_names()
    room = max(len(name) for name in names) + 2
    for name in names:
        first, *rest = wrapped(load_workload(name).about or "", COLUMNS - room).splitlines()
        typer.echo(f"{name.ljust(room)}{first}")
        for line in rest:
            typer.echo(" " * room + line)
    return 0


@app.command("show")
def show(name: Name) -> int:
    """Print the file of a built-in workload."""
    from paceline.workloads.files import built_in_text

    typer.echo(built_in_text(name), nl=False)
    return 0


@app.command("init")
def init(
    name: Name, file: Annotated[Path, typer.Argument(help="Where the copy goes; it must not exist.")]
) -> int:
    """Copy a built-in workload to a file, to make it one's own."""
    from paceline.cli.output import talk
    from paceline.workloads.files import built_in_text

    text = built_in_text(name)
    begun = False
    try:
        with file.open("x", encoding="utf-8") as copy:
            begun = True
            copy.write(text)
    except FileExistsError:
        raise ConfigError(f"{file} exists", "give another path, or delete it first") from None
    except OSError as error:
        if begun:
            # A part of a workload may well be one.
            file.unlink(missing_ok=True)
        raise ConfigError(
            f"cannot write {file}: {error.strerror}", "give a path in a folder of yours that has room"
        ) from None
    talk(f"wrote {file}; `paceline workload check {file}` says what a job of it is")
    return 0


@app.command("check")
def check(
    workload: Annotated[str, typer.Argument(metavar="FILE", help="A workload file, or a built-in name.")],
) -> int:
    """Read a workload, and say in words what a job of it is. Nothing is sent."""
    from paceline.cli.output import COLUMNS, harmless, wrapped
    from paceline.workloads.files import load_workload
    from paceline.workloads.sources import job_source, read_report
    from paceline.workloads.summary import job_lines

    spec = load_workload(workload)
    _check_metrics(spec, workload)
    source = job_source(spec)
    report = read_report(source)
    head = spec.name or workload
    lines = [f"{head}: {spec.about}" if spec.about else head]
    lines += report.sentences() if report is not None else ()
    for line in [*lines, *job_lines(spec, source), *_objectives(spec)]:
        first, *rest = wrapped(line, COLUMNS - 2).splitlines() or [""]
        typer.echo(harmless(first))
        for one in rest:
            typer.echo(harmless(f"  {one}"))
    return 0


def _check_metrics(spec: "WorkloadSpec", where: str) -> None:
    from paceline.stats.goodput import Slo

    try:
        Slo.parse(",".join(f"{name}={limit}" for name, limit in spec.slo.items()))
    except ConfigError as error:
        raise ConfigError(f"{where}: [slo]: {error.message}", error.hint) from None


def _objectives(spec: "WorkloadSpec") -> list[str]:
    lines = []
    for what, limits in (("a call", spec.slo), ("a job", dict(spec.job_slo))):
        if limits:
            said = ", ".join(f"{name} {limit:,g}" for name, limit in limits.items())
            lines.append(f"objectives of {what}: {said}")
    if spec.jobs_per_day is not None:
        worth = spec.worth_usd_per_hour
        lines.append(
            f"jobs a day: {spec.jobs_per_day:,g}"
            + ("" if worth is None else f"; an hour saved is worth {worth:g} USD")
        )
    return lines
