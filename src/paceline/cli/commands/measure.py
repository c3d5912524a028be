"""`paceline measure`: measure one endpoint."""

from typing import Annotated

import typer

from paceline.cli.option_groups import with_groups
from paceline.cli.options import RESULT, EndpointFlags, LoadFlags, ReportFlags
from paceline.cli.request_options import RequestFlags
from paceline.cli.server_options import ServerFlags


@with_groups
def measure(  # noqa: PLR0917
    url: Annotated[str, typer.Argument(help="Base URL, as in http://localhost:8000/v1.")],
    load: LoadFlags,
    requests: RequestFlags,
    endpoint: EndpointFlags,
    server: ServerFlags,
    report: ReportFlags,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Model; may be left out where the server has one.")
    ] = None,
    slo: Annotated[
        str | None,
        typer.Option(help="Objectives, as in ttft_ms=500,itl_ms=50: gives goodput.", rich_help_panel=RESULT),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="A name to find the run by.", rich_help_panel=RESULT)
    ] = None,
) -> int:
    """Measure an endpoint, and report with what certainty.

    The run is stored, and its report printed. Ctrl-C once ends it with a
    report of what there is; `paceline runs resume` finishes a run that was
    cut off. Exit code: 0 done and not invalid, 1 failed or invalid, 2 wrong
    usage.
    """
    from paceline.cli.asked import asked_job
    from paceline.cli.live import make_view
    from paceline.cli.output import check_outputs
    from paceline.cli.render import conclude, say_head
    from paceline.measure import driver
    from paceline.measure.job import prepare

    job = asked_job(
        url, model=model, load=load, requests=requests, endpoint=endpoint, server=server, slo=slo, name=name
    )
    check_outputs(report.paths())
    prepared = prepare(job)
    say_head(prepared)
    with make_view(f"{prepared.target.display} {prepared.target.model}") as view:
        result = driver.measure(prepared, watch=view.update)
    return conclude(result, report)
