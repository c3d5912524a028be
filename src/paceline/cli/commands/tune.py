"""`paceline tune`: find the settings of an engine that serve a workload best, and prove that they do."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from paceline.cli.default_command import DEFAULT, DefaultGroup
from paceline.cli.defaults import settings
from paceline.cli.option_groups import with_groups
from paceline.cli.options import ENDPOINT, LOAD, RESULT, HtmlPath
from paceline.cli.request_options import RequestFlags
from paceline.errors import ConfigError

app = typer.Typer(
    cls=DefaultGroup,
    no_args_is_help=True,
    subcommand_metavar="MODEL | COMMAND ...",
    help="Find the settings of an engine that serve your workload best, and prove that they do: paceline "
    "tune MODEL (options: paceline tune start --help).",
)
SEARCH = "Search"
Ref = Annotated[str, typer.Argument(help="Id of the tuning, the beginning of one, or latest.")]


@dataclass(frozen=True)
class ResultFlags:
    """Where what was found goes."""

    json_path: Annotated[
        Path | None,
        typer.Option("--json", help="Write paceline.tuning/1 here; - is stdout.", rich_help_panel=RESULT),
    ] = None
    html_path: HtmlPath = None

    def checked(self) -> dict[str, Path | None]:
        """By option. Raises ConfigError for a path that cannot be written."""
        from paceline.cli.output import check_outputs

        paths = {"--json": self.json_path, "--html": self.html_path}
        check_outputs(paths)
        return paths


@app.callback()
def _home() -> None:
    settings()


@dataclass(frozen=True)
class SearchFlags:
    """What is searched, for what, and for how long."""

    goal: Annotated[
        str,
        typer.Option(
            help="`min itl_ms`, `min ttft_ms`, `min e2e_ms`, `max output_tok_s`; of a whole load `max "
            "throughput`, `max goodput @ ttft_ms<=500,itl_ms<=50`.",
            rich_help_panel=SEARCH,
        ),
    ] = "min itl_ms"
    budget: Annotated[str, typer.Option(help="Time for all of it, as in 20m.", rich_help_panel=SEARCH)] = (
        "20m"
    )
    engine: Annotated[
        str, typer.Option(help="auto, llama.cpp, vllm, sglang or tilert.", rich_help_panel=SEARCH)
    ] = "auto"
    tier: Annotated[
        str | None,
        typer.Option(
            help="What the profile is for: standard, fast or ultra (default: fast for one stream, standard "
            "for a whole load).",
            rich_help_panel=SEARCH,
        ),
    ] = None
    binary: Annotated[Path | None, typer.Option(help="The engine's executable.", rich_help_panel=SEARCH)] = (
        None
    )
    vary: Annotated[
        list[str] | None,
        typer.Option(
            help="An option of the engine and what to try, as in ubatch-size=128,512; may be repeated.",
            rich_help_panel=SEARCH,
        ),
    ] = None
    fix: Annotated[
        list[str] | None,
        typer.Option(
            help="An option of the engine that all settings have, as in ctx-size=8192; may be repeated.",
            rich_help_panel=SEARCH,
        ),
    ] = None
    seed: Annotated[int, typer.Option(help="Seed of search and requests.", rich_help_panel=SEARCH)] = 1


@dataclass(frozen=True)
class LoadFlags:
    """How the engine is asked."""

    levels: Annotated[
        str | None,
        typer.Option(
            help="Requests in flight: 1, or several, as in 1,2,4,8 (default of a whole load).",
            rich_help_panel=LOAD,
        ),
    ] = None
    timeout: Annotated[
        str | None,
        typer.Option(help="A request that is not complete by then has failed (120s).", rich_help_panel=LOAD),
    ] = None
    protocol: Annotated[
        str | None,
        typer.Option(help="chat, completions or messages; else found by asking.", rich_help_panel=ENDPOINT),
    ] = None


@app.command(DEFAULT)
@with_groups
def tune(
    model: Annotated[str, typer.Argument(help="The model: a GGUF file, or a folder of safetensors.")],
    requests: RequestFlags,
    search: SearchFlags,
    load: LoadFlags,
    result: ResultFlags,
) -> int:
    """Find the settings of an engine that serve a workload best.

    The engine is started with many settings, each measured on the same
    prompts; the best is then measured again on fresh ones, in turn with the
    engine's defaults. Only a gain that is clear of chance gives a profile,
    which `paceline serve` then uses. Answers are greedy (--temperature 0) if
    nothing else is said. Ctrl-C keeps what was measured: `paceline tune
    resume`. Exit code: 0 done, 1 failed, 2 wrong usage.
    """
    from paceline.cli.engine_options import parse_settings, parse_tier, parse_varied
    from paceline.cli.tuning import conclude_tuning, run_tuning
    from paceline.protocols import parse_protocol
    from paceline.tuning.goal import parse_goal
    from paceline.tuning.journal import Journal
    from paceline.tuning.start import TuneAsked, new_tuning
    from paceline.units import parse_duration_ns

    aim = parse_goal(search.goal)
    workload = requests.workload(search.seed, settings().measure)
    if workload.temperature is None:
        workload = workload.model_copy(update={"temperature": 0.0})
    asked = TuneAsked(
        model=model,
        goal=aim,
        budget_s=parse_duration_ns(search.budget, "--budget") / 1e9,
        workload=workload,
        engine=search.engine,
        binary=search.binary,
        tier=None if search.tier is None else parse_tier(search.tier),
        levels=_levels(load.levels),
        protocol=None if load.protocol is None else parse_protocol(load.protocol),
        timeout_ns=None if load.timeout is None else parse_duration_ns(load.timeout, "--timeout"),
        seed=search.seed,
        fixed=parse_settings(search.fix or (), "--fix"),
        varied=parse_varied(search.vary or ()),
    )
    paths = result.checked()
    tuning = new_tuning(asked)
    run_tuning(Journal.create(tuning))
    return conclude_tuning(tuning.id, paths)


@app.command("resume")
@with_groups
def resume(result: ResultFlags, ref: Ref = "latest") -> int:
    """Go on with a tuning that was cut off."""
    from paceline.cli.tuning import conclude_tuning, run_tuning
    from paceline.tuning.journal import Journal

    paths = result.checked()
    journal = Journal.reopen(ref)
    run_tuning(journal)
    return conclude_tuning(journal.tuning.id, paths)


@app.command("show")
@with_groups
def show(result: ResultFlags, ref: Ref = "latest") -> int:
    """Show what a tuning has found."""
    from paceline.cli.tuning import conclude_tuning

    return conclude_tuning(ref, result.checked())


@app.command("list")
def list_(
    as_json: Annotated[bool, typer.Option("--json", help="Print paceline.tunings/1 on stdout.")] = False,
) -> int:
    """List all tunings, newest first."""
    from paceline.cli.output import harmless
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
    typer.echo(harmless(tunings_text(found, unreadable)))
    return 0


@app.command("delete")
def delete(ref: Ref) -> int:
    """Delete a tuning with its runs and logs; a profile that it wrote stays."""
    from paceline.cli.output import talk
    from paceline.tuning.journal import delete_tuning

    talk(f"deleted tuning {delete_tuning(ref)}")
    return 0


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
