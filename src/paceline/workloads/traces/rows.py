"""The requests of a trace as arrays."""

from array import array
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TraceRows:
    """All requests that can be replayed, in the order of their arrival.

    line: int64[n], where each lies in the file. at_ns: int64[n], since the trace's first request.
    input_tokens, output_tokens: int64[n]. blocks: int64[...], the blocks of all requests one after the other,
    numbered as they first come up; those of request i are blocks[first[i]:first[i + 1]], none where the trace
    has none.
    """

    line: Ints
    at_ns: Ints
    input_tokens: Ints
    output_tokens: Ints
    blocks: Ints
    first: Ints

    def __len__(self) -> int:
        return len(self.line)

    def blocks_of(self, place: int) -> Ints:
        """The blocks of a request, in order."""
        return self.blocks[self.first[place] : self.first[place + 1]]


@dataclass
class RowsRead:
    """Requests as a reader appends them, in the order of the file."""

    line: "array[int]" = field(default_factory=lambda: array("q"))
    time_ns: "array[int]" = field(default_factory=lambda: array("q"))
    input_tokens: "array[int]" = field(default_factory=lambda: array("q"))
    output_tokens: "array[int]" = field(default_factory=lambda: array("q"))
    blocks: "array[int]" = field(default_factory=lambda: array("q"))
    first: "array[int]" = field(default_factory=lambda: array("q", [0]))
    known: dict[int, int] = field(default_factory=dict)

    def add(self, line: int, time_ns: int, input_tokens: int, output_tokens: int, ids: list[int]) -> None:
        """One request; `ids` are the blocks' names in the file."""
        self.line.append(line)
        self.time_ns.append(time_ns)
        self.input_tokens.append(input_tokens)
        self.output_tokens.append(output_tokens)
        for one in ids:
            self.blocks.append(self.known.setdefault(one, len(self.known)))
        self.first.append(len(self.blocks))
