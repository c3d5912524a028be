"""`paceline import`: results of other tools into the store."""

from pathlib import Path
from typing import Annotated

import typer


def import_(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="GuideLLM's benchmarks.json, AIPerf's profile_export.jsonl, or vllm bench serve's result.",
        ),
    ],
    form: Annotated[
        str | None, typer.Option("--format", help="guidellm, aiperf or vllm; found out where not given.")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(help="A name to find the run by; of several runs each has its number behind it."),
    ] = None,
) -> int:
    """Take results of other tools into the store, marked with what they lack.

    Prints the id of each run, a line each. They are then listed, shown and
    compared as any other run, but never trusted as one.
    """
    from paceline.cli.defaults import settings
    from paceline.cli.output import talk, wrapped
    from paceline.store.imports.files import read_file
    from paceline.store.imports.run import store_run
    from paceline.store.manifest import check_name

    settings()
    if name is not None:
        check_name(name)
    # All are read before the first is stored, so that a bad one stores nothing.
    found = [(path, run) for path in files for run in read_file(path, form)]
    for number, (path, run) in enumerate(found, start=1):
        own = name if name is None or len(found) == 1 else f"{name}-{number}"
        run_id = store_run(run, path, name=own)
        typer.echo(run_id)
        talk(wrapped(f"imported {len(run.rows):,} requests of {run.tool} from {path} as {run_id}"))
        for lack in run.lacks:
            talk(wrapped(f"- without {lack}"))
    return 0
