"""A run's jobs: from the rows of their calls, and the plan, one row a job.

A job is the unit of a user's work: a session of calls of which later ones depend on earlier ones
(docs/design/0002-jobs-protocols-studies.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paceline.stats.critical_path import WAITS, Part, PathCall, job_parts
from paceline.stats.frame import MISSING, Bools, Frame, Ints
from paceline.stats.metrics import MetricSamples
from paceline.stats.tokens import TokenCounts

Floats = npt.NDArray[np.float64]
_NS_PER_MS = 1e6

TOKENS = ("prompt", "completion", "reasoning", "cached", "cache_write")


class JobState(IntEnum):
    """How a job ended: all calls well; a call failed; or the run ended, or was cut off, before the last."""

    OK = 0
    FAILED = 1
    INTERRUPTED = 2


@dataclass(frozen=True)
class Jobs:
    """Jobs that began, in the order in which they began; arrays of length j.

    session: the job's number. measured: no call of it was of the warm-up. state: int8, JobState. Instants are
    monotonic ns: intended_ns, when its first call was due; sent_ns, when the first was sent (MISSING: none);
    done_ns, the last token or hang-up of the call that ended last, of jobs that are OK, else MISSING; end_ns,
    when its last call had ended. calls: sent and recorded. failed_calls: of these, those that ended neither
    well nor as `cancelled`. skipped_calls: planned and never sent. tokens: by name of TOKENS, MISSING where
    unknown: of prompts where a call does not say, of the others where none does. parts_ms: float64[j, 5] by
    `Part`, of jobs that are OK, else nan: they sum to the job's headline time. critical_calls: calls on its
    critical path. row_job: int64[r], the job of each row, -1 where it has none.
    """

    session: Ints
    segment: Ints
    measured: Bools
    state: npt.NDArray[np.int8]
    intended_ns: Ints
    sent_ns: Ints
    done_ns: Ints
    end_ns: Ints
    calls: Ints
    failed_calls: Ints
    skipped_calls: Ints
    tokens: dict[str, Ints]
    parts_ms: Floats
    critical_calls: Ints
    row_job: Ints

    def __len__(self) -> int:
        return len(self.session)

    @cached_property
    def ok(self) -> Bools:
        """Measured jobs of which every call ended well."""
        fine: Bools = self.measured & (self.state == JobState.OK)
        return fine

    @property
    def several_calls(self) -> bool:
        """Whether any job has more than one call, so that calls depend on each other."""
        return bool((self.calls + self.skipped_calls > 1).any())

    def count(self, state: JobState) -> int:
        """Measured jobs of that state."""
        return int((self.measured & (self.state == state)).sum())

    def samples(self) -> dict[str, MetricSamples]:
        """`job_ms` and `job_from_intended_ms` of measured jobs, in the order of their start; `row`: the job.

        A job that the end of the run cut off took at least until then: a censored observation.
        """
        found = {}
        cut = self.measured & (self.state == JobState.INTERRUPTED)
        for name, start_ns in (("job_ms", self.sent_ns), ("job_from_intended_ms", self.intended_ns)):
            started = start_ns != MISSING
            mine = np.flatnonzero(self.ok & started)
            found[name] = MetricSamples(
                name=name,
                values=(self.done_ns - start_ns)[mine] / _NS_PER_MS,
                at_ns=start_ns[mine],
                row=mine,
                censored=(self.end_ns - start_ns)[cut & started] / _NS_PER_MS,
            )
        return found


def jobs_of(
    rows: pa.Table,
    plan: pa.Table,
    origins: Mapping[int, int],
    counts: TokenCounts,
    *,
    open_loop: bool = False,
) -> Jobs | None:
    """The jobs of a run; None where no row belongs to one.

    `rows`: all rows, in any order. `plan`: what was asked, in the columns of docs/reference/store.md; without
    it each call waits for the step before it. `counts`: the tokens of the same rows. `open_loop`: parts are
    those of the time since the first call was due, else since it was sent.
    """
    frame = Frame(rows)
    if not (frame.session != MISSING).any():
        return None
    return _Grouping(frame, _Plan.of(plan), frame.origin_ns(origins)).jobs(counts, open_loop)


@dataclass(frozen=True)
class _Plan:
    """Of p planned calls: their indices in ascending order, jobs, dependences and waits."""

    index: Ints
    session: Ints
    after: list[list[int] | None]
    wait: list[Part | None]

    @classmethod
    def of(cls, plan: pa.Table) -> "_Plan":
        frame = Frame(plan)

        def texts(name: str) -> list[Any]:
            known = name in plan.column_names
            return plan[name].to_pylist() if known else [None] * plan.num_rows

        order = np.argsort(frame.ints("request_index"), kind="stable")
        after, waits = texts("after"), [WAITS.get(str(kind)) for kind in texts("wait_kind")]
        return cls(
            index=frame.ints("request_index")[order],
            session=frame.session[order],
            after=[after[place] for place in order],
            wait=[waits[place] for place in order],
        )

    def places(self, index: Ints) -> list[int | None]:
        """Where each of these calls is in the plan, if it is."""
        if not len(self.index):
            return [None] * len(index)
        place = np.minimum(np.searchsorted(self.index, index), len(self.index) - 1)
        found = self.index[place] == index
        return [int(one) if there else None for one, there in zip(place, found, strict=True)]


class _Grouping:
    """Rows by job: `row` are the places of rows with a job, those of one job together, in step order."""

    def __init__(self, frame: Frame, plan: _Plan, origin_ns: Ints) -> None:
        self.frame, self.plan = frame, plan
        self.sent = frame.ints("sent_ns")
        session, step = frame.session, frame.ints("step")
        intended = frame.ints("intended_ns") + origin_ns
        self.origin_ns, self.intended_ns = origin_ns, intended
        mine = np.flatnonzero(session != MISSING)
        ids, inverse = np.unique(session[mine], return_inverse=True)
        begun = np.full(len(ids), np.iinfo(np.int64).max)
        np.minimum.at(begun, inverse, intended[mine])
        # Jobs in the order in which they began.
        rank = np.empty(len(ids), np.int64)
        order = np.lexsort((ids, begun))
        rank[order] = np.arange(len(ids))
        self.ids = ids[order]
        by_step = np.lexsort((step[mine], rank[inverse]))
        self.row, self.job = mine[by_step], rank[inverse][by_step]
        self.step = step[self.row]
        self.first = np.flatnonzero(np.concatenate([[True], np.diff(self.job) != 0]))
        self.sizes = np.diff(np.concatenate([self.first, [len(self.row)]]))

    def jobs(self, counts: TokenCounts, open_loop: bool) -> Jobs:
        frame, row = self.frame, self.row
        well = (frame.equals("outcome", "ok") | frame.equals("outcome", "hung_up"))[row]
        cancelled = frame.equals("outcome", "cancelled")[row]
        failed = self._sum(~well & ~cancelled)
        skipped = np.maximum(self._planned() - self.sizes, 0)
        state = np.where((self._sum(cancelled) > 0) | (skipped > 0), JobState.INTERRUPTED, JobState.OK)
        state = np.where(failed > 0, JobState.FAILED, state).astype(np.int8)
        written = np.where(self.sent == MISSING, np.iinfo(np.int64).max, self.sent + self.origin_ns)
        sent = np.minimum.reduceat(written[row], self.first)
        sent[sent == np.iinfo(np.int64).max] = MISSING
        intended = np.minimum.reduceat(self.intended_ns[row], self.first)
        done, parts, critical = self._paths(state, intended if open_loop else sent)
        row_job = np.full(frame.rows, -1, np.int64)
        row_job[row] = self.job
        return Jobs(
            session=self.ids,
            segment=frame.ints("segment")[row][self.first],
            measured=self._sum(~frame.measured[row]) == 0,
            state=state,
            intended_ns=intended,
            sent_ns=sent,
            done_ns=done,
            end_ns=np.maximum.reduceat((frame.ints("end_ns") + self.origin_ns)[row], self.first),
            calls=self.sizes,
            failed_calls=failed,
            skipped_calls=skipped,
            tokens=self._tokens(counts),
            parts_ms=parts,
            critical_calls=critical,
            row_job=row_job,
        )

    def _sum(self, per_row: npt.NDArray[Any]) -> Ints:
        return np.add.reduceat(per_row.astype(np.int64), self.first)

    def _planned(self) -> Ints:
        """Planned calls of each job; 0 where the plan does not know it."""
        known, counts = np.unique(self.plan.session, return_counts=True)
        place = np.minimum(np.searchsorted(known, self.ids), max(len(known) - 1, 0))
        if not len(known):
            return np.zeros(len(self.ids), np.int64)
        return np.where(known[place] == self.ids, counts[place], 0).astype(np.int64)

    def _tokens(self, counts: TokenCounts) -> dict[str, Ints]:
        found = {"completion": self._sum((counts.streamed + counts.hidden)[self.row])}
        for name in TOKENS:
            if name == "completion":
                continue
            said = self.frame.ints(f"{name}_tokens")[self.row]
            known = self._sum(said != MISSING)
            total = self._sum(np.where(said == MISSING, 0, said))
            # What a server does not mention of a cache is none; of a prompt it is unknown.
            enough = known == self.sizes if name == "prompt" else known > 0
            found[name] = np.where(enough, total, MISSING)
        return {name: found[name] for name in TOKENS}

    def _paths(self, state: npt.NDArray[np.int8], start_ns: Ints) -> tuple[Ints, Floats, Ints]:
        """Of each OK job: when it was done, the parts of its time, and the length of its critical path."""
        frame, row = self.frame, self.row
        origin = self.origin_ns[row]
        ended = frame.ints("end_ns")[row]
        left = frame.equals("outcome", "hung_up")[row] | (frame.event_counts[row] == 0)
        done_ns = np.where(left, ended, frame.last_ns[row]) + origin
        first_ns = np.where(frame.event_counts[row] == 0, ended, frame.first_ns[row]) + origin
        columns = [self.intended_ns[row], (self.sent[row] + origin), first_ns, done_ns, ended + origin]
        instants = np.stack(columns, axis=1).tolist()
        places = self.plan.places(frame.ints("request_index")[row])
        steps, starts = self.step.tolist(), start_ns.tolist()
        done = np.full(len(self.ids), MISSING, np.int64)
        parts = np.full((len(self.ids), len(Part)), np.nan)
        critical = np.zeros(len(self.ids), np.int64)
        for job in np.flatnonzero(state == JobState.OK).tolist():
            begin = int(self.first[job])
            mine = range(begin, begin + int(self.sizes[job]))
            calls = {steps[k]: self._call(steps[k], instants[k], places[k]) for k in mine}
            spent, path = job_parts(calls, starts[job])
            done[job] = max(call.done_ns for call in calls.values())
            parts[job] = np.array(spent) / _NS_PER_MS
            critical[job] = len(path)
        return done, parts, critical

    def _call(self, step: int, instants: list[int], place: int | None) -> PathCall:
        after = None if place is None else self.plan.after[place]
        if after is None:
            after = [step - 1] if step else []
        intended, sent, first, done, end = instants
        wait = None if place is None else self.plan.wait[place]
        return PathCall(intended, sent, first, done, end, after, wait)
