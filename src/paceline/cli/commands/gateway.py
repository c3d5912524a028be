"""`paceline gateway`: route live traffic by measured speed."""

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paceline.cli.defaults import gateway_file
from paceline.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from paceline.control.force import Force
    from paceline.toml_file import Problem

app = typer.Typer(help="Route live traffic to the offer that is fast, cheap and capable enough now.")

ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", help="The config, in place of ./paceline.toml or the user's own."),
]


@app.callback(invoke_without_command=True)
def gateway(  # noqa: PLR0917
    context: typer.Context,
    config: ConfigOption = None,
    listen: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Where clients come; port 0 takes a free one.")
    ] = None,
    admin_listen: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Where metrics and figures are, for operators.")
    ] = None,
    json_line: Annotated[
        bool, typer.Option("--json", help="Print the addresses as one line of JSON on stdout.")
    ] = False,
    with_parent: Annotated[
        bool, typer.Option("--with-parent", help="Also end when stdin ends, as when its parent dies.")
    ] = False,
) -> int:
    """Route live traffic to the offer that is fast, cheap and capable enough now.

    Serves OpenAI's and Anthropic's APIs until Ctrl-C or SIGTERM, which let what is in
    flight end. A changed config is applied at once; SIGHUP asks for it.
    """
    context.obj = config
    if context.invoked_subcommand is not None:
        return 0
    from paceline.cli.output import talk
    from paceline.control.parts import usual_parts
    from paceline.control.problems import GatewayConfigError
    from paceline.control.run import run_gateway
    from paceline.control.words import listening, models, problem_lines
    from paceline.store.paths import home, ledger_folder

    file = _config_file(config)

    def announce(force: "Force", addresses: dict[str, str | None]) -> None:
        for line in [*listening(addresses, force), *models(force)]:
            talk(line)
        for line in problem_lines(force.warnings(), file, "warning"):
            talk(line)
        talk(f"ledger in {ledger_folder()}; config {file}; Ctrl-C drains and ends")
        if json_line:
            tls = force.prepared.file.config.gateway.tls
            typer.echo(json.dumps(_listening_document(addresses, https=tls is not None)))

    try:
        run_gateway(
            file,
            {"listen": listen, "admin_listen": admin_listen},
            home(),
            parts=usual_parts(),
            say=_said,
            announce=announce,
            with_parent=with_parent,
        )
    except GatewayConfigError as error:
        return _refused(file, error.problems)
    return 0


@app.command("check")
def check(
    context: typer.Context,
    config: ConfigOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print paceline.check/1 in place of the words.")
    ] = False,
) -> int:
    """Read the config, and say all that is wrong with it, with line and hint. Nothing is started."""
    from paceline.cli.output import talk
    from paceline.control.force import Source
    from paceline.control.problems import GatewayConfigError
    from paceline.control.words import models, problem_lines
    from paceline.store.paths import home

    file = _config_file(config or context.obj)
    problems: tuple[Problem, ...] = ()
    warnings: list[Problem] = []
    lines: list[str] = []
    try:
        force = Source(file, {}, home()).first()
    except GatewayConfigError as error:
        problems = error.problems
    else:
        warnings = force.warnings()
        lines = models(force)
    if as_json:
        typer.echo(json.dumps(_check_document(file, problems, warnings)))
    elif problems:
        return _refused(file, problems)
    else:
        for line in lines:
            typer.echo(line)
        for line in problem_lines(warnings, file, "warning"):
            talk(line)
        talk(f"{file} is fine")
    return UsageError.exit_code if problems else 0


@app.command("init")
def init(
    path: Annotated[Path, typer.Argument(help="Where the config goes.")] = Path("paceline.toml"),
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> int:
    """Write an annotated config, which is one that works."""
    from paceline.cli.output import talk
    from paceline.control.example import example_text

    text = example_text()
    try:
        # It is to hold no secrets, but what it leads to costs money.
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ConfigError(f"{path} exists", "give another path, or --force to write over it") from None
    except OSError as error:
        raise ConfigError(
            f"cannot write {path}: {error.strerror}", "give a path in a folder of yours that has room"
        ) from None
    talk(f"wrote {path}; `paceline gateway check --config {path}` says whether it is fine")
    return 0


def _config_file(config: Path | None) -> Path:
    """The config, with its home of stored things in effect as far as it can be read."""
    from paceline.cli.defaults import settings

    file = gateway_file(config)
    # The gateway's own reading says all that is wrong, and this among it.
    with suppress(ConfigError):
        settings()
    return file


def _said(text: str) -> None:
    """A line of the log, with the time of day."""
    from datetime import datetime

    from paceline.cli.output import talk

    # A reader of the log that has gone must not end what serves.
    with suppress(OSError):
        talk(f"{datetime.now().astimezone():%Y-%m-%d %H:%M:%S} {text}")


def _refused(file: Path, problems: "tuple[Problem, ...]") -> int:
    from paceline.cli.output import talk
    from paceline.control.words import problem_lines

    for line in problem_lines(problems, file, "error"):
        talk(line)
    return UsageError.exit_code


def _listening_document(addresses: dict[str, str | None], *, https: bool) -> dict[str, Any]:
    scheme = "https" if https else "http"
    admin = addresses.get("admin")
    return {
        "schema": "paceline.listening/1",
        "listen": addresses["listen"],
        "url": f"{scheme}://{addresses['listen']}/v1",
        "admin_listen": admin,
        "admin_url": f"http://{admin}" if admin else None,
    }


def _check_document(file: Path, problems: "tuple[Problem, ...]", warnings: "list[Problem]") -> dict[str, Any]:
    return {
        "schema": "paceline.check/1",
        "file": str(file),
        "ok": not problems,
        "problems": [one.as_json() for one in problems],
        "warnings": [one.as_json() for one in warnings],
    }
