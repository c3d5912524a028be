"""`paceline serve`: a model on this machine's own engine, at a tier."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paceline.cli.default_command import DEFAULT, DefaultGroup
from paceline.cli.defaults import settings
from paceline.cli.option_groups import with_groups
from paceline.errors import ConfigError

if TYPE_CHECKING:
    from paceline.cli.serving import Registration
    from paceline.engines.plan import Asked

SETTINGS = "Engine and settings"
PROCESS = "Where and how it runs"
GATEWAY = "The gateway"

app = typer.Typer(
    cls=DefaultGroup,
    help="Serve a model on this machine: paceline serve MODEL (options: paceline serve start --help); "
    "see and stop what is served: list, stop.",
    subcommand_metavar="MODEL | COMMAND ...",
    no_args_is_help=True,
)


@app.callback()
def _home() -> None:
    settings()


@dataclass(frozen=True)
class EngineFlags:
    """Which engine, and how it is set."""

    engine: Annotated[
        str,
        typer.Option(
            help="llama.cpp, vllm, sglang, tilert, or auto: the one that is installed and fits.",
            rich_help_panel=SETTINGS,
        ),
    ] = "auto"
    tier: Annotated[
        str,
        typer.Option(
            help="standard: many at once; fast: one stream's latency; ultra: what the tuner found.",
            rich_help_panel=SETTINGS,
        ),
    ] = "standard"
    binary: Annotated[
        Path | None,
        typer.Option(help="The engine's program, where it is not found.", rich_help_panel=SETTINGS),
    ] = None
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="OPTION=VALUE",
            help="An option of the engine itself, over the tier's (=default: not set); may be repeated.",
            rich_help_panel=SETTINGS,
        ),
    ] = None
    draft_model: Annotated[
        Path | None,
        typer.Option(
            help="A small model of the same vocabulary that drafts tokens.", rich_help_panel=SETTINGS
        ),
    ] = None
    profile: Annotated[
        Path | None,
        typer.Option(
            help="Settings that `paceline tune` wrote (those in the home that fit).", rich_help_panel=SETTINGS
        ),
    ] = None
    use_profile: Annotated[
        bool,
        typer.Option(
            "--use-profile/--no-profile",
            help="Take what was tuned for this model, engine, machine and tier.",
            rich_help_panel=SETTINGS,
        ),
    ] = True
    check: Annotated[
        bool,
        typer.Option(
            "--check/--no-check",
            help="At the first start of a tier's settings: hold its greedy answers against standard's.",
            rich_help_panel=SETTINGS,
        ),
    ] = True

    def asked(self, model: str, process: "ProcessFlags") -> "Asked":
        """All of it. Raises ConfigError."""
        from paceline.cli.engine_options import parse_settings, parse_tier
        from paceline.engines.plan import Asked

        if self.profile is not None and not self.use_profile:
            raise ConfigError("--profile and --no-profile exclude each other", "give one of them")
        return Asked(
            model=model,
            engine=self.engine,
            tier=parse_tier(self.tier),
            host=process.host,
            port=process.port,
            served_name=process.name,
            binary=self.binary,
            settings=parse_settings(self.settings or []),
            profile=self.profile,
            use_profile=self.use_profile,
        )


@dataclass(frozen=True)
class ProcessFlags:
    """The serving process."""

    host: Annotated[str, typer.Option(help="Address to listen on.", rich_help_panel=PROCESS)] = "127.0.0.1"
    port: Annotated[
        int, typer.Option(help="Port; 0 takes a free one.", min=0, max=65_535, rich_help_panel=PROCESS)
    ] = 0
    name: Annotated[
        str | None,
        typer.Option(help="What clients call the model (the file's name).", rich_help_panel=PROCESS),
    ] = None
    restarts: Annotated[
        int,
        typer.Option(
            help="It is started again when it dies, so often in ten minutes.", min=0, rich_help_panel=PROCESS
        ),
    ] = 5
    log: Annotated[
        Path | None, typer.Option(help="Where the engine's words go (the home).", rich_help_panel=PROCESS)
    ] = None
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print the command and its reasons, and end.", rich_help_panel=PROCESS
        ),
    ] = False


@dataclass(frozen=True)
class RegisterFlags:
    """The server as an offer of the gateway."""

    register: Annotated[
        bool,
        typer.Option(
            "--register",
            help="Add it to the gateway's config as an offer of its tier, until it ends.",
            rich_help_panel=GATEWAY,
        ),
    ] = False
    config: Annotated[
        Path | None,
        typer.Option(
            help="That config, in place of ./paceline.toml or the user's own.", rich_help_panel=GATEWAY
        ),
    ] = None
    price: Annotated[
        str | None,
        typer.Option(
            metavar="IN,OUT", help="USD per million tokens (prices.toml, else none).", rich_help_panel=GATEWAY
        ),
    ] = None
    queue: Annotated[
        int | None,
        typer.Option(help="Requests that may wait (by the tier).", min=0, rich_help_panel=GATEWAY),
    ] = None
    queue_timeout: Annotated[
        str | None, typer.Option(help="How long one may wait (by the tier).", rich_help_panel=GATEWAY)
    ] = None
    sessions: Annotated[
        int | None,
        typer.Option(help="Keys that may use it at a time (by the tier).", min=1, rich_help_panel=GATEWAY),
    ] = None
    session: Annotated[
        str | None,
        typer.Option(help="How long a key may hold its place (by the tier).", rich_help_panel=GATEWAY),
    ] = None
    idle: Annotated[
        str | None,
        typer.Option(
            help="A silent key's place is free after so long (by the tier).", rich_help_panel=GATEWAY
        ),
    ] = None
    keep_registered: Annotated[
        bool,
        typer.Option(
            "--keep-registered", help="Leave the offer there when the server ends.", rich_help_panel=GATEWAY
        ),
    ] = False

    def registration(self) -> "Registration | None":
        """What is to be registered; None: nothing. Raises ConfigError."""
        from paceline.cli.defaults import gateway_file
        from paceline.cli.serving import Registration, parse_price
        from paceline.engines.register import Limits

        limits = Limits(None, self.queue, self.queue_timeout, self.sessions, self.session, self.idle)
        if not self.register:
            given = [self.config, self.price, limits != Limits() or None, self.keep_registered or None]
            if any(one is not None for one in given):
                raise ConfigError(
                    "options of the gateway's offer are given, and it is not to be registered",
                    "add --register, or leave them out",
                )
            return None
        price = None if self.price is None else parse_price(self.price)
        return Registration(gateway_file(self.config), price, limits, keep=self.keep_registered)


@app.command(DEFAULT)
@with_groups
def serve(
    model: Annotated[
        str,
        typer.Argument(help="A GGUF file, a folder of safetensors, or a name that the engine finds itself."),
    ],
    engine: EngineFlags,
    process: ProcessFlags,
    gateway: RegisterFlags,
) -> int:
    """Serve a model on this machine, at a tier; `start` may be left out.

    Finds the installed engine, sets it for the tier, starts it and waits until
    it answers. Prints the base URL on the first line of stdout and the exact
    command on the second. It is started again when it dies; Ctrl-C or SIGTERM
    stops it with all its children. Exit code: 0 stopped as wanted, 1 the
    engine gave up, 2 wrong usage.
    """
    from paceline.cli.serving import Wanted, serve_model

    wanted = Wanted(
        asked=engine.asked(model, process),
        draft=engine.draft_model,
        restarts=process.restarts,
        log=process.log,
        check=engine.check,
        dry_run=process.dry_run,
        registration=gateway.registration(),
    )
    return serve_model(wanted)


@app.command("list")
def list_(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print paceline.servers/1 in place of the table.")
    ] = False,
) -> int:
    """List what is served on this machine; what has ended is shown once more, and cleaned up."""
    from paceline.cli.output import harmless, talk, terminal_columns
    from paceline.cli.served_list import clean_up, table
    from paceline.engines.served import served_folder, servers

    entries = servers()
    if as_json:
        typer.echo(
            json.dumps({"schema": "paceline.servers/1", "servers": [one.to_dict() for one in entries]})
        )
    elif not entries:
        talk(f"nothing is served; servers are kept in {served_folder()}")
    else:
        for line in table(entries, terminal_columns()):
            typer.echo(harmless(line))
    clean_up(entries)
    return 0


@app.command("stop")
def stop(
    names: Annotated[list[str], typer.Argument(help="Servers by the names that `list` shows, or all.")],
) -> int:
    """Stop servers, and wait until they have ended."""
    from paceline.cli.served_list import stop_all

    return stop_all(names)
