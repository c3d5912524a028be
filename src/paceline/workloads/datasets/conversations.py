"""Rows that are whole conversations, as chat data sets share them."""

from dataclasses import dataclass
from typing import Any

from paceline.workloads.datasets.messages import read_turns
from paceline.workloads.datasets.record import Record, Said, tokens_at, value_at
from paceline.workloads.read_report import RowError

BEGINS_WITH_ANSWER = "an answer before the first question is left out"


@dataclass(frozen=True)
class ConversationReader:
    """`column` is a list of turns, each with `role` and `content` or `from` and `value`."""

    column: str
    output_column: str | None

    def read(self, row: Any) -> Record:
        """The record of a row: its system turns, then turns that begin with the user's. Raises RowError."""
        turns = value_at(row, self.column)
        if turns is None:
            raise RowError(f"no `{self.column}`")
        said, changes = read_turns(turns, self.column)
        system = value_at(row, "system")
        if isinstance(system, str) and system.strip() and said[0].role != "system":
            said.insert(0, Said("system", system))
        users = [place for place, turn in enumerate(said) if turn.role == "user"]
        if not users:
            raise RowError("no turn of the user")
        before = [turn for turn in said[: users[0]] if turn.role == "system"]
        if len(before) < users[0]:
            changes.add(BEGINS_WITH_ANSWER)
        tokens = None if self.output_column is None else tokens_at(row, self.output_column)
        kept = (*before, *said[users[0] :])
        return Record(kept, output_tokens=tokens, changes=tuple(sorted(changes)))
