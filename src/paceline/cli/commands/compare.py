"""`paceline compare`: is B faster than A?"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paceline.cli.option_groups import with_groups
from paceline.cli.options import RESULT, EndpointFlags, HtmlPath, LoadFlags, MarkdownPath, ResultPaths
from paceline.cli.request_options import RequestFlags
from paceline.cli.second_options import SECOND, SecondFlags
from paceline.cli.server_options import ServerFlags
from paceline.errors import ConfigError

if TYPE_CHECKING:
    from paceline.measure.job import Job
    from paceline.measure.scrape import ServerWatch


@dataclass(frozen=True)
class MeasuredSecondFlags(SecondFlags):
    """What differs in the second endpoint where both are measured."""

    server_metrics_b: Annotated[
        str | None,
        typer.Option(
            help="Where B has its Prometheus metrics; else auto, where A's are not off.",
            rich_help_panel=SECOND,
        ),
    ] = None

    def job(self, first: "Job", url: str, name: str | None) -> "Job":
        """B's job, from A's. Raises ConfigError for a key that is not B's."""
        return replace(
            super().job(first, url, name),
            # The two may be one server, whose cache must not know B's prompts from A.
            workload=first.workload.fresh() if first.workload.prefix_salt else first.workload,
            jobs=None,
            server=_second_server(first.server, self.server_metrics_b),
        )


@dataclass(frozen=True)
class ComparisonFlags(ResultPaths):
    """What is concluded, and where it goes."""

    fail_if_slower: Annotated[
        str | None,
        typer.Option(
            help="Exit with 1 when a headline metric of B is worse by more than this, as in 5%.",
            rich_help_panel=RESULT,
        ),
    ] = None
    smallest_difference: Annotated[
        str,
        typer.Option(help="A difference below this is of no interest.", rich_help_panel=RESULT),
    ] = "5%"
    json_path: Annotated[
        Path | None,
        typer.Option("--json", help="Write paceline.comparison/1 here; - is stdout.", rich_help_panel=RESULT),
    ] = None
    html_path: HtmlPath = None
    markdown_path: MarkdownPath = None


@with_groups
def compare(  # noqa: PLR0917
    a: Annotated[str, typer.Argument(help="A stored run, or the base URL of an endpoint.")],
    b: Annotated[str, typer.Argument(help="Another of the same kind.")],
    load: LoadFlags,
    requests: RequestFlags,
    endpoint: EndpointFlags,
    server: ServerFlags,
    second: MeasuredSecondFlags,
    result: ComparisonFlags,
    model: Annotated[str | None, typer.Option("--model", "-m", help="Model of both endpoints.")] = None,
    slo: Annotated[
        str | None,
        typer.Option(help="Objectives, as in ttft_ms=500,itl_ms=50.", rich_help_panel=RESULT),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Names the runs NAME-a and NAME-b.", rich_help_panel=RESULT)
    ] = None,
    pairs: Annotated[
        int | None, typer.Option(help="Pairs of blocks (default 5 to 20, by the load).", min=2)
    ] = None,
) -> int:
    """Compare two stored runs, or two endpoints measured in turn.

    Endpoints are measured in random short blocks, so that whatever drifts
    falls on both alike. Each metric gets a ratio with its interval, and a
    verdict. Exit code: 0 done; 1 a run failed or is invalid, or B is slower
    than --fail-if-slower allows; 2 wrong usage.
    """
    from paceline.cli.asked import asked_job
    from paceline.cli.comparing import are_endpoints, conclude_comparison, measure_both, stored_pair
    from paceline.cli.output import check_outputs
    from paceline.measure.job import prepare
    from paceline.units import parse_percentage

    threshold = None
    if result.fail_if_slower is not None:
        threshold = parse_percentage(result.fail_if_slower, "--fail-if-slower")
    smallest = parse_percentage(result.smallest_difference, "--smallest-difference")
    check_outputs(result.paths())
    if not are_endpoints(a, b):
        _refuse_load(load, requests, endpoint, server, second, model, slo, name, pairs)
        pair = stored_pair(a, b)
        return conclude_comparison(pair, result.paths(), smallest, threshold)

    first_job = asked_job(
        a,
        model=model,
        load=load,
        requests=requests,
        endpoint=endpoint,
        server=server,
        slo=slo,
        name=None if name is None else f"{name}-a",
    )
    # Before the first is asked anything.
    second_job = second.job(first_job, b, name)
    pair = measure_both(prepare(first_job), prepare(second_job), pairs=pairs)
    return conclude_comparison(pair, result.paths(), smallest, threshold)


def _second_server(first: "ServerWatch", url: str | None) -> "ServerWatch":
    """B's metrics: never those at A's URL."""
    from paceline.measure.scrape import AUTO, OFF

    return replace(first, metrics=url or (first.metrics if first.metrics in (AUTO, OFF) else AUTO))


def _refuse_load(*given: object) -> None:
    """Options, and option groups, that have no meaning for stored runs."""
    groups = (LoadFlags(), RequestFlags(), EndpointFlags(), ServerFlags(), MeasuredSecondFlags())
    if any(one is not None and one not in groups for one in given):
        raise ConfigError(
            "stored runs are compared as they are: options of load, requests and endpoints have no meaning",
            "leave them out, or give two URLs to measure",
        )
