"""A job: a user's piece of work as calls, of which later ones may depend on earlier ones' answers.

Sources of jobs (sessions, recorded conversations, traces) make jobs; `JobBatches` writes them as the load
generator takes them (docs/design/0002-jobs-protocols-studies.md).
"""

import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import pyarrow as pa

from paceline.protocols import Dialect, Message
from paceline.protocols import Protocol as WireProtocol
from paceline.workloads.bodies import BodyWriter
from paceline.workloads.plan import MAX_CALLS, STEPS, plan_table
from paceline.workloads.spec import WorkloadSpec

_SPLICES = pa.list_(
    pa.field(
        "item",
        pa.struct(
            [
                pa.field("at", pa.uint32(), nullable=False),
                pa.field("step", pa.uint32(), nullable=False),
            ]
        ),
        nullable=False,
    )
)
_FIELDS: "list[pa.Field[Any]]" = [
    pa.field("body", pa.binary(), nullable=False),
    pa.field("request_index", pa.uint64(), nullable=False),
    pa.field("session", pa.uint64(), nullable=False),
    pa.field("after", STEPS),
    pa.field("wait_ns", pa.int64()),
    pa.field("splices", _SPLICES),
    pa.field("hangup_ns", pa.int64()),
    pa.field("start_ns", pa.int64()),
]
JOBS_SCHEMA = pa.schema(_FIELDS)
"""What `JobBatches.take` hands to the load generator."""


@dataclass(frozen=True, slots=True)
class AnswerOf:
    """Stands for the answer that an earlier step of the same job will have given."""

    step: int


@dataclass(frozen=True, slots=True)
class Turn:
    """One message: `text` are pieces, joined as they are; `images` are data: or http(s): URLs."""

    role: Literal["system", "user", "assistant"]
    text: tuple[str | AnswerOf, ...]
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """One request of a job.

    output_tokens: the limit on the answer, None where the model ends by itself. prompt_tokens: what the whole
    prompt is meant to have, the answers in it as long as they were asked to be; None: not known. after: the
    steps that must have ended first; None: the step before; (): none. wait_ms: between their end and this
    call (for a call that waits for none: after the job's start), as `wait_kind`. hang_up_ms: the client hangs
    up so long after the first token. exact_output: ask the server for exactly `output_tokens`, where it can
    be told.
    """

    turns: tuple[Turn, ...]
    output_tokens: int | None
    prompt_tokens: int | None
    name: str = "call"
    after: tuple[int, ...] | None = None
    wait_ms: float = 0.0
    wait_kind: Literal["tool", "think"] = "think"
    hang_up_ms: float | None = None
    exact_output: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """The calls of a job in step order; a call depends on earlier steps only.

    start_ns: when the job is meant to start, after the run's origin (replayed traces).
    """

    calls: tuple[Call, ...]
    start_ns: int | None = None


class JobSource(Protocol):
    """Where jobs come from."""

    def job(self, index: int) -> Job | None:
        """Job `index`, a pure function of the index, so that a run can resume; None: there are no more."""


@dataclass(slots=True)
class _Rows:
    """Columns of a batch and of its plan, as they grow."""

    batch: dict[str, list[Any]] = field(default_factory=lambda: {one.name: [] for one in _FIELDS})
    plan: dict[str, list[Any]] = field(default_factory=dict)

    def add_plan(self, **values: Any) -> None:
        for name, value in values.items():
            self.plan.setdefault(name, []).append(value)


