"""`paceline capacity`: the highest load that meets the objectives."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paceline.cli.option_groups import with_groups
from paceline.cli.options import RESULT, EndpointFlags, LoadFlags
from paceline.cli.request_options import RequestFlags
from paceline.cli.server_options import ServerFlags
from paceline.cli.study_options import STUDY, StudyReportFlags
from paceline.errors import ConfigError

if TYPE_CHECKING:
    from paceline.measure.job import Job
    from paceline.measure.study_capacity import CapacityPlan

DURATION, WARMUP = "20s", "4s"
RANGES = {"rate": (0.25, 1024.0), "concurrency": (1.0, 1024.0)}


@dataclass(frozen=True)
class SearchFlags:
    """What is sought, and how sure the answer has to be."""

    share: Annotated[
        str | None,
        typer.Option(
            help="At least this share of attempted requests has to meet all objectives (default 95%).",
            rich_help_panel=STUDY,
        ),
    ] = None
    quantile: Annotated[
        float | None,
        typer.Option(
            help="In place of --share: this percentile of each metric has to be within its limit, as 95.",
            rich_help_panel=STUDY,
        ),
    ] = None
    confidence: Annotated[
        str,
        typer.Option(help="How sure the answer is not above the capacity: 95%.", rich_help_panel=STUDY),
    ] = "95%"
    tolerance: Annotated[
        str,
        typer.Option(help="The search ends when the interval is no wider than this.", rich_help_panel=STUDY),
    ] = "5%"
    budget: Annotated[str, typer.Option(help="The search takes at most so long.", rich_help_panel=STUDY)] = (
        "10m"
    )


@with_groups
def capacity(  # noqa: PLR0917
    url: Annotated[str, typer.Argument(help="Base URL, as in http://localhost:8000/v1.")],
    load: LoadFlags,
    requests: RequestFlags,
    endpoint: EndpointFlags,
    server: ServerFlags,
    report: StudyReportFlags,
    search: SearchFlags,
    slo: Annotated[
        str | None,
        typer.Option(
            help="Objectives, as in ttft_ms=500,itl_ms=50; else the workload's.", rich_help_panel=STUDY
        ),
    ] = None,
    over: Annotated[
        str,
        typer.Option(
            "--over",
            help="rate or concurrency, and perhaps the range to search: rate=0.5..64.",
            rich_help_panel=STUDY,
        ),
    ] = "rate",
    settle: Annotated[
        str, typer.Option(help="The endpoint is left alone so long between steps.", rich_help_panel=STUDY)
    ] = "2s",
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Model; may be left out where the server has one.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="A name to find the study by.", rich_help_panel=RESULT)
    ] = None,
) -> int:
    """Find the highest load that meets the objectives, with stated confidence.

    Short steps (20s after 4s, if nothing else is said) first double the
    load until one fails, then close in on the capacity; one that is plainly
    overloaded is cut short. The answer is a load, an interval, or how much
    more time it takes. Ctrl-C once ends the search with what there is;
    `paceline study resume` goes on with it. Exit code: 0 found or
    above the range, 1 not found or invalid, 2 wrong usage.
    """
    from paceline.cli.asked import asked_job
    from paceline.cli.defaults import settings
    from paceline.cli.output import check_outputs
    from paceline.cli.studying import conclude_study, run_study
    from paceline.measure.job import prepare
    from paceline.measure.study import new_study
    from paceline.measure.study_axes import job_at
    from paceline.store.manifest import check_name
    from paceline.store.studies import StudyWriter, open_study
    from paceline.units import parse_duration_ns

    axis, lowest, highest = _range(over)
    # 0 is no duration, and a wish that makes sense.
    settle_ns = 0 if settle.strip() in ("0", "0s") else parse_duration_ns(settle, "--settle")
    if load.duration is None and load.requests is None and load.jobs is None:
        load = replace(load, duration=DURATION, warmup=load.warmup or WARMUP)
    if axis == "rate":
        if load.rate is not None:
            raise ConfigError("--rate is what is sought", "give the range to search: --over rate=0.5..64")
        load = replace(load, rate=lowest)
    job = asked_job(url, model=model, load=load, requests=requests, endpoint=endpoint, server=server, slo=slo)
    threads = load.threads if load.threads is not None else settings().measure.threads
    plan = _plan(job, axis, (lowest, highest), search, threads)
    check_outputs(report.paths())
    first = prepare(job_at(job, {axis: int(lowest) if plan.search.whole else lowest}, threads=threads))
    asked = {**plan.to_dict(), "settle_ns": settle_ns, "keep_salt": requests.salt is not None}
    study = new_study("capacity", job, first, asked, name=None if name is None else check_name(name))
    writer = StudyWriter.create(study)
    run_study(writer, job, first)
    return conclude_study(open_study(writer.id), report.paths())


def _range(over: str) -> tuple[str, float, float]:
    """`rate`, `rate=0.5..64`, `concurrency=1..128` -> the axis and its ends. Raises ConfigError."""
    axis, equals, text = (part.strip() for part in over.partition("="))
    hint = "write --over rate, --over concurrency, or with a range --over rate=0.5..64"
    if axis not in RANGES:
        raise ConfigError(f"--over {over}: a capacity is one of rate or of concurrency", hint)
    if not equals:
        return axis, *RANGES[axis]
    first, dots, last = text.partition("..")
    try:
        ends = float(first), float(last)
    except ValueError:
        ends = (-1.0, -1.0)
    whole = axis == "concurrency"
    if not dots or not 0 < ends[0] < ends[1] <= 1e6 or (whole and (ends[0] % 1 or ends[1] % 1)):
        raise ConfigError(f"--over {over}: {text} is no range upward from above 0", hint)
    return axis, *ends


def _plan(
    job: "Job", axis: str, ends: tuple[float, float], flags: SearchFlags, threads: int | None
) -> "CapacityPlan":
    """What is sought. Raises ConfigError."""
    from paceline.measure.study_capacity import ALL, CapacityPlan
    from paceline.stats.capacity_search import Asked
    from paceline.units import parse_duration_ns

    if not job.slo:
        raise ConfigError("a capacity needs objectives", "say which: --slo ttft_ms=500,itl_ms=50")
    quantile = flags.quantile
    if flags.share is not None and quantile is not None:
        raise ConfigError("--share and --quantile are two answers to one question", "give one of them")
    if quantile is not None and not 50 <= quantile < 100:
        raise ConfigError(f"--quantile {quantile:g} is not from 50 to under 100", "as in --quantile 95")
    least = quantile / 100 if quantile is not None else _part(flags.share or "95%", "--share", 0.5, 0.999)
    search = Asked(
        share=least,
        lowest=ends[0],
        highest=ends[1],
        whole=axis == "concurrency",
        confidence=_part(flags.confidence, "--confidence", 0.5, 0.999),
        tolerance=_part(flags.tolerance, "--tolerance", 0.01, 0.5),
    )
    return CapacityPlan(
        axis=axis,
        search=search,
        criteria=(ALL,) if quantile is None else tuple(job.slo),
        budget_s=parse_duration_ns(flags.budget, "--budget") / 1e9,
        seed=job.load.seed,
        threads=threads,
    )


def _part(text: str, option: str, least: float, most: float) -> float:
    from paceline.units import format_percentage, parse_percentage

    value: Any = parse_percentage(text, option)
    if not least <= value <= most:
        raise ConfigError(
            f"{option} {text} is not from {format_percentage(least)} to {100 * most:g}%",
            f"as in {option} 95%" if least >= 0.5 else f"as in {option} 5%",
        )
    return float(value)
