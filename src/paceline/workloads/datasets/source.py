"""Rows of a data file as jobs."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from paceline.errors import ConfigError, RunError
from paceline.workloads.corpus import english
from paceline.workloads.costs import PREFIX_VOCABULARY, PREFIX_WORDS
from paceline.workloads.data_file import checked_file, same_file
from paceline.workloads.datasets.chat_log import LogReader
from paceline.workloads.datasets.container import Container
from paceline.workloads.datasets.formats import open_container
from paceline.workloads.datasets.guess import reader_for
from paceline.workloads.datasets.index import build_index
from paceline.workloads.datasets.limits import Limits, ends_of_calls, tokens_of
from paceline.workloads.datasets.parquet_rows import ParquetRows
from paceline.workloads.datasets.record import Record, Said
from paceline.workloads.datasets.spec import DataSpec
from paceline.workloads.jobs import AnswerOf, Call, Job, Turn
from paceline.workloads.plan import MAX_CALLS
from paceline.workloads.read_report import ReadReport, RowError
from paceline.workloads.seeding import mix48, stream_key
from paceline.workloads.spec import WorkloadSpec
from paceline.workloads.tokenizer import load_tokenizer


class DataSource:
    """Jobs of the rows of a file: `JobSource`.

    The file is read once, to find the rows; a job reads its own again. What the workload says beside its
    data holds too: system (where a row has none), output_tokens (where a row has none), max_tokens,
    exact_output, seed, prefix_salt. Raises ConfigError for a file that cannot be read, has no row that can be
    used, or is not the one of `sha256`; RunError for one that changes later.
    """

    def __init__(self, data: DataSpec, workload: WorkloadSpec) -> None:
        path = checked_file(data.path, "data")
        self.spec = data.model_copy(
            update={"path": str(path), "sha256": same_file(path, data.sha256, "data")}
        )
        self._workload = workload
        self._container: Container = open_container(path, data.format)
        self._reader, self._rows, said = reader_for(self._container, data, path)
        self.spec = self.spec.model_copy(update={"rows": self._rows})
        if isinstance(self._container, ParquetRows):
            self._container.use(self._needed(self._container.columns), shuffled=data.order == "shuffle")
        self._counter = load_tokenizer(workload.tokenizer)
        self._limits = Limits(data, self._counter)
        self.report = ReadReport("data", path.name, self.spec.sha256 or "", said=said)
        self._index = build_index(
            self._container, self._reader, self._rows, self._limits, self.report, seed=workload.seed
        )
        self._ends = data.on_end == "stop" or self.timed
        if self._ends and not self.timed:
            self.report.said.append(f"after {self._index.n_jobs:,} jobs it ends")
        if not self._ends and not data.unique_prefix:
            self.report.said.append(
                f"after {self._index.n_jobs:,} jobs it begins again, and a cache may know the prompts; "
                "unique_prefix = true makes them new"
            )
        limited = data.min_prompt_tokens is not None or data.max_prompt_tokens is not None
        if self._counter.approximate and (limited or data.output_lengths == "recorded"):
            self.report.said.append("no tokenizer is given, so tokens of the file's texts are estimates")
        self._prefix_key = stream_key(workload.seed, f"data/prefix/{workload.prefix_salt}")

    @property
    def timed(self) -> bool:
        """Jobs have a `start_ns`."""
        return self._index.start_ns is not None

    @property
    def starts_ns(self) -> npt.NDArray[np.int64] | None:
        """Each job's `start_ns`, int64[jobs], ascending; None where they have none."""
        return self._index.start_ns

    @property
    def several_calls(self) -> bool:
        """Jobs are conversations or grouped requests, not one request each."""
        return self._rows == "conversation" or len(self._index.jobs) > self._index.n_jobs

    @property
    def n_jobs(self) -> int | None:
        """How many jobs there are; None: it begins again after the last."""
        return self._index.n_jobs if self._ends else None

    def job(self, index: int) -> Job | None:
        """Job `index`; None where there are no more."""
        if self._ends and index >= self._index.n_jobs:
            return None
        place = index % self._index.n_jobs
        records = [self._record(at, size) for at, size in self._index.places(place)]
        if self._rows == "conversation":
            calls = self._conversation(records[0], index)
        else:
            calls = self._single_calls(records, index)
        start_ns = self._index.start_ns
        return Job(calls, None if start_ns is None else int(start_ns[place]))

    def _needed(self, columns: Sequence[str]) -> list[str]:
        """The columns that the reader looks at; in a log they may be any."""
        if isinstance(self._reader, LogReader):
            return list(columns)
        named = [self._reader.column, self.spec.output_column, self.spec.image_column, "system"]
        wanted = [name for name in named if name is not None]
        return [*wanted, *(name.split(".")[0] for name in wanted)]

    def _record(self, at: int, size: int) -> Record:
        try:
            record = self._limits.apply(self._reader.read(self._container.fetch(at, size)), self._rows)
        except (RowError, ConfigError) as fault:
            # It could be read when the run began.
            raise RunError(
                f"data {self.spec.path}: has changed while the run went on: {fault}",
                "bring the file back as it was, and resume the run",
            ) from None
        system = self._workload.system
        if system is None or any(turn.role == "system" for turn in record.turns):
            return record
        return Record((Said("system", system), *record.turns), record.output_tokens, record.recorded_tokens)

    def _single_calls(self, records: Sequence[Record], index: int) -> tuple[Call, ...]:
        """Each record is a call with its messages as they are."""
        limits = self._output_limits(index, len(records))
        waits = self._waits_ms(index, len(records))
        calls = []
        for step, record in enumerate(records):
            asked = record.output_tokens or limits[step]
            if self.spec.output_lengths == "recorded" and record.recorded_tokens is not None:
                asked = record.recorded_tokens
            turns = self._with_prefix(
                [Turn(turn.role, (turn.text,), turn.images) for turn in record.turns], index
            )
            calls.append(
                Call(
                    tuple(turns),
                    output_tokens=self._limited(asked),
                    prompt_tokens=self._text_tokens(turns),
                    wait_ms=waits[step],
                    exact_output=self._workload.exact_output,
                )
            )
        return tuple(calls)

    def _conversation(self, record: Record, index: int) -> tuple[Call, ...]:
        """A call for each question, with the turns before it; answers as the data says."""
        ends = ends_of_calls(record.turns)
        limits = self._output_limits(index, len(ends))
        waits = self._waits_ms(index, len(ends))
        history: list[Turn] = []
        tokens: int | None = 0
        calls: list[Call] = []
        for step, (begin, end) in enumerate(pairwise([0, *ends])):
            new = [
                Turn(turn.role, (turn.text,), turn.images)
                for turn in record.turns[begin:end]
                if turn.role != "assistant" or self.spec.answers == "recorded"
            ]
            if step and self.spec.answers == "model":
                history.append(Turn("assistant", (AnswerOf(step - 1),)))
                before = calls[-1].output_tokens
                tokens = None if tokens is None or before is None else tokens + before
            if step == 0:
                new = self._with_prefix(new, index)
            history += new
            tokens = None if tokens is None else tokens + self._text_tokens(new)
            asked = record.output_tokens or limits[step]
            answer = _answer(record.turns[end:])
            if self.spec.output_lengths == "recorded" and answer:
                asked = max(1, tokens_of(self._counter, answer))
            calls.append(
                Call(
                    tuple(history),
                    output_tokens=self._limited(asked),
                    prompt_tokens=tokens,
                    name="turn",
                    wait_ms=waits[step],
                    exact_output=self._workload.exact_output,
                )
            )
        return tuple(calls)

    def _output_limits(self, index: int, n: int) -> list[int | None]:
        lengths = self._workload.output_tokens
        if lengths is None:
            return [None] * n
        return list(lengths.sample(self._workload.seed, "data/output_tokens", index * MAX_CALLS, n).tolist())

    def _limited(self, tokens: int | None) -> int | None:
        most = self._workload.max_tokens
        return most if tokens is None else tokens if most is None else min(tokens, most)

    def _waits_ms(self, index: int, n: int) -> list[float]:
        """Think time before each call but the first."""
        if self.spec.think_ms is None or n == 1:
            return [0.0] * n
        drawn = self.spec.think_ms.sample(self._workload.seed, "data/think_ms", index * MAX_CALLS, n)
        return [0.0, *(float(wait) for wait in drawn[1:])]

    def _with_prefix(self, turns: list[Turn], index: int) -> list[Turn]:
        """The turns, where it is asked with words before the first of the user's that no other job has."""
        if not self.spec.unique_prefix:
            return turns
        code = mix48(index, self._prefix_key)
        words = english().common_words[:PREFIX_VOCABULARY]
        chosen = [words[code >> (12 * place) & (PREFIX_VOCABULARY - 1)] for place in range(PREFIX_WORDS)]
        prefix = " ".join(chosen).capitalize() + ". "
        first = next(place for place, turn in enumerate(turns) if turn.role == "user")
        turn = turns[first]
        return [*turns[:first], Turn("user", (prefix, *turn.text), turn.images), *turns[first + 1 :]]

    def _text_tokens(self, turns: Sequence[Turn]) -> int:
        return sum(
            self._counter.count("".join(piece for piece in turn.text if isinstance(piece, str)))
            for turn in turns
        )


def _answer(turns: Sequence[Said]) -> list[Said]:
    """The recorded answer: the assistant's turns that come next."""
    answer: list[Said] = []
    for turn in turns:
        if turn.role != "assistant":
            break
        answer.append(turn)
    return answer
