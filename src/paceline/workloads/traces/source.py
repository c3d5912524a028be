"""The requests of a trace as jobs: at their times, of their lengths, with the prefixes that they share."""

from collections import OrderedDict

import numpy as np
import numpy.typing as npt

from paceline.errors import ConfigError
from paceline.workloads.data_file import checked_file, same_file
from paceline.workloads.jobs import Call, Job, Turn
from paceline.workloads.read_report import ReadReport
from paceline.workloads.spec import WorkloadSpec
from paceline.workloads.text import PromptWriter
from paceline.workloads.tokenizer import load_tokenizer
from paceline.workloads.traces.read import read_trace, trace_format
from paceline.workloads.traces.select import select
from paceline.workloads.traces.spec import TraceSpec

# Text of blocks that is kept, since the next requests share it: some 60 MB.
_KEPT_BLOCKS = 20_000
# Texts of requests are numbered from here, so that none has the number of a block.
_OWN_TEXTS = 1 << 47
# A century; instants are kept in 64 bits.
_LATEST_NS = 36_525 * 86_400 * 1e9
LIMITED = "output limited by the workload's max_tokens"


class TraceSource:
    """Jobs of one call each, in the order of arrival: `JobSource`.

    An input is as long as the trace says, without the chat template; a system prompt of the workload comes on
    top. Equal blocks of a trace are equal text, different ones differ from the first word. Text without
    blocks is each request's own. An answer of the trace's length is asked for exactly, where the server can
    be told. Raises ConfigError for a file that cannot be read, of which nothing is left, or that is not the
    one of `sha256`.
    """

    def __init__(self, trace: TraceSpec, workload: WorkloadSpec) -> None:
        path = checked_file(trace.path, "trace")
        self.spec = trace.model_copy(
            update={"path": str(path), "sha256": same_file(path, trace.sha256, "trace")}
        )
        kind = trace.format or trace_format(path)
        said = ["read as Azure's" if kind == "azure" else "read as Mooncake's"]
        self.report = ReadReport("trace", path.name, self.spec.sha256 or "", said=said)
        self.rows = select(read_trace(path, kind, self.report), trace, self.report)
        self._workload = workload
        self._writer = PromptWriter(
            load_tokenizer(workload.tokenizer), workload.seed, prefix_salt=workload.prefix_salt
        )
        self._texts: OrderedDict[tuple[int, int, bool], str] = OrderedDict()
        start_ns = (self.rows.at_ns - round(trace.start_s * 1e9)) / trace.speed
        if start_ns.max() > _LATEST_NS:
            raise ConfigError(
                f"trace {path.name}: its last request comes after more than a century",
                "take a part of it (--trace-window), or a higher --trace-speed",
            )
        self._start_ns = np.rint(start_ns).astype(np.int64)
        if self._writer.approximate:
            self.report.said.append("no tokenizer is given, so the lengths of inputs are estimates")
        elif self._writer.encodes_each and len(self.rows.blocks):
            self.report.said.append(
                "this tokenizer's tokens reach across words: inputs of several blocks are a few tokens off"
            )
        if workload.max_tokens is not None:
            for line in self.rows.line[self.rows.output_tokens > workload.max_tokens].tolist():
                self.report.change(f"line {line}", LIMITED)

    @property
    def encodes_each(self) -> bool:
        """Each text has to be encoded by itself, which takes time."""
        return self._writer.encodes_each

    @property
    def timed(self) -> bool:
        """Jobs have a `start_ns`."""
        return True

    @property
    def starts_ns(self) -> npt.NDArray[np.int64] | None:
        """Each job's `start_ns`, int64[jobs], ascending."""
        return self._start_ns

    @property
    def n_jobs(self) -> int | None:
        """How many jobs there are."""
        return len(self.rows)

    def job(self, index: int) -> Job | None:
        """Request `index` of those that are replayed; None where there are no more."""
        if index >= len(self.rows):
            return None
        input_tokens = int(self.rows.input_tokens[index])
        turns = [Turn("user", (self._text(index, input_tokens),))]
        system = self._workload.system
        if system is not None:
            turns.insert(0, Turn("system", (system,)))
        call = Call(
            tuple(turns),
            output_tokens=self._output_tokens(index),
            prompt_tokens=input_tokens,
            name="request",
            exact_output=True,
        )
        return Job((call,), int(self._start_ns[index]))

    def _output_tokens(self, index: int) -> int:
        asked = int(self.rows.output_tokens[index])
        most = self._workload.max_tokens
        return asked if most is None else min(asked, most)

    def _text(self, index: int, tokens: int) -> str:
        """The blocks one after the other, the last as long as what is left; then text of its own."""
        parts: list[str] = []
        size = self.spec.block_tokens
        for block in self.rows.blocks_of(index).tolist():
            length = min(size, tokens)
            parts.append(self._block(block, length, bool(parts)))
            tokens -= length
        if tokens:
            # The line tells requests apart whatever the window is.
            own = _OWN_TEXTS + int(self.rows.line[index])
            parts.append(self._writer.piece(own, tokens, after_text=bool(parts)))
        return "".join(parts)

    def _block(self, block: int, tokens: int, after_text: bool) -> str:
        key = (block, tokens, after_text)
        text = self._texts.get(key)
        if text is None:
            text = self._texts[key] = self._writer.piece(block, tokens, after_text=after_text)
            if len(self._texts) > _KEPT_BLOCKS:
                self._texts.popitem(last=False)
        else:
            self._texts.move_to_end(key)
        return text