class JobBatches:
    """Writes jobs in order from any index (`next_index`), as bodies and plan.

    Raises ConfigError where the workload's system prompt has no place in the protocol.
    """

    def __init__(
        self,
        source: JobSource,
        model: str,
        protocol: WireProtocol,
        dialect: Dialect,
        spec: WorkloadSpec,
        *,
        start: int = 0,
    ) -> None:
        self.next_index = start
        self._source = source
        self._writer = BodyWriter(spec, model, protocol, dialect)
        # No text can have this in it by chance or by intent.
        self._mark = secrets.token_hex(16)
        self._find = re.compile(self._mark.encode() + rb"(\d{4})")

    def take(self, n_jobs: int) -> tuple[pa.RecordBatch, pa.Table]:
        """The next `n_jobs` jobs, fewer where there are no more: rows of JOBS_SCHEMA, and their plan.

        The rows of a job lie together, in step order. `prompt_sha256` is of the texts of the call's messages
        one after the other, without the answers that are carried on.
        """
        rows = _Rows()
        for _ in range(n_jobs):
            job = self._source.job(self.next_index)
            if job is None:
                break
            self._add(rows, self.next_index, job)
            self.next_index += 1
        columns = [pa.array(rows.batch[one.name], one.type) for one in _FIELDS]
        plan = plan_table(rows.plan, len(rows.batch["body"]))
        return pa.record_batch(columns, schema=JOBS_SCHEMA), plan

    def _add(self, rows: _Rows, index: int, job: Job) -> None:
        check_job(job)
        for step, call in enumerate(job.calls):
            body, splices, digest = self._body(call)
            after = None if call.after is None else list(call.after)
            start_ns = job.start_ns if step == 0 else None
            values = {
                "body": body,
                "request_index": index * MAX_CALLS + step,
                "session": index,
                "after": after,
                "wait_ns": round(call.wait_ms * 1e6) if call.wait_ms else None,
                "splices": splices or None,
                "hangup_ns": None if call.hang_up_ms is None else round(call.hang_up_ms * 1e6),
                "start_ns": start_ns,
            }
            for name, value in values.items():
                rows.batch[name].append(value)
            rows.add_plan(
                request_index=index * MAX_CALLS + step,
                prompt_tokens_asked=call.prompt_tokens,
                output_tokens_asked=call.output_tokens,
                prompt_sha256=digest,
                session=index,
                step=step,
                call=call.name,
                after=after,
                wait_ms=call.wait_ms or None,
                wait_kind=call.wait_kind if call.wait_ms else None,
                start_ns=start_ns,
            )

    def _body(self, call: Call) -> tuple[bytes, list[dict[str, int]], str]:
        """The body without the answers, where they go, and the hash of what it says by itself."""
        digest = hashlib.sha256()
        messages = []
        for turn in call.turns:
            for piece in turn.text:
                if isinstance(piece, str):
                    digest.update(piece.encode())
            text = "".join(
                piece if isinstance(piece, str) else f"{self._mark}{piece.step:04d}" for piece in turn.text
            )
            messages.append(Message(turn.role, text, turn.images))
        marked = self._writer.write(messages, call.output_tokens, exact_output=call.exact_output)
        parts: list[bytes] = []
        splices: list[dict[str, int]] = []
        at = begin = 0
        for found in self._find.finditer(marked):
            parts.append(marked[begin : found.start()])
            at += len(parts[-1])
            splices.append({"at": at, "step": int(found.group(1))})
            begin = found.end()
        body = b"".join([*parts, marked[begin:]]) if splices else marked
        return body, splices, digest.hexdigest()


def check_job(job: Job) -> None:
    """ValueError for a job that could not be run: no call, too many, one that needs what is yet to come."""
    if not 1 <= len(job.calls) <= MAX_CALLS:
        raise ValueError(f"a job has 1 to {MAX_CALLS} calls, not {len(job.calls)}")
    # Bit k of ended[s]: step k is sure to have ended when step s begins.
    ended: list[int] = []
    for step, call in enumerate(job.calls):
        before = awaited(call, step)
        if any(not 0 <= one < step for one in before):
            raise ValueError(f"step {step} waits for a step that does not come before it: {before}")
        known = 0
        for one in before:
            known |= ended[one] | 1 << one
        ended.append(known)
        for piece in (piece for turn in call.turns for piece in turn.text if isinstance(piece, AnswerOf)):
            if piece.step < 0 or not known >> piece.step & 1:
                raise ValueError(
                    f"step {step} carries on the answer of {piece.step}, which it does not await"
                )


def awaited(call: Call, step: int) -> Sequence[int]:
    """The steps that must have ended before this one."""
    if call.after is not None:
        return call.after
    return (step - 1,) if step else ()
