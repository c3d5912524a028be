"""`paceline equivalent`: are A and B the same model?"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paceline.cli.option_groups import with_groups
from paceline.cli.options import LOAD, RESULT, EndpointFlags, HtmlPath, MarkdownPath, ResultPaths
from paceline.cli.request_options import REQUESTS, DataColumn, SystemPrompt
from paceline.cli.second_options import SECOND, SecondFlags
from paceline.errors import ConfigError

if TYPE_CHECKING:
    from paceline.measure.job import Job
    from paceline.settings import MeasureSettings
    from paceline.workloads.spec import WorkloadSpec

DEFAULT_PROMPTS = 60
MAX_TOKENS = 1024


@dataclass(frozen=True)
class PromptFlags:
    """What both are asked."""

    prompts: Annotated[
        int | None,
        typer.Option(help=f"Different prompts ({DEFAULT_PROMPTS}).", min=1, rich_help_panel=REQUESTS),
    ] = None
    items: Annotated[
        int | None,
        typer.Option(
            help="So many of them are problems of the capability probe, whose answers are scored "
            "(half, where the probe is installed).",
            min=0,
            rich_help_panel=REQUESTS,
        ),
    ] = None
    data: Annotated[
        Path | None,
        typer.Option(
            help="Your own prompts from this file in place of all others: text, JSONL, CSV, Parquet.",
            rich_help_panel=REQUESTS,
        ),
    ] = None
    data_column: DataColumn = None
    passes: Annotated[
        int | None,
        typer.Option(
            help="How often each prompt is asked (2): once leaves unknown what a side repeats.",
            min=1,
            max=2,
            rich_help_panel=REQUESTS,
        ),
    ] = None
    prompt_tokens: Annotated[
        str | None,
        typer.Option(help="Length of the generated prompts (120).", rich_help_panel=REQUESTS),
    ] = None
    output_tokens: Annotated[
        str | None,
        typer.Option(
            help="Limit on answers to texts (256): the longer, the more room to differ.",
            rich_help_panel=REQUESTS,
        ),
    ] = None
    max_tokens: Annotated[
        int | None,
        typer.Option(
            help=f"Limit on every answer, problems' and reasoning included ({MAX_TOKENS:,}).",
            min=1,
            rich_help_panel=REQUESTS,
        ),
    ] = None
    system: SystemPrompt = None
    temperature: Annotated[
        str | None,
        typer.Option(
            help="Sampling temperature (0); none: send none, for a model that refuses it.",
            rich_help_panel=REQUESTS,
        ),
    ] = None
    extra_body: Annotated[
        str | None,
        typer.Option(
            help='Further fields of the body as JSON, as in \'{"service_tier": "priority"}\'.',
            rich_help_panel=REQUESTS,
        ),
    ] = None

    def workload(self, seed: int, own: "MeasureSettings") -> "WorkloadSpec":
        """The prompts as a workload. Raises ConfigError."""
        from paceline.cli.request_options import parse_extra
        from paceline.workloads.spec import WorkloadSpec

        fields: dict[str, Any] = {
            "name": "equivalence",
            "prompt_tokens": self.prompt_tokens or "120",
            "output_tokens": self.output_tokens or "256",
            "max_tokens": self.max_tokens or MAX_TOKENS,
            "temperature": _temperature(self.temperature),
            "system": self.system,
            "tokenizer": own.tokenizer,
            "unique_prefix": False,
            "extra": {} if self.extra_body is None else parse_extra(self.extra_body),
            "seed": seed,
            **self._origin(seed),
        }
        options = {name: f"--{name.replace('_', '-')}" for name in ("prompt_tokens", "output_tokens")}
        options |= {"extra": "--extra-body", "data": "--data", "probe.items": "--items"}
        return WorkloadSpec.parse(
            {name: value for name, value in fields.items() if value is not None}, "the options", options
        )

    def _origin(self, seed: int) -> dict[str, Any]:
        prompts, passes = self.prompts or DEFAULT_PROMPTS, self.passes or 2
        if self.data is not None:
            if self.items:
                raise ConfigError("--items and --data exclude each other", "give one of them")
            data = {"path": str(self.data), "column": self.data_column, "on_end": "stop"}
            limit = {} if self.prompts is None else {"limit": self.prompts}
            return {"data": {**data, **limit}, "equivalence": {"texts": 0, "passes": passes}}
        if self.data_column is not None:
            raise ConfigError("--data-column says where in --data, which is not given", "add --data FILE")
        items = self.items if self.items is not None else prompts // 2 if _probe_is_here() else 0
        if items > prompts:
            raise ConfigError(
                f"--items {items} is more than there are prompts, {prompts}", f"add --prompts {items}"
            )
        probe = {"probe": {"items": items, "seed": seed}} if items else {}
        return {**probe, "equivalence": {"texts": prompts - items, "passes": passes}}


@dataclass(frozen=True)
class PaceFlags:
    """When prompts are sent."""

    concurrency: Annotated[
        int | None,
        typer.Option("--concurrency", "-c", help="Requests always in flight (1).", rich_help_panel=LOAD),
    ] = None
    timeout: Annotated[
        str | None,
        typer.Option(help="A request that is not complete by then has failed (120s).", rich_help_panel=LOAD),
    ] = None
    seed: Annotated[
        int | None,
        typer.Option(help="Asks the very prompts of an earlier run (new ones).", min=0, rich_help_panel=LOAD),
    ] = None


@dataclass(frozen=True)
class OtherFlags(SecondFlags):
    """What differs in the second endpoint where both are asked the same."""

    extra_body_b: Annotated[
        str | None,
        typer.Option(help="Further fields of B's bodies, in place of A's: a tier.", rich_help_panel=SECOND),
    ] = None

    def job(self, first: "Job", url: str, name: str | None) -> "Job":
        """B's job, from A's. Raises ConfigError for a key that is not B's."""
        from paceline.cli.request_options import parse_extra
        from paceline.workloads.spec import WorkloadSpec

        second = super().job(first, url, name)
        if self.extra_body_b is None:
            return second
        given = {**first.workload.to_dict(), "extra": parse_extra(self.extra_body_b)}
        return replace(second, workload=WorkloadSpec.parse(given, "the options", {"extra": "--extra-body-b"}))


