"""How the calls of jobs ended, by their names in the workload: which ones fail."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paceline.stats.frame import Frame, Ints
from paceline.stats.jobs import Jobs
from paceline.stats.turns import call_names

Names = npt.NDArray[np.str_]


@dataclass(frozen=True)
class CommonCallError:
    """What calls of one name that failed said most often, `n` times of all."""

    outcome: str
    text: str
    n: int

    def __str__(self) -> str:
        return f"{self.outcome}: {self.text}" if self.text else self.outcome


@dataclass(frozen=True)
class CallOutcomes:
    """Measured calls of one name. `ok`: ended well, hung up as asked among them. `failed`: neither well nor
    `cancelled`. `not_sent`: planned in a job that began, and never sent.
    """

    name: str
    sent: int
    ok: int
    failed: int
    not_sent: int
    error: CommonCallError | None

    def to_dict(self) -> dict[str, Any]:
        """Its keys in `turns.by_call` of `paceline.report/1`."""
        said = self.error
        return {
            "sent": self.sent,
            "ok": self.ok,
            "failed": self.failed,
            "not_sent": self.not_sent,
            "error": {"outcome": said.outcome, "text": said.text, "n": said.n} if said else None,
        }


def calls_of(rows: pa.Table, plan: pa.Table, jobs: Jobs) -> list[CallOutcomes]:
    """By name in order of the first step that has it; calls without a name are left out."""
    frame, planned = Frame(rows), Frame(plan)
    names = call_names(frame, plan)
    failed = failed_calls(frame) & frame.measured
    begun = np.isin(planned.session, jobs.session[jobs.measured])
    skipped = begun & ~np.isin(planned.ints("request_index"), frame.ints("request_index"))
    planned_names = call_names(planned, plan)
    steps: dict[str, int] = {}
    for name, step in (*_first_steps(names, frame), *_first_steps(planned_names, planned)):
        steps[name] = min(step, steps.get(name, step))
    errors = _errors(rows, names, failed)
    found = []
    for name in sorted(steps, key=steps.__getitem__):
        mine = (names == name) & frame.measured
        found.append(
            CallOutcomes(
                name=name,
                sent=int(mine.sum()),
                ok=int((mine & frame.well).sum()),
                failed=int((mine & failed).sum()),
                not_sent=int((skipped & (planned_names == name)).sum()),
                error=errors.get(name),
            )
        )
    return found


def failed_calls(frame: Frame) -> npt.NDArray[np.bool_]:
    """Rows of any phase that ended neither well nor as `cancelled`, bool[r]."""
    fine = [frame.equals("outcome", name) for name in ("ok", "hung_up", "cancelled")]
    failed: npt.NDArray[np.bool_] = ~np.logical_or.reduce(fine)
    return failed


def first_failures(rows: pa.Table, plan: pa.Table, row_job: Ints, jobs: int) -> tuple[list[str], Ints]:
    """Of each job the name and the step of its first call that failed: str[jobs], int64[jobs]; '' and -1."""
    frame = Frame(rows)
    names, step = call_names(frame, plan), frame.ints("step")
    failed = np.flatnonzero(failed_calls(frame) & (row_job >= 0))
    # The last one written is the first one.
    failed = failed[np.argsort(-step[failed], kind="stable")]
    found, steps = np.full(jobs, "", object), np.full(jobs, -1, np.int64)
    found[row_job[failed]] = names[failed]
    steps[row_job[failed]] = step[failed]
    return [str(name) for name in found], steps


def _first_steps(names: Names, frame: Frame) -> list[tuple[str, int]]:
    step = frame.ints("step")
    return [(str(name), int(step[names == name].min())) for name in np.unique(names) if name]


def _errors(rows: pa.Table, names: Names, failed: npt.NDArray[np.bool_]) -> dict[str, CommonCallError]:
    said = rows.select(["outcome", "error"]).filter(pa.array(failed))
    counted: dict[str, Counter[tuple[str, str]]] = {}
    for name, outcome, error in zip(
        names[failed].tolist(), said["outcome"].to_pylist(), said["error"].to_pylist(), strict=True
    ):
        counted.setdefault(name, Counter())[str(outcome), " ".join(str(error or "").split())] += 1
    common = {name: texts.most_common(1)[0] for name, texts in counted.items()}
    return {name: CommonCallError(outcome, text, n) for name, ((outcome, text), n) in common.items()}
