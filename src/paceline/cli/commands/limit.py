"""`paceline limit`: how fast a model can be on a machine at most, and how near runs came."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paceline.cli.option_groups import with_groups
from paceline.cli.options import RESULT
from paceline.errors import ConfigError

if TYPE_CHECKING:
    from paceline.roofline.limit import Asked, Limit

MACHINE = "Machine"
SPECULATION = "Speculation"
MEASURED = "Beside the limit"


@dataclass(frozen=True)
class MachineFlags:
    """Which machine."""

    device: Annotated[
        str, typer.Option(help="cpu, gpu or gpuN of this machine.", rich_help_panel=MACHINE)
    ] = "cpu"
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="Measure the machine anew: what was kept is of a busy moment.",
            rich_help_panel=MACHINE,
        ),
    ] = False
    bandwidth: Annotated[
        str | None,
        typer.Option(
            help="Another machine's bandwidth, as stated: 3.35TB/s. Nothing is measured then.",
            rich_help_panel=MACHINE,
        ),
    ] = None
    arithmetic: Annotated[
        str | None,
        typer.Option(
            help="With --bandwidth: its operations in the model's kind of numbers: 990TFLOP/s.",
            rich_help_panel=MACHINE,
        ),
    ] = None


@dataclass(frozen=True)
class SpeculationFlags:
    """How tokens are drafted."""

    acceptance: Annotated[
        float | None,
        typer.Option(
            help="Share of drafted tokens that is accepted, 0 to 1, for each number of streams.",
            min=0.0,
            max=1.0,
            rich_help_panel=SPECULATION,
        ),
    ] = None
    draft_tokens: Annotated[
        int | None,
        typer.Option(
            help="Tokens drafted a step (those that give most).",
            min=1,
            max=1024,
            rich_help_panel=SPECULATION,
        ),
    ] = None
    draft_model: Annotated[
        Path | None,
        typer.Option(
            help="A model that drafts, by its files (drafts cost nothing, as of n-grams).",
            rich_help_panel=SPECULATION,
        ),
    ] = None


@dataclass(frozen=True)
class MeasuredFlags:
    """What is held against the limit."""

    run: Annotated[
        list[str] | None,
        typer.Option("--run", help="A stored run of this model; may be repeated.", rich_help_panel=MEASURED),
    ] = None
    engine: Annotated[
        str | None,
        typer.Option(
            help="Start this engine (auto, llama.cpp, vllm, sglang, tilert) and measure one stream of it.",
            rich_help_panel=MEASURED,
        ),
    ] = None
    tier: Annotated[
        str | None,
        typer.Option(
            help="With --engine: standard, fast or ultra (the engine's own defaults).",
            rich_help_panel=MEASURED,
        ),
    ] = None
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="With --engine: one of its own options, as in spec-type=ngram-simple.",
            rich_help_panel=MEASURED,
        ),
    ] = None
    binary: Annotated[
        Path | None,
        typer.Option(help="With --engine: its binary (found on the PATH).", rich_help_panel=MEASURED),
    ] = None


@with_groups
def limit(  # noqa: PLR0917
    model: Annotated[str, typer.Argument(help="The model's files: a .gguf, or a folder of safetensors.")],
    machine: MachineFlags,
    speculation: SpeculationFlags,
    measured: MeasuredFlags,
    context: Annotated[
        int, typer.Option(help="Tokens before the one that is generated.", min=0, max=100_000_000)
    ] = 1024,
    streams: Annotated[str, typer.Option(help="Numbers of streams at once.")] = "1,4,16,64",
    kv_type: Annotated[str, typer.Option(help="Type of the KV cache, as in f16 or q8_0.")] = "f16",
    json: Annotated[
        Path | None, typer.Option(help="Write paceline.limit/1 here; - is stdout.", rich_help_panel=RESULT)
    ] = None,
) -> int:
    """Show how fast a model can be on a machine at most, and how near runs came.

    Measures what this machine's memory gives and its cores compute (once; it
    is kept), reads from the model's own headers what a token takes, and gives
    the most tok/s: of one stream, of several, with speculation. It is a limit
    and no prediction. Beside it the share that a measured run reached, and
    what held it back.
    """
    from paceline.cli.defaults import settings
    from paceline.cli.limiting import engine_plan, measured_engine, model_facts, observed_runs, rates_of
    from paceline.cli.output import check_outputs
    from paceline.roofline.limit import find_limit, works

    settings()
    check_outputs({"--json": json})
    _check(machine, measured)
    asked = _asked(context, streams, speculation, kv_type)
    facts = model_facts(model)
    draft = None if speculation.draft_model is None else model_facts(str(speculation.draft_model))
    try:
        kind = works(facts, kv_type)(0).kind
    except ValueError as error:
        raise ConfigError(f"--kv-type: {error}", "types are the engine's: f16, bf16, q8_0, q4_0") from None
    runs = observed_runs(measured.run)
    plan = engine_plan(model, speculation.draft_model, measured)
    # The machine first: it is quiet before an engine runs.
    rates = rates_of(machine, kind)
    if plan is not None:
        runs += measured_engine(plan)
    _show(find_limit(facts, rates, asked, draft=draft, observed=runs), json)
    return 0


def _show(found: "Limit", json: Path | None) -> None:
    from paceline.cli.output import ASK_AGAIN, STDOUT, harmless, write_outputs
    from paceline.report.limit_dict import limit_json
    from paceline.report.limit_text import limit_text

    if json != STDOUT:
        typer.echo(harmless(limit_text(found)), nl=False)
    write_outputs({"--json": json}, lambda _: limit_json(found), hint=ASK_AGAIN)


def _asked(context: int, streams: str, speculation: SpeculationFlags, kv_type: str) -> "Asked":
    from paceline.roofline.limit import Asked
    from paceline.roofline.roof import MOST_STREAMS
    from paceline.units import parse_count

    counts = [parse_count(text, "--streams") for text in streams.split(",")]
    if max(counts) > MOST_STREAMS:
        raise ConfigError(f"--streams: {max(counts):,} are too many", f"at most {MOST_STREAMS:,}")
    return Asked(
        context_tokens=context,
        streams=tuple(sorted(set(counts))),
        acceptance=speculation.acceptance,
        drafted=speculation.draft_tokens,
        kv_type=kv_type,
    )


def _check(machine: MachineFlags, measured: MeasuredFlags) -> None:
    if machine.arithmetic is not None and machine.bandwidth is None:
        raise ConfigError("--arithmetic needs --bandwidth", "state both, of one machine")
    if machine.bandwidth is not None and machine.again:
        raise ConfigError("--again measures this machine, and --bandwidth states another", "leave one out")
    if measured.engine is None and (measured.tier or measured.set_ or measured.binary):
        raise ConfigError("--tier, --set and --binary are of --engine", "add --engine auto")
