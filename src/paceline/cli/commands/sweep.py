"""`paceline sweep`: one endpoint at many loads, or with many kinds of request."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from paceline.cli.option_groups import with_groups
from paceline.cli.options import RESULT, EndpointFlags, LoadFlags
from paceline.cli.request_options import RequestFlags
from paceline.cli.server_options import ServerFlags
from paceline.cli.study_options import STUDY, StudyReportFlags
from paceline.errors import ConfigError

if TYPE_CHECKING:
    from paceline.measure.study_axes import Axis

DURATION, WARMUP = "30s", "5s"


@with_groups
def sweep(  # noqa: PLR0917
    url: Annotated[str, typer.Argument(help="Base URL, as in http://localhost:8000/v1.")],
    load: LoadFlags,
    requests: RequestFlags,
    endpoint: EndpointFlags,
    server: ServerFlags,
    report: StudyReportFlags,
    over: Annotated[
        list[str],
        typer.Option(
            "--over",
            help="What is varied: concurrency=1..64, rate=2,4,8, prompt_tokens=128..4096, or any field of "
            "the workload, as call.step.output_tokens=100..500:100. Several make a grid.",
            rich_help_panel=STUDY,
        ),
    ],
    repeats: Annotated[
        int, typer.Option(help="How often each point is measured.", min=1, max=100, rich_help_panel=STUDY)
    ] = 1,
    order: Annotated[
        str,
        typer.Option(
            help="random (default: drift then does not look like an effect), up or down.",
            rich_help_panel=STUDY,
        ),
    ] = "random",
    settle: Annotated[
        str, typer.Option(help="The endpoint is left alone so long between steps.", rich_help_panel=STUDY)
    ] = "5s",
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Model; may be left out where the server has one.")
    ] = None,
    slo: Annotated[
        str | None,
        typer.Option(help="Objectives, as in ttft_ms=500,itl_ms=50: gives goodput.", rich_help_panel=RESULT),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="A name to find the study by.", rich_help_panel=RESULT)
    ] = None,
) -> int:
    """Measure an endpoint at many loads, or with many kinds of request.

    Each step is a stored run with its own warm-up (30s after 5s, if nothing
    else is said). All together are one study, with curves and the knee.
    Ctrl-C once ends it with a report of what there is; `paceline study
    resume` goes on with it. Exit code: 0 done and no step invalid, 1 failed
    or invalid, 2 wrong usage.
    """
    from paceline.cli.asked import asked_job
    from paceline.cli.defaults import settings
    from paceline.cli.output import check_outputs
    from paceline.cli.studying import conclude_study, run_study
    from paceline.measure.job import prepare
    from paceline.measure.study import new_study
    from paceline.measure.study_axes import RATE, Axis, grid, job_at
    from paceline.measure.study_sweep import ORDERS
    from paceline.store.manifest import check_name
    from paceline.store.studies import StudyWriter, open_study
    from paceline.units import parse_duration_ns

    axes = [Axis.parse(text) for text in over]
    points = grid(axes)
    if order not in ORDERS:
        raise ConfigError(f"--order {order} is unknown", f"it is {', '.join(ORDERS)}")
    # 0 is no duration, and a wish that makes sense.
    settle_ns = 0 if settle.strip() in ("0", "0s") else parse_duration_ns(settle, "--settle")
    first_rate = next((axis.values[0] for axis in axes if axis.name == RATE), None)
    _check_one_answer(axes, load)
    load = _with_defaults(load, first_rate)
    job = asked_job(url, model=model, load=load, requests=requests, endpoint=endpoint, server=server, slo=slo)
    threads = load.threads if load.threads is not None else settings().measure.threads
    # All points are looked at before the first is measured.
    for at in points:
        job_at(job, at, threads=threads)
    check_outputs(report.paths())
    first = prepare(job_at(job, points[0], threads=threads))
    study = new_study(
        "sweep",
        job,
        first,
        {
            "over": {axis.name: list(axis.values) for axis in axes},
            "points": points,
            "repeats": repeats,
            "order": order,
            "seed": load.seed,
            "settle_ns": settle_ns,
            "threads": threads,
            "keep_salt": requests.salt is not None,
        },
        name=None if name is None else check_name(name),
    )
    writer = StudyWriter.create(study)
    run_study(writer, job, first)
    return conclude_study(open_study(writer.id), report.paths())


def _with_defaults(load: LoadFlags, first_rate: float | None) -> LoadFlags:
    """Steps of half a minute, if nothing else is said; a rate that is varied is a rate."""
    if load.duration is None and load.requests is None and load.jobs is None:
        load = replace(load, duration=DURATION, warmup=load.warmup or WARMUP)
    return load if first_rate is None else replace(load, rate=first_rate)


def _check_one_answer(axes: "Sequence[Axis]", load: LoadFlags) -> None:
    """A load that is varied has no other. Raises ConfigError."""
    for name, given in (("rate", load.rate), ("concurrency", load.concurrency)):
        if given is not None and any(axis.name == name for axis in axes):
            raise ConfigError(
                f"--{name} and --over {name} are two answers to one question", f"leave --{name} out"
            )
