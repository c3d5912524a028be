"""Where results go: paths that are checked before load begins, and files that are whole or not there."""

import os
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path

from paceline.errors import ConfigError, RunError

STDOUT = Path("-")
COLUMNS = 80


def talk(text: str = "") -> None:
    """Say something to the person: on stderr, so that stdout stays data."""
    print(harmless(text), file=sys.stderr, flush=True)  # noqa: T201


def harmless(text: str) -> str:
    """Text for a terminal: what could steer it is replaced. Names in files and servers' words may hold it."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter == "\n" else "\N{REPLACEMENT CHARACTER}" for letter in text
    )


def wrapped(text: str, width: int = COLUMNS) -> str:
    """Text in lines of at most `width` characters, broken between words only."""
    lines = text.splitlines()
    return "\n".join(
        textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False) for line in lines
    )


def clipped(text: str, width: int) -> str:
    """Text of at most `width` characters, with an ellipsis where it was cut."""
    return text if len(text) <= width else f"{text[: max(width - 3, 0)].rstrip()}..."


def terminal_columns() -> int | None:
    """How wide the terminal is that stdout goes to; None where that is a file or a pipe."""
    return shutil.get_terminal_size((0, 0)).columns or None


def check_outputs(paths: Mapping[str, Path | None]) -> None:
    """Raise ConfigError where a path cannot be written, or where two results would go to one place.

    `paths` maps the option's name to what the user gave.
    """
    taken: dict[Path, str] = {}
    for option, path in paths.items():
        if path is None:
            continue
        place = path if path == STDOUT else path.resolve()
        if place in taken:
            raise ConfigError(
                f"{taken[place]} and {option} would both go to {path}", "give each its own path"
            )
        taken[place] = option
        if path != STDOUT:
            _check_writable(option, path)


_STORED = "the run is stored: `paceline runs show` writes its report anew"
ASK_AGAIN = "ask again, and write elsewhere"
"""Where a result is to be had that is made anew from what is stored."""


def write_outputs(
    paths: Mapping[str, Path | None], rendered: Callable[[str], str], *, hint: str = _STORED
) -> None:
    """Write the results that were asked for, and say where they lie.

    `paths`: by option, as `check_outputs` takes them; `rendered`: the result that an option is for. Raises
    RunError, as `write_output` does.
    """
    for option, path in paths.items():
        if path is not None:
            write_output(path, rendered(option), hint=hint)
            if path != STDOUT:
                talk(f"wrote {path}")


def write_output(path: Path, data: str | bytes, *, hint: str = _STORED) -> None:
    """Write a result whole: under a temporary name beside it, then renamed. `-` is stdout.

    `hint`: where the result is to be had if it cannot be written. Raises RunError when the system refuses.
    """
    raw = data.encode() if isinstance(data, str) else data
    if path == STDOUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(raw)
        sys.stdout.buffer.flush()
        return
    try:
        if path.exists() and not path.is_file():
            # A device or a pipe has no place beside it to rename from.
            path.write_bytes(raw)
            return
        target = path.resolve()
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(raw)
            Path(name).chmod(0o666 & ~_umask())
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror or error}", hint) from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _check_writable(option: str, path: Path) -> None:
    def refuse(reason: str, hint: str | None = None) -> ConfigError:
        return ConfigError(f"{option}: cannot write {path}: {reason}", hint)

    if path.is_dir():
        raise refuse("it is a directory", "give the path of a file")
    if path.exists():
        if not os.access(path, os.W_OK):
            raise refuse("permission denied")
        if not path.is_file():
            return
    parent = path.resolve().parent
    if not parent.is_dir():
        raise refuse(f"there is no directory {parent}", "make it first")
    try:
        with tempfile.TemporaryFile(dir=parent):
            pass
    except OSError as error:
        raise refuse(error.strerror or str(error)) from None
