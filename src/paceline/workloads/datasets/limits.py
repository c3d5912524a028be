"""Which records are too short or too long, and where a conversation is cut."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from paceline.workloads.datasets.record import Record, Said
from paceline.workloads.datasets.spec import DataSpec, Rows
from paceline.workloads.plan import MAX_CALLS
from paceline.workloads.read_report import RowError
from paceline.workloads.tokenizer import TokenCounter

CUT_BY_TOKENS = "a conversation is cut at max_prompt_tokens"
CUT_BY_CALLS = f"a conversation is cut at {MAX_CALLS:,} turns of the user"


@dataclass(frozen=True)
class Limits:
    """The limits of a data set. They go by the texts of the file, the recorded answers too."""

    spec: DataSpec
    counter: TokenCounter

    def apply(self, record: Record, rows: Rows) -> Record:
        """The record, or what is left of it. Raises RowError for one that is too short or too long."""
        if rows == "conversation":
            return self._cut(record)
        if self._counts:
            self._check(tokens_of(self.counter, record.turns))
        return record

    @property
    def _counts(self) -> bool:
        return self.spec.min_prompt_tokens is not None or self.spec.max_prompt_tokens is not None

    def _check(self, tokens: int) -> None:
        low, high = self.spec.min_prompt_tokens, self.spec.max_prompt_tokens
        if low is not None and tokens < low:
            raise RowError("shorter than min_prompt_tokens", f"{tokens:,}")
        if high is not None and tokens > high:
            raise RowError("longer than max_prompt_tokens", f"{tokens:,}")

    def _cut(self, record: Record) -> Record:
        high = self.spec.max_prompt_tokens
        tokens = 0
        ends = ends_of_calls(record.turns)
        begin = 0
        for step, end in enumerate(ends):
            if step == MAX_CALLS:
                return _shortened(record, begin, CUT_BY_CALLS)
            if self._counts:
                tokens += tokens_of(self.counter, record.turns[begin:end])
                if step == 0:
                    self._check(tokens)
                elif high is not None and tokens > high:
                    return _shortened(record, begin, CUT_BY_TOKENS)
            begin = end
        return record


def ends_of_calls(turns: Sequence[Said]) -> list[int]:
    """For each call of a conversation, the number of turns that it sends: up to a question's last turn.

    Turns of the user that follow each other are one question; so are system turns among them.
    """
    asked = False
    ends = []
    for place, turn in enumerate(turns):
        if turn.role == "assistant" and asked:
            ends.append(place)
        asked = turn.role == "user" or (asked and turn.role == "system")
    return [*ends, len(turns)] if asked else ends


def tokens_of(counter: TokenCounter, turns: Sequence[Said]) -> int:
    """Tokens of the turns' texts."""
    return sum(counter.count(turn.text) for turn in turns)


def _shortened(record: Record, asked: int, reason: str) -> Record:
    """The turns up to the end of an answer: `asked` turns are sent, and the answer to them follows."""
    end = asked
    while end < len(record.turns) and record.turns[end].role == "assistant":
        end += 1
    return replace(record, turns=record.turns[:end], changes=(*record.changes, reason))
