"""A group of commands of which one may be left unsaid: `paceline serve MODEL`, `paceline serve list`."""

from typing import Any

from typer.core import TyperGroup

DEFAULT = "start"


class DefaultGroup(TyperGroup):
    """What is no sub-command's name belongs to the sub-command `start`, options that come first among it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the default's name before its arguments; `--help` alone is the group's."""
        if args and args[0] not in self.commands and args[0] != "--help":
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)
