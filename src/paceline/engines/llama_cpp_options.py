"""The options that a build of llama.cpp's server has, by its own `--help`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from paceline.config import closest
from paceline.engines.binary import Said, ask
from paceline.engines.engine import Installed

_ANSWER_S = 20.0
# Where the text of an option begins.
_TEXT_COLUMN = 40
_NAME = re.compile(r"(--?[A-Za-z0-9][\w.-]*)(,\s+)?")


@dataclass(frozen=True, slots=True)
class Option:
    """One option. name: its first long name, without dashes. no: the name that says the opposite, if any.

    values: what it takes, as the help writes it (`N`, `[on|off|auto]`); None for one that takes nothing.
    """

    name: str
    names: tuple[str, ...]
    no: str | None
    values: str | None
    text: str
    removed: bool


@dataclass(frozen=True, slots=True)
class Options:
    """All options of a build, by each of their names."""

    by_name: Mapping[str, Option] = field(default_factory=dict)

    def __contains__(self, name: str) -> bool:
        option = self.by_name.get(name)
        return option is not None and not option.removed

    def find(self, name: str) -> Option | None:
        """By a long or short name, without dashes; also the negative one."""
        return self.by_name.get(name)

    def takes(self, name: str, value: str) -> bool:
        """Whether a list of values in the help has this one."""
        option = self.by_name.get(name)
        if option is None or option.removed or option.values is None:
            return False
        return value in re.split(r"[\[\]{}<>|,]", option.values)

    def nearest(self, name: str) -> str | None:
        """The long name that was probably meant."""
        return closest(name, [one for one, option in self.by_name.items() if not option.removed])


_known: dict[tuple[tuple[str, ...], int], Options | None] = {}


def options_of(installed: Installed) -> Options | None:
    """The options of an installed server, asked once for a binary; None where its help tells of none."""
    try:
        changed_ns = Path(installed.argv[-1]).stat().st_mtime_ns
    except OSError:
        changed_ns = 0
    key = (installed.argv, changed_ns)
    if key not in _known:
        said = ask(installed.argv, ("--help",), installed.environment, _ANSWER_S)
        _known[key] = read_help(said.text) if isinstance(said, Said) else None
    return _known[key]


def read_help(text: str) -> Options | None:
    """The options in a help text; None where it names neither `--model` nor `--port`."""
    found: dict[str, Option] = {}
    lines = text.splitlines()
    for place, line in enumerate(lines):
        if not re.match(r"-{1,2}[A-Za-z]", line):
            continue
        own, below = _below(lines, place)
        option = _read(line, own, below)
        if option is not None:
            for name in (*option.names, *([option.no] if option.no else [])):
                found.setdefault(name, option)
    return Options(found) if "model" in found and "port" in found else None


def _below(lines: list[str], place: int) -> tuple[str, str]:
    """The text beside an option's names, and the lines under them."""
    rest = []
    for line in lines[place + 1 :]:
        if not line.startswith(" " * 8):
            break
        rest.append(line.strip())
    return lines[place][_TEXT_COLUMN:], " ".join(rest)


def _read(line: str, beside: str, below: str) -> Option | None:
    names, at = [], 0
    while True:
        found = _NAME.match(line, at)
        if found is None:
            return None
        names.append(found.group(1))
        at = found.end()
        if found.group(2) is None:
            break
    rest = line[at:]
    values = None
    # Two spaces, or one right before the text's column, end the names; one elsewhere begins the values.
    if rest.startswith(" ") and not rest.startswith("  ") and at + 1 != _TEXT_COLUMN:
        values = re.split(r"\s{2,}", rest[1:])[0].strip() or None
        if len(line) > _TEXT_COLUMN and line[_TEXT_COLUMN - 1] == " " and at < _TEXT_COLUMN:
            values = line[at:_TEXT_COLUMN].strip() or values
    text = f"{beside if at < _TEXT_COLUMN else ''} {below}".strip()
    bare = tuple(name.lstrip("-") for name in names)
    long = [name[2:] for name in names if name.startswith("--")]
    negative = [name for name in bare if name.startswith("no-") and values is None]
    positive = tuple(name for name in bare if name not in negative)
    if not long:
        return None
    main = next((name for name in long if name not in negative), long[0])
    no = next((name for name in long if name in negative), None)
    if not positive:
        positive, no = tuple(negative), None
    return Option(main, positive, no, values, text, "argument has been removed" in text)
