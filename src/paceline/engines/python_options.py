"""Long options of the engines that are Python packages, as read from the parsers of one release each."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import resources
from typing import Literal

from paceline.config import choice_hint
from paceline.engines.engine import Value
from paceline.errors import ConfigError

Kind = Literal["flag", "switch", "value", "optional", "values"]


@dataclass(frozen=True, slots=True)
class Option:
    """One option. names: all that it has, the main one first. off: names that turn a switch off.

    kind: a flag is bare; a switch is bare and can be turned off; an `optional` has a value or none.
    """

    names: tuple[str, ...]
    kind: Kind
    choices: tuple[str, ...] = ()
    off: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The main one."""
        return self.names[0]


@dataclass(frozen=True, slots=True)
class Options:
    """All options of a program. program: as a user types it. release: that they were read from."""

    program: str
    release: str
    by_name: Mapping[str, Option]

    def find(self, name: str) -> Option | None:
        """By any of its names, one that turns it off included."""
        return self.by_name.get(name)

    def nearest(self, name: str) -> str | None:
        """The name that a wrong one may have meant."""
        return next(iter(get_close_matches(name, self.by_name, 1)), None)

    def spell(self, name: str, value: Value, *, strict: bool) -> dict[str, Value]:
        """A user's setting by main names. Raises ConfigError; strict: for an option that is not known, too.

        A JSON option's parts (`speculative-config.method`) are left as they are.
        """
        head, dot, _ = name.partition(".")
        option = self.find(head)
        if option is None:
            if strict:
                near = self.nearest(head)
                raise ConfigError(
                    f"{self.program} {self.release} has no option --{head}",
                    f"did you mean {near}?" if near else f"{self.program} --help lists all",
                )
            return {name: value}
        if dot:
            return {name: value}
        if option.kind == "switch":
            return _switched(option, head, value)
        if option.choices and value is not None and str(value) not in option.choices:
            raise ConfigError(
                f"--{head} of {self.program} cannot be {value!r}",
                choice_hint(str(value), "values", option.choices),
            )
        return {option.name: value}


def _switched(option: Option, name: str, value: Value) -> dict[str, Value]:
    """Of the names that turn a switch on and off, one at most stands."""
    off = option.off[-1] if option.off else option.name
    spelt: dict[str, Value] = dict.fromkeys((option.name, off))
    if value is not None:
        spelt[option.name if (name in option.names) is (value is not False) else off] = True
    return spelt


@cache
def options_of(engine: str) -> Options:
    """Of `vllm` or `sglang`: those of the release that this Paceline was made for."""
    text = (resources.files("paceline.engines") / "options" / f"{engine}.tsv").read_text(encoding="utf-8")
    lines = text.splitlines()
    program, _, rest = lines[0].removeprefix("# ").partition(", release ")
    by_name: dict[str, Option] = {}
    for line in lines[2:]:
        names, kind, last = (*line.split("\t"), "")[:3]
        words = tuple(last.split())
        option = Option(
            tuple(names.split()),
            kind,  # type: ignore[arg-type]
            () if kind == "switch" else words,
            words if kind == "switch" else (),
        )
        by_name.update(dict.fromkeys((*option.names, *option.off), option))
    return Options(program, rest.partition(":")[0], by_name)