@dataclass(frozen=True)
class VerdictFlags(ResultPaths):
    """What is concluded, and where it goes."""

    margin: Annotated[
        str,
        typer.Option(help="Of texts that a side repeats, so many may differ.", rich_help_panel=RESULT),
    ] = "10%"
    score_margin: Annotated[str, typer.Option(help="So far apart scores may be.", rich_help_panel=RESULT)] = (
        "10%"
    )
    examples: Annotated[
        int, typer.Option(help="Answers that differ to be shown.", min=0, max=100, rich_help_panel=RESULT)
    ] = 3
    tokenizer: Annotated[
        str | None,
        typer.Option(
            help="Counts tokens before the first difference (else words are counted).", rich_help_panel=RESULT
        ),
    ] = None
    fail_if_different: Annotated[
        bool,
        typer.Option(
            "--fail-if-different", help="Exit with 1 where the verdict is different.", rich_help_panel=RESULT
        ),
    ] = False
    json_path: Annotated[
        Path | None,
        typer.Option(
            "--json", help="Write paceline.equivalence/1 here; - is stdout.", rich_help_panel=RESULT
        ),
    ] = None
    html_path: HtmlPath = None
    markdown_path: MarkdownPath = None


@with_groups
def equivalent(  # noqa: PLR0917
    a: Annotated[str, typer.Argument(help="A stored run, or the base URL of an endpoint.")],
    b: Annotated[str, typer.Argument(help="Another of the same kind.")],
    prompts: PromptFlags,
    pace: PaceFlags,
    endpoint: EndpointFlags,
    other: OtherFlags,
    result: VerdictFlags,
    model: Annotated[str | None, typer.Option("--model", "-m", help="Model of both endpoints.")] = None,
    name: Annotated[
        str | None, typer.Option(help="Names the runs NAME-a and NAME-b.", rich_help_panel=RESULT)
    ] = None,
) -> int:
    """Is B the same model as A? By their answers to the same prompts.

    Each prompt is asked twice of both at temperature 0, so that A and B are
    held against how far each agrees with itself. Two stored runs are held
    against each other where they have prompts in common. Exit code: 0 done;
    1 a run failed or is invalid, or with --fail-if-different the two are
    different; 2 wrong usage.
    """
    from paceline.advisor.equivalence import Limits
    from paceline.cli.comparing import are_endpoints, stored_pair
    from paceline.cli.equivalence import Asked, conclude, measure_sides
    from paceline.cli.output import check_outputs
    from paceline.units import parse_percentage

    limits = Limits(
        parse_percentage(result.margin, "--margin"), parse_percentage(result.score_margin, "--score-margin")
    )
    check_outputs(result.paths())
    if not are_endpoints(a, b):
        _refuse(prompts, pace, endpoint, other, model, name)
        pair = stored_pair(a, b)
        if pair.a.id == pair.b.id:
            raise ConfigError(f"A and B are one run, {pair.a.id}", "name two runs, or two endpoints")
    else:
        first = _first(a, prompts, pace, endpoint, model, name)
        pair = measure_sides(first, other.job(first, b, name))
    asked = Asked(limits, result.tokenizer, result.examples, fail_if_different=result.fail_if_different)
    return conclude(pair, asked, result.paths())


def _first(  # noqa: PLR0917
    url: str,
    prompts: PromptFlags,
    pace: PaceFlags,
    endpoint: EndpointFlags,
    model: str | None,
    name: str | None,
) -> "Job":
    import secrets

    from paceline.cli.defaults import settings
    from paceline.measure.equivalence import equivalence_job
    from paceline.measure.job import Job
    from paceline.measure.load_spec import LoadOptions, plan_load
    from paceline.measure.scrape import OFF, ServerWatch
    from paceline.store.manifest import check_name

    own = settings().measure
    seed = secrets.randbits(31) if pace.seed is None else pace.seed
    options = LoadOptions(concurrency=pace.concurrency, timeout=pace.timeout or own.timeout, seed=seed)
    return equivalence_job(
        Job(
            url=url,
            workload=prompts.workload(seed, own),
            load=plan_load(options),
            model=model,
            protocol=endpoint.wire_protocol(),
            credentials=endpoint.credentials(own),
            name=None if name is None else check_name(f"{name}-a"),
            checked=endpoint.check,
            server=ServerWatch(metrics=OFF),
            offer=endpoint.offer(),
        )
    )


def _refuse(*given: object) -> None:
    """Options, and option groups, that have no meaning for stored runs."""
    groups = (PromptFlags(), PaceFlags(), EndpointFlags(), OtherFlags())
    if any(one is not None and one not in groups for one in given):
        raise ConfigError(
            "stored runs are held against each other as they are: options of prompts and endpoints have no "
            "meaning",
            "leave them out, or give two URLs to ask",
        )


def _temperature(text: str | None) -> float | None:
    if text == "none":
        return None
    try:
        return 0.0 if text is None else float(text)
    except ValueError:
        raise ConfigError(
            f"--temperature {text} is no number", "write 0, or none to send no temperature"
        ) from None


def _probe_is_here() -> bool:
    from importlib.util import find_spec

    return find_spec("reasoning_gym") is not None
