"""The command line. Commands are light to import: each takes its machinery in when it runs."""

import errno
import os
import sys
import tempfile
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from paceline import __version__
from paceline.cli.commands import (
    advise,
    bill,
    board,
    calibrate,
    capability,
    capacity,
    compare,
    dashboard,
    demo,
    equivalent,
    gateway,
    importing,
    instant,
    keys,
    limit,
    measure,
    probe,
    runs,
    serve,
    show,
    sim,
    study,
    sweep,
    trend,
    tune,
    usage,
    workload,
)
from paceline.cli.defaults import name_settings
from paceline.cli.output import clipped, talk
from paceline.errors import PacelineError

# Arrow's own allocators keep several times what a report needs; this is read when Arrow is first imported.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

INTERRUPTED = 130
_LONGEST_SAID = 4_000
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Commands that put load on an endpoint.
_LOADING = (
    *("paceline measure", "paceline compare", "paceline sweep", "paceline capacity", "paceline demo"),
    "paceline equivalent",
    *("paceline advise", "paceline runs resume", "paceline study resume", "paceline capability run"),
)

app = typer.Typer(
    name="paceline",
    help="Measure the speed of any AI inference endpoint truthfully, with the instrument's own error proven; "
    "a gateway that routes live traffic by such measurements; and models served fast on your own hardware.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"paceline {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_show_version, is_eager=True),
    ] = False,
    config: Annotated[
        Path | None, typer.Option("--config", help="Settings file in place of the user's own paceline.toml.")
    ] = None,
) -> None:
    name_settings(config)


app.command("measure")(measure.measure)
app.command("compare")(compare.compare)
app.command("equivalent")(equivalent.equivalent)
app.command("sweep")(sweep.sweep)
app.command("capacity")(capacity.capacity)
app.add_typer(study.app, name="study")
app.add_typer(capability.app, name="capability")
app.add_typer(tune.app, name="tune")
app.command("calibrate")(calibrate.calibrate)
app.command("probe")(probe.probe)
app.command("sim")(sim.sim)
app.add_typer(runs.app, name="runs")
app.command("board")(board.board)
app.command("advise")(advise.advise)
app.command("bill")(bill.bill)
app.command("instant")(instant.instant)
app.command("trend")(trend.trend)
app.command("limit")(limit.limit)
app.command("usage")(usage.usage)
app.command("show")(show.show)
app.command("import")(importing.import_)
app.add_typer(workload.app, name="workload")
app.command("demo")(demo.demo)
app.command("dashboard")(dashboard.dashboard)
app.add_typer(gateway.app, name="gateway")
app.add_typer(serve.app, name="serve")
app.add_typer(keys.app, name="keys")


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0 done, 1 failed or invalid, 2 wrong usage, 130 interrupted."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code; what goes wrong is said on stderr, in words."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        result: Any = app(args=arguments, prog_name="paceline", standalone_mode=False)
        if result == INTERRUPTED:
            return _interrupted(given)
        _flush()
        return result if isinstance(result, int) else 0
    except (Exception, KeyboardInterrupt) as error:
        try:
            return _told(error, given)
        except (Exception, KeyboardInterrupt):
            return _told_barely(error)


def _told(error: Exception | KeyboardInterrupt, arguments: list[str]) -> int:
    """Say what went wrong; the exit code."""
    if isinstance(error, PacelineError):
        _say(error.message, error.hint)
        return error.exit_code
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return _interrupted(arguments)
    if isinstance(error, BrokenPipeError):
        # The reader of our output has gone; nothing is left to say.
        _close_stdout()
        return 1
    if isinstance(error, OSError) and error.errno in _NO_ROOM:
        _close_stdout()
        where = error.filename or "the output"
        _say(f"cannot write {where}: {error.strerror}", "make room there, or write elsewhere")
        return 1
    return _unexpected(error, arguments)


def _told_barely(error: BaseException) -> int:
    """Where saying it failed as well: its kind, past all that may be broken; the exit code."""
    with suppress(OSError):
        os.write(2, f"error: unexpected: {type(error).__name__}\n".encode("ascii", "replace"))
    return INTERRUPTED if isinstance(error, KeyboardInterrupt) else getattr(error, "exit_code", 1)


def _close_stdout() -> None:
    """Python must not try at exit to write what is left."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _flush() -> None:
    # None where the caller has closed it.
    if sys.stdout is not None:
        sys.stdout.flush()


def _unexpected(error: Exception, arguments: list[str]) -> int:
    # The command line's own errors (unknown option, bad value) differ in their classes between Typer's
    # versions; they have this method in common.
    if hasattr(error, "format_message"):
        # Without a command the help was printed, and there is nothing to add.
        message = error.format_message()
        if message:
            _say(message, f"{_command_of(arguments)} --help lists what there is")
        return 2
    where = _keep_traceback(error)
    hint = f"the traceback is in {where}; please report it" if where else None
    _say(f"unexpected: {type(error).__name__}: {error}", hint)
    return 1


def _command_of(arguments: list[str]) -> str:
    """The command that the arguments name, as in `paceline runs show`."""
    words, command = ["paceline"], typer.main.get_command(app)
    for argument in arguments:
        below = getattr(command, "commands", {})
        if argument in below:
            command = below[argument]
            words.append(argument)
    return " ".join(words)


def _interrupted(arguments: list[str]) -> int:
    """Ctrl-C outside of a load, which has its own way with it."""
    from paceline.measure.interrupts import Interrupts

    text = "interrupted"
    if _command_of(arguments) in _LOADING and not Interrupts.began:
        text = "interrupted before the first request; nothing was stored"
    print(text, file=sys.stderr)  # noqa: T201
    return INTERRUPTED


def _keep_traceback(error: Exception) -> Path | None:
    try:
        descriptor, name = tempfile.mkstemp(prefix="paceline-", suffix=".traceback.txt")
        with os.fdopen(descriptor, "w") as file:
            file.write("".join(traceback.format_exception(error)))
    except OSError:
        return None
    return Path(name)


def _say(message: str, hint: str | None) -> None:
    for kind, text in (("error", message), ("hint", hint)):
        if text:
            # One line, whatever was wrong: a value that is quoted may have any length and hold anything.
            talk(f"{kind}: {clipped(' '.join(text.splitlines()), _LONGEST_SAID)}")
