"""`paceline tune`: find the settings of an engine that serve a workload best, and prove that they do."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paceline.cli.default_command import DEFAULT, DefaultGroup
from paceline.cli.option_groups import with_groups
from paceline.cli.options import ENDPOINT, LOAD, RESULT, HtmlPath
from paceline.cli.request_options import RequestFlags
from paceline.errors import ConfigError

if TYPE_CHECKING:
    from paceline.engines.engine import Tier

app = typer.Typer(
    cls=DefaultGroup,
    no_args_is_help=True,
    help="Find the settings of an engine that serve your workload best, and prove that they do.",
)
SEARCH = "Search"
JsonPath = Annotated[
    Path | None,
    typer.Option("--json", help="Write paceline.tuning/1 here; - is stdout.", rich_help_panel=RESULT),
]


@app.command(DEFAULT)
@with_groups
def tune(  # noqa: PLR0917
    model: Annotated[str, typer.Argument(help="The model: a GGUF file, or a folder of safetensors.")],
    requests: RequestFlags,
    goal: Annotated[
        str,
        typer.Option(
            help="`min itl_ms`, `min ttft_ms`, `min e2e_ms`, `max output_tok_s`; of a whole load `max "
            "throughput`, `max goodput @ ttft_ms<=500,itl_ms<=50`.",
            rich_help_panel=SEARCH,
        ),
    ] = "min itl_ms",
    budget: Annotated[
        str, typer.Option(help="Time for all of it, as in 20m.", rich_help_panel=SEARCH)
    ] = "20m",
    engine: Annotated[
        str, typer.Option(help="auto, llama.cpp, vllm, sglang or tilert.", rich_help_panel=SEARCH)
    ] = "auto",
    tier: Annotated[
        str | None,
        typer.Option(
            help="What the profile is for: standard, fast or ultra (default: fast for one stream, standard "
            "for a whole load).",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    binary: Annotated[
        Path | None, typer.Option(help="The engine's executable.", rich_help_panel=SEARCH)
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            help="An option of the engine and what to try, as in ubatch-size=128,512; may be repeated.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    fix: Annotated[
        list[str] | None,
        typer.Option(
            help="An option of the engine that all settings have, as in ctx-size=8192; may be repeated.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    levels: Annotated[
        str | None,
        typer.Option(
            help="Requests in flight: 1, or several, as in 1,2,4,8 (default of a whole load).",
            rich_help_panel=LOAD,
        ),
    ] = None,
    timeout: Annotated[
        str | None,
        typer.Option(help="A request that is not complete by then has failed (120s).", rich_help_panel=LOAD),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of search and requests.", rich_help_panel=LOAD)] = 1,
    protocol: Annotated[
        str | None,
        typer.Option(help="chat, completions or messages; else found by asking.", rich_help_panel=ENDPOINT),
    ] = None,
    json_path: JsonPath = None,
    html_path: HtmlPath = None,
) -> int:
    """Find the settings of an engine that serve a workload best.

    The engine is started with many settings, each measured on the same
    prompts; the best is then measured again on fresh ones, in turn with the
    engine's defaults. Only a gain that is clear of chance gives a profile,
    which `paceline serve` then uses. Answers are greedy (--temperature 0) if
    nothing else is said. Ctrl-C keeps what was measured: `paceline tune
    resume`. Exit code: 0 done, 1 failed, 2 wrong usage.
    """
    from paceline.cli.defaults import settings
    from paceline.cli.output import check_outputs
    from paceline.cli.tuning import conclude_tuning, run_tuning
    from paceline.protocols import parse_protocol
    from paceline.tuning.goal import parse_goal
    from paceline.tuning.journal import Journal
    from paceline.tuning.start import TuneAsked, new_tuning
    from paceline.units import parse_duration_ns

    aim = parse_goal(goal)
    workload = requests.workload(seed, settings().measure)
    if workload.temperature is None:
        workload = workload.model_copy(update={"temperature": 0.0})
    asked = TuneAsked(
        model=model,
        goal=aim,
        budget_s=parse_duration_ns(budget, "--budget") / 1e9,
        workload=workload,
        engine=engine,
        binary=binary,
        tier=_tier(tier),
        levels=_levels(levels),
        protocol=None if protocol is None else parse_protocol(protocol),
        timeout_ns=None if timeout is None else parse_duration_ns(timeout, "--timeout"),
        seed=seed,
        **_engine_options(fix, vary),
    )
    paths = {"--json": json_path, "--html": html_path}
    check_outputs(paths)
    tuning = new_tuning(asked)
    run_tuning(Journal.create(tuning))
    return conclude_tuning(tuning.id, paths)


@app.command("resume")
def resume(
    ref: Annotated[str, typer.Argument(help="Id of the tuning, the beginning of one, or latest.")] = "latest",
    json_path: JsonPath = None,
    html_path: HtmlPath = None,
) -> int:
    """Go on with a tuning that was cut off."""
    from paceline.cli.output import check_outputs
    from paceline.cli.tuning import conclude_tuning, run_tuning
    from paceline.tuning.journal import Journal

    paths = {"--json": json_path, "--html": html_path}
    check_outputs(paths)
    journal = Journal.reopen(ref)
    run_tuning(journal)
    return conclude_tuning(journal.tuning.id, paths)


@app.command("show")
def show(
    ref: Annotated[str, typer.Argument(help="Id of the tuning, the beginning of one, or latest.")] = "latest",
    json_path: JsonPath = None,
    html_path: HtmlPath = None,
) -> int:
    """Show what a tuning has found."""
    from paceline.cli.output import check_outputs
    from paceline.cli.tuning import conclude_tuning

    paths = {"--json": json_path, "--html": html_path}
    check_outputs(paths)
    return conclude_tuning(ref, paths)


@app.command("list")
def list_(
    as_json: Annotated[bool, typer.Option("--json", help="Print paceline.tunings/1 on stdout.")] = False,
) -> int:
    """List all tunings, newest first."""
    from paceline.report.tuning_text import tunings_text
    from paceline.tuning.journal import list_tunings

    found, unreadable = list_tunings()
    if as_json:
        lines = [
            {
                "id": one.id,
                "state": one.state,
                "model": one.model_name,
                "engine": one.engine,
                "tier": one.tier,
                "goal": one.goal,
                "started_at": one.started_at.isoformat(),
                "profile": one.profile,
            }
            for one in found
        ]
        document = {"schema": "paceline.tunings/1", "tunings": lines, "unreadable": unreadable}
        typer.echo(json.dumps(document, indent=2))
        return 0
    typer.echo(tunings_text(found, unreadable))
    return 0


@app.command("delete")
def delete(ref: Annotated[str, typer.Argument(help="Id of the tuning, or the beginning of one.")]) -> int:
    """Delete a tuning with its runs and logs; a profile that it wrote stays."""
    from paceline.cli.output import talk
    from paceline.tuning.journal import delete_tuning

    talk(f"deleted tuning {delete_tuning(ref)}")
    return 0


def _tier(text: str | None) -> "Tier | None":
    from paceline.engines.engine import TIERS

    found = next((tier for tier in TIERS if tier == text), None)
    if text is not None and found is None:
        raise ConfigError(f"--tier: there is no tier {text!r}", f"tiers are: {', '.join(TIERS)}")
    return found


def _levels(text: str | None) -> tuple[int, ...]:
    """`1,2,4,8`. Raises ConfigError."""
    from paceline.units import parse_count

    if text is None:
        return ()
    found = sorted({parse_count(part.strip(), "--levels") for part in text.split(",")})
    if not found or found[0] < 1 or found[-1] > 4096:
        raise ConfigError(
            f"--levels {text}: a level is 1 to 4096 requests in flight", "as in --levels 1,2,4,8"
        )
    return tuple(found)


def _engine_options(fix: list[str] | None, vary: list[str] | None) -> dict[str, Any]:
    from paceline.tuning.start import parse_value, parse_varied

    fixed = {}
    for text in fix or []:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise ConfigError(f"--fix {text!r} is no setting", "write an option and its value: ctx-size=8192")
        fixed[name.strip().lstrip("-")] = parse_value(value.strip())
    return {"fixed": fixed, "varied": parse_varied(vary or [])}
