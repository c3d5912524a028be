"""Which requests of a trace are replayed: window, lengths, limit; and their order."""

import numpy as np
import numpy.typing as npt

from paceline.errors import ConfigError
from paceline.workloads.read_report import ReadReport, RowError
from paceline.workloads.traces.rows import Ints, RowsRead, TraceRows
from paceline.workloads.traces.spec import TraceSpec

OUT_OF_ORDER = "earlier than a line before; put in the order of time"
INPUT_CLIPPED = "input clipped to max_input_tokens"
OUTPUT_CLIPPED = "output clipped to max_output_tokens"
BLOCKS_LEFT_OUT = "more hash_ids than the input has blocks; the last are left out"
BLOCKS_MISSING = "fewer hash_ids than the input has blocks; the rest is text of its own"


def select(read: RowsRead, spec: TraceSpec, report: ReadReport) -> TraceRows:
    """The requests to replay, in the order of arrival. What is left out or changed is counted in the report.

    Raises ConfigError where nothing is left.
    """
    if not len(read.line):
        faults = report.first_faults() or "it has none"
        raise ConfigError(
            f"trace {report.path}: none of its {report.rows:,} requests can be read: {faults}",
            "mend the file, or say what it is: [trace] format",
        )
    every = _Requests(read, spec, report)
    every.choose()
    report.used = len(every.order)
    every.clip()
    blocks, first = every.blocks()
    order = every.order
    return TraceRows(
        every.line[order], every.at_ns[order], every.inputs[order], every.outputs[order], blocks, first
    )


class _Requests:
    """All requests as arrays; `order` are the places of those that are kept, by their arrival."""

    def __init__(self, read: RowsRead, spec: TraceSpec, report: ReadReport) -> None:
        self._spec = spec
        self._report = report
        self._blocks = np.array(read.blocks, np.int64)
        self._first = np.array(read.first, np.int64)
        self.line = np.array(read.line, np.int64)
        times = np.array(read.time_ns, np.int64)
        self._earlier = times < np.maximum.accumulate(times)
        self.at_ns = times - times.min()
        self.inputs = np.array(read.input_tokens, np.int64)
        self.outputs = np.array(read.output_tokens, np.int64)
        self._clipped = np.zeros(len(times), dtype=bool)
        self.order = np.argsort(self.at_ns, kind="stable")

    def choose(self) -> None:
        """Leave out what the window, the limits of length and the number of requests leave out."""
        spec, lasts_s = self._spec, self.at_ns.max() / 1e9
        self._leave_out(self.at_ns < round(spec.start_s * 1e9), "before the window")
        if spec.end_s is not None:
            self._leave_out(self.at_ns >= round(spec.end_s * 1e9), "after the window")
        if spec.over == "skip" and spec.max_input_tokens is not None:
            self._leave_out(self.inputs > spec.max_input_tokens, "input above max_input_tokens")
        if spec.over == "skip" and spec.max_output_tokens is not None:
            self._leave_out(self.outputs > spec.max_output_tokens, "output above max_output_tokens")
        if spec.limit is not None:
            beyond = np.zeros(len(self.line), dtype=bool)
            beyond[self.order[spec.limit :]] = True
            self._leave_out(beyond, "beyond the limit")
        if not len(self.order):
            raise ConfigError(
                f"trace {self._report.path}: of {self._report.rows:,} requests none is left: "
                f"{self._report.first_faults()}",
                f"the trace lasts {lasts_s:,.1f} s; widen the window or the limits",
            )
        self._change(self._earlier, OUT_OF_ORDER)

    def clip(self) -> None:
        """Shorten what is longer than the limits."""
        for tokens, most, reason in (
            (self.inputs, self._spec.max_input_tokens, INPUT_CLIPPED),
            (self.outputs, self._spec.max_output_tokens, OUTPUT_CLIPPED),
        ):
            if most is not None:
                self._change(tokens > most, reason)
                if tokens is self.inputs:
                    self._clipped = tokens > most
                np.minimum(tokens, most, out=tokens)

    def blocks(self) -> tuple[Ints, Ints]:
        """The blocks of the kept requests, no more than an input has room for, and where each one's begin."""
        if not len(self._blocks):
            return self._blocks, np.zeros(len(self.order) + 1, np.int64)
        have = np.diff(self._first)
        room = -(-self.inputs // self._spec.block_tokens)
        self._change((have > room) & ~self._clipped, BLOCKS_LEFT_OUT)
        self._change(have < room, BLOCKS_MISSING)
        kept = np.minimum(have, room)[self.order]
        first = np.concatenate(([0], np.cumsum(kept)))
        begins = np.repeat(self._first[:-1][self.order] - first[:-1], kept)
        return self._blocks[begins + np.arange(first[-1])], first

    def _leave_out(self, which: npt.NDArray[np.bool_], reason: str) -> None:
        """Of those that are still there; the first examples are the first of the file."""
        out = which[self.order]
        for place in np.sort(self.order[out]).tolist():
            self._report.skip(f"line {self.line[place]}", RowError(reason))
        self.order = self.order[~out]

    def _change(self, which: npt.NDArray[np.bool_], reason: str) -> None:
        for place in np.sort(self.order[which[self.order]]).tolist():
            self._report.change(f"line {self.line[place]}", reason)
