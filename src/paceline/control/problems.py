"""What is wrong with a config: all of it at once, each with its line and what to do."""

from collections.abc import Sequence
from pathlib import Path

from paceline.errors import ConfigError
from paceline.toml_file import Problem


class GatewayConfigError(ConfigError):
    """The config is refused. `problems` has each reason, in the order of the file."""

    def __init__(self, file: Path, problems: Sequence[Problem]) -> None:
        self.file = file
        self.problems = tuple(sorted(problems, key=lambda one: one.line or 0))
        hints = dict.fromkeys(one.hint for one in self.problems if one.hint)
        super().__init__("; ".join(one.said(file) for one in self.problems), "; ".join(hints) or None)
