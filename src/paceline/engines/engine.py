"""What the rest of Paceline knows of an engine: where it is, how it is set, how it is started."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, get_args

from paceline.engines.machine import Machine
from paceline.engines.space import Choice
from paceline.weights.model import ModelFacts

EngineName = Literal["llama.cpp", "vllm", "sglang", "tilert"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)
Tier = Literal["standard", "fast", "ultra"]
TIERS: tuple[Tier, ...] = get_args(Tier)
_ESCAPED = re.compile(r"[\\']")
# An engine's own long option, without dashes, and its value. True: the bare option. False and None: left out.
Value = str | int | float | bool | None
Settings = Mapping[str, Value]


def in_command(settings: Settings) -> dict[str, Value]:
    """Those that stand in a command: without what is left out."""
    return {name: value for name, value in settings.items() if value is not None and value is not False}


@dataclass(frozen=True, slots=True)
class Installed:
    """An engine on this machine. argv: what begins its command. found: where it was found, in words."""

    engine: EngineName
    argv: tuple[str, ...]
    found: str
    version: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TierSettings:
    """What a tier sets, and why, option by option. needs_bytes: memory that it will take, by headers."""

    values: Settings
    why: Mapping[str, str]
    needs_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an engine did not come up, or ended: what is wrong, what to do about it.

    lasting: another start ends alike (no such model, port taken), so that none is tried.
    """

    message: str
    hint: str
    lasting: bool


@dataclass(frozen=True, slots=True)
class Address:
    """Where an engine listens."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """`http://host:port` for a client on this machine."""
        host = "127.0.0.1" if self.host in ("", "0.0.0.0") else "[::1]" if self.host == "::" else self.host
        return f"http://{f'[{host}]' if ':' in host and not host.startswith('[') else host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Command:
    """How an engine is started. No secret is ever in `argv`; what `environment` adds is not printed."""

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)

    def shown(self) -> str:
        """The command as a shell would take it: one line, and nothing in it that could steer a terminal."""
        return " ".join(map(_quoted, self.argv))


def _quoted(word: str) -> str:
    """A word as a shell takes it; where something in it cannot be printed, in the form of bash and zsh."""
    if word.isprintable():
        return shlex.quote(word)
    letters = (one if one.isprintable() else _bytes_quoted(one) for one in _ESCAPED.sub(r"\\\g<0>", word))
    return f"$'{''.join(letters)}'"


def _bytes_quoted(letter: str) -> str:
    # Three octal digits each: hexadecimal ones would take what follows with them.
    return "".join(f"\\{byte:03o}" for byte in letter.encode("utf-8", "surrogateescape"))


class Adapter(Protocol):
    """One engine. All that Paceline has to know of it is behind this."""

    name: EngineName
    # Appended to `http://host:port`: where clients go, and where it says that it is ready (status 200).
    base_path: str
    health_path: str
    # How long its start may take before it counts as hung.
    ready_timeout_s: float
    # One line a way to install it.
    install: tuple[str, ...]

    def find(self, given: Path | None, home: Path) -> Installed | str:
        """The binary that was given, else one on the PATH, else a Python package's; or why there is none.

        home: Paceline's, for what has to be kept so that a binary can be run.
        """
        ...

    def checked(self, installed: Installed, settings: Settings) -> Settings:
        """The user's own settings as this engine spells them, to be laid over a tier's.

        None where one of a tier's has to go for them. Raises ConfigError for an option that is not the user's
        to set (model, host, port), and for one that this engine is known not to have.
        """
        ...

    def tier(
        self, tier: Tier, model: ModelFacts | None, machine: Machine, installed: Installed
    ) -> TierSettings:
        """Settings of a tier for a model on a machine; `ultra`: what the tuner begins from."""
        ...

    def space(
        self, tier: Tier, model: ModelFacts | None, machine: Machine, installed: Installed
    ) -> tuple[Choice, ...]:
        """What the tuner may turn, for a tier."""
        ...

    def command(
        self, installed: Installed, model: str, served_name: str, address: Address, settings: Settings
    ) -> Command:
        """The whole command. Raises ConfigError for a setting that is not the user's (model, host, port)."""
        ...

    def failure(self, log_tail: str, exit_code: int | None) -> Failure | None:
        """What the end of the log tells; None: nothing that is known."""
        ...
