"""`paceline capability`: how much a model can do, by its answers."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paceline.cli.defaults import settings
from paceline.cli.option_groups import with_groups
from paceline.cli.options import LOAD, RESULT, EndpointFlags
from paceline.cli.request_options import REQUESTS, Stream, StreamUsage, SystemPrompt, Temperature
from paceline.cli.server_options import ServerFlags

if TYPE_CHECKING:
    from paceline.measure.job import Job
    from paceline.workloads.spec import WorkloadSpec

DEFAULT_MAX_TOKENS = 4096

app = typer.Typer(
    help="Probe what a model can do, and import scores that others have found.", no_args_is_help=True
)


@app.callback()
def _home() -> None:
    settings()


@dataclass(frozen=True)
class ProbeFlags:
    """What is asked, and how."""

    families: Annotated[
        str | None,
        typer.Option(
            help="Families of problems, as in products,spell_backward (all).", rich_help_panel=REQUESTS
        ),
    ] = None
    items: Annotated[
        int, typer.Option(help="Problems, dealt over the families in turn.", min=1, rich_help_panel=REQUESTS)
    ] = 100
    seed: Annotated[
        int | None,
        typer.Option(
            help="Asks the very problems of an earlier probe (fresh ones).", min=0, rich_help_panel=REQUESTS
        ),
    ] = None
    max_tokens: Annotated[
        int,
        typer.Option(help="Limit on each answer, its reasoning included.", min=1, rich_help_panel=REQUESTS),
    ] = DEFAULT_MAX_TOKENS
    temperature: Temperature = None
    system: SystemPrompt = None
    extra_body: Annotated[
        str | None,
        typer.Option(
            help='Further fields of the body as JSON, as in \'{"reasoning_effort": "low"}\'.',
            rich_help_panel=REQUESTS,
        ),
    ] = None
    stream: Stream = None
    usage: StreamUsage = None

    def workload(self, tokenizer: str | None) -> "WorkloadSpec":
        """The probe as a workload. Raises ConfigError."""
        from paceline.cli.request_options import parse_extra
        from paceline.workloads.spec import WorkloadSpec

        probe: dict[str, Any] = {"items": self.items, "seed": self.seed}
        if self.families is not None:
            probe["families"] = [name.strip() for name in self.families.split(",") if name.strip()]
        fields = {
            "name": "probe",
            "output_tokens": None,
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "system": self.system,
            "extra": None if self.extra_body is None else parse_extra(self.extra_body),
            "streaming": self.stream,
            "stream_usage": self.usage,
            "tokenizer": tokenizer,
            "probe": probe,
        }
        given = {
            name: value for name, value in fields.items() if value is not None or name == "output_tokens"
        }
        options = {
            "probe.families": "--families",
            "probe.items": "--items",
            "probe.seed": "--seed",
            "max_tokens": "--max-tokens",
            "temperature": "--temperature",
            "extra": "--extra-body",
        }
        return WorkloadSpec.parse(given, "the options", options)


@dataclass(frozen=True)
class ProbeLoadFlags:
    """When problems are asked."""

    concurrency: Annotated[
        int | None,
        typer.Option(
            "--concurrency",
            "-c",
            help="Problems always in flight (1). With --rate a cap.",
            rich_help_panel=LOAD,
        ),
    ] = None
    rate: Annotated[
        float | None, typer.Option("--rate", "-r", help="Problems a second.", rich_help_panel=LOAD)
    ] = None
    timeout: Annotated[
        str, typer.Option(help="A request that is not complete by then has failed.", rich_help_panel=LOAD)
    ] = "600s"


@app.command("run")
@with_groups
def run(  # noqa: PLR0917
    url: Annotated[str, typer.Argument(help="Base URL, as in http://localhost:8000/v1.")],
    probe: ProbeFlags,
    load: ProbeLoadFlags,
    endpoint: EndpointFlags,
    server: ServerFlags,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Model; may be left out where the server has one.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="A name to find the run by.", rich_help_panel=RESULT)
    ] = None,
    json_path: Annotated[
        Path | None,
        typer.Option("--json", help="Write paceline.capability/1 here; - is stdout.", rich_help_panel=RESULT),
    ] = None,
) -> int:
    """Ask a model problems whose answers a program can check.

    It is a run as any other: speed, reasoning tokens and price are of the same
    requests. Prints its report, and the scores by family with exact intervals;
    `paceline runs resume` finishes one that was cut off. Exit code: 0 done and
    not invalid, 1 failed or invalid, 2 wrong usage.
    """
    from paceline.cli.live import make_view
    from paceline.cli.options import ReportFlags
    from paceline.cli.output import check_outputs
    from paceline.cli.render import conclude, say_head
    from paceline.measure import driver
    from paceline.measure.job import prepare

    job = _job(url, probe, load, endpoint=endpoint, server=server, model=model, name=name)
    check_outputs({"--json": json_path})
    prepared = prepare(job)
    say_head(prepared)
    with make_view(f"{prepared.target.display} {prepared.target.model}") as view:
        result = driver.measure(prepared, watch=view.update)
    return conclude(result, ReportFlags(), scores_path=json_path)


def _job(
    url: str,
    probe: ProbeFlags,
    load: ProbeLoadFlags,
    *,
    endpoint: EndpointFlags,
    server: ServerFlags,
    model: str | None,
    name: str | None,
) -> "Job":
    from paceline.cli.options import LoadFlags, parse_slo
    from paceline.measure.job import Job
    from paceline.store.manifest import check_name
    from paceline.workloads.sources import job_source

    own = settings().measure
    workload = probe.workload(own.tokenizer)
    jobs = job_source(workload)
    flags = LoadFlags(
        concurrency=load.concurrency, rate=load.rate, requests=probe.items, timeout=load.timeout
    )
    return Job(
        url=url,
        workload=workload,
        load=flags.plan(own),
        model=model,
        protocol=endpoint.wire_protocol(),
        credentials=endpoint.credentials(own),
        slo=parse_slo(None, own),
        name=None if name is None else check_name(name),
        checked=endpoint.check,
        jobs=jobs,
        offer=endpoint.offer(),
        server=server.watch(own),
    )


@app.command("score")
def score(
    ref: Annotated[str, typer.Argument(help="A run's id, the beginning of one, a name, or latest.")],
    json_path: Annotated[
        Path | None, typer.Option("--json", help="Write paceline.capability/1 here; - is stdout.")
    ] = None,
) -> int:
    """Score a stored probe anew, from the text of its answers."""
    from paceline.cli.output import check_outputs
    from paceline.cli.scoring import show_scores
    from paceline.measure.capability import score_run
    from paceline.store.runs import open_run

    check_outputs({"--json": json_path})
    show_scores(score_run(open_run(ref)), json_path)
    return 0


@app.command("import")
def import_(
    file: Annotated[
        Path,
        typer.Argument(
            help="Scores as CSV, a log of Inspect (.json, .eval), or lm-evaluation-harness results (.json)."
        ),
    ],
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="The model that they are of, as your runs call it.")
    ] = None,
    provider: Annotated[
        str | None, typer.Option(help="Whose serving of it they are of (default: of any).")
    ] = None,
    tier: Annotated[str | None, typer.Option(help="standard, fast, ultra or flex (default: any).")] = None,
) -> int:
    """Take scores of other benchmarks, each with version and date.

    Where the number of items is known their interval is exact. Prints a line
    a score.
    """
    from paceline.cli.options import named_offer
    from paceline.cli.output import harmless, talk, wrapped
    from paceline.report.capability_text import import_lines
    from paceline.store.score_imports.files import read_scores
    from paceline.store.scores import save_scores

    offer = named_offer(provider, tier) or {}
    found = read_scores(file, model=model, provider=offer.get("provider"), tier=offer.get("tier"))
    path = save_scores(found.scores, found.source)
    for line in import_lines(found.scores):
        typer.echo(harmless(line))
    for note in found.notes:
        talk(wrapped(f"- {note}"))
    talk(wrapped(f"kept {len(found.scores)} scores in {path}"))
    return 0


@app.command("list")
def list_(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print paceline.scorelist/1 in place of the table.")
    ] = False,
) -> int:
    """List all scores: own probes by offer, and those that were imported."""
    from paceline.advisor.capability import all_scores, listed
    from paceline.advisor.digests import all_digests
    from paceline.cli.choosing import known_offers
    from paceline.cli.output import harmless, talk, terminal_columns, wrapped
    from paceline.report.capability_text import list_lines

    digests = all_digests()
    scores = all_scores(digests.digests, known_offers())
    rows = listed(scores)
    if as_json:
        typer.echo(json.dumps({"schema": "paceline.scorelist/1", "scores": rows}, allow_nan=False))
    elif not rows:
        talk("there are no scores: paceline capability run URL --model M, or paceline capability import FILE")
    else:
        for line in list_lines(rows, terminal_columns()):
            typer.echo(harmless(line))
    for problem in scores.problems:
        talk(wrapped(f"left out: {problem}"))
    return 0
