"""`paceline show`: a stored run under other tools' definitions."""

from pathlib import Path
from typing import Annotated

import typer


def show(
    ref: Annotated[
        str, typer.Argument(metavar="RUN", help="A run's id, the beginning of one, a name, or latest.")
    ],
    tools: Annotated[
        list[str] | None,
        typer.Option(
            "--as",
            metavar="TOOL",
            help="guidellm, aiperf, vllm, sglang, inference-perf, llmperf, genai-bench or all; several "
            "times, "
            "or with commas.",
        ),
    ] = None,
    as_json: Annotated[
        Path | None, typer.Option("--json", help="Write paceline.conformance/1 to this file; - is stdout.")
    ] = None,
) -> int:
    """Show a stored run as other tools would: the same events, their definitions.

    Side by side with ours, and in words where and why they part.
    """
    from paceline.cli.defaults import settings
    from paceline.cli.output import STDOUT, check_outputs, talk, write_output
    from paceline.cli.render import report_of
    from paceline.report.conformance.model import conformance
    from paceline.report.conformance.text import render_text
    from paceline.report.conformance.tools import ALL, definitions
    from paceline.store.runs import open_run

    settings()
    wanted = definitions(tools or [ALL])
    check_outputs({"--json": as_json})
    view = conformance(report_of(open_run(ref)), wanted)
    if as_json != STDOUT:
        typer.echo(render_text(view), nl=False)
    if as_json is not None:
        write_output(as_json, view.to_json())
        if as_json != STDOUT:
            talk(f"wrote {as_json}")
    return 0
