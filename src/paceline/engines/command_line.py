"""What all engines' commands have in common: what Paceline itself says in them, how settings stand."""

from collections.abc import Mapping

from paceline.engines.engine import Address, Settings, in_command
from paceline.errors import ConfigError

IS_THE_MODEL = "the model is the command's own argument"
IS_THE_ADDRESS = "use --host and --port of the command"
IS_THE_NAME = "use --name of the command"


def refuse(name: str, hints: Mapping[str, str], *, also: tuple[str, ...] = ()) -> None:
    """Raise ConfigError for a setting that is not the user's. hints: why, by the names of such settings.

    also: other names of the same option.
    """
    for one in (name, *also):
        hint = hints.get(one)
        if hint is not None:
            raise ConfigError(f"the setting {name} is not yours to set", hint)


def address_argv(address: Address) -> list[str]:
    """Where an engine is to listen, as words of a command."""
    return ["--host", address.host or "0.0.0.0", "--port", str(address.port)]


def argv_of(settings: Settings) -> list[str]:
    """Settings as words of a command; what is None or False is left out."""
    argv: list[str] = []
    for name, value in in_command(settings).items():
        argv.append(f"--{name}")
        if value is not True:
            argv.append(str(value))
    return argv
