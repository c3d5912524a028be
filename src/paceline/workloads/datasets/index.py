"""One pass over a data file: which rows are used, where they lie, and which of them are one job."""

from array import array
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from paceline.errors import ConfigError
from paceline.workloads.datasets.container import Container, Scanned
from paceline.workloads.datasets.limits import Limits
from paceline.workloads.datasets.record import Record, RowReader
from paceline.workloads.datasets.spec import DataSpec, Rows
from paceline.workloads.plan import MAX_CALLS
from paceline.workloads.read_report import ReadReport, RowError, Tally, told
from paceline.workloads.seeding import uniforms

Ints = npt.NDArray[np.int64]

# The index of a row takes some 40 bytes.
MAX_ROWS = 10_000_000
OUT_OF_ORDER = "not in the order of time; put there"
NO_TIME = "no time, in a log that has times"
UNREAD_TIME = "its time cannot be read"
_NONE = -1


@dataclass(frozen=True)
class RowIndex:
    """at, size: uint64[rows], the places of the rows that can be used, as their container finds them.

    jobs: int64[...], the rows in the order of the jobs. first: int64[jobs + 1], where in `jobs` each one's
    rows begin. start_ns: int64[jobs], after the first; None where jobs have no times.
    """

    at: npt.NDArray[np.uint64]
    size: npt.NDArray[np.uint64]
    jobs: Ints
    first: Ints
    start_ns: Ints | None

    @property
    def n_jobs(self) -> int:
        """How many jobs there are before any begins again."""
        return len(self.first) - 1

    @property
    def most_rows(self) -> int:
        """Rows of the job that has most of them."""
        return int(np.diff(self.first).max())

    def places(self, job: int) -> list[tuple[int, int]]:
        """Where the rows of a job lie."""
        rows = self.jobs[self.first[job] : self.first[job + 1]]
        return [(int(self.at[row]), int(self.size[row])) for row in rows]


@dataclass
class _Found:
    """What is kept of each row that can be used. group, time_ns: -1 for none. untimed: by reason."""

    at: "array[int]" = field(default_factory=lambda: array("Q"))
    size: "array[int]" = field(default_factory=lambda: array("Q"))
    time_ns: "array[int]" = field(default_factory=lambda: array("q"))
    group: "array[int]" = field(default_factory=lambda: array("q"))
    groups: dict[str, int] = field(default_factory=dict)
    untimed: dict[str, Tally] = field(default_factory=dict)

    def add(self, one: Scanned, record: Record) -> None:
        self.at.append(one.at)
        self.size.append(one.size)
        self.time_ns.append(_NONE if record.time_ns is None else record.time_ns)
        if record.time_ns is None:
            reason, detail = (UNREAD_TIME, f": {record.unread_time}") if record.unread_time else (NO_TIME, "")
            self.untimed.setdefault(reason, Tally()).add(f"{one.where}{detail}")
        name = record.group
        self.group.append(_NONE if name is None else self.groups.setdefault(name, len(self.groups)))

    @property
    def n_untimed(self) -> int:
        return sum(tally.count for tally in self.untimed.values())


def build_index(
    container: Container, reader: RowReader, rows: Rows, limits: Limits, report: ReadReport, *, seed: int
) -> RowIndex:
    """Read the file once. Raises ConfigError where no row can be used, or there are too many."""
    spec = limits.spec
    found = _scan(container, reader, rows, limits, report)
    n = len(found.at)
    if n == 0:
        faults = report.first_faults() or "it has no rows"
        raise ConfigError(
            f"data {report.path}: none of its {report.rows:,} rows can be used: {faults}",
            "see that format, rows and column say what the file is",
        )
    time_ns = _times(found, report) if rows == "log" else None
    n = len(found.at)
    jobs, first = np.arange(n), np.arange(n + 1)
    together = spec.group == "conversation" if spec.group else time_ns is None
    if rows == "log" and together and found.groups:
        jobs, first = _grouped(np.array(found.group, np.int64), time_ns, report)
        report.said.append(f"rows of one conversation are one job: {len(first) - 1:,} jobs")
    report.used = len(jobs)
    order, start_ns = _order(
        None if time_ns is None else time_ns[jobs[first[:-1]]], len(first) - 1, spec, seed
    )
    if start_ns is not None:
        for job in np.flatnonzero(np.diff(order) < 0).tolist():
            report.change(f"used row {int(jobs[first[order[job + 1]]]) + 1}", OUT_OF_ORDER)
    elif time_ns is not None:
        report.said.append("shuffled, so no row is replayed at its time")
    jobs, first = _rearranged(jobs, first, order)
    return RowIndex(np.array(found.at, np.uint64), np.array(found.size, np.uint64), jobs, first, start_ns)


def _scan(container: Container, reader: RowReader, rows: Rows, limits: Limits, report: ReadReport) -> _Found:
    found = _Found()
    limit = limits.spec.limit
    for one in container.scan():
        report.rows += 1
        try:
            if isinstance(one.value, RowError):
                raise one.value
            record = limits.apply(reader.read(one.value), rows)
        except RowError as fault:
            report.skip(one.where, fault)
            continue
        for change in record.changes:
            report.change(one.where, change)
        found.add(one, record)
        if len(found.at) == limit:
            report.said.append(f"read up to row {report.rows:,}, by the limit of {limit:,} rows")
            break
        if len(found.at) > MAX_ROWS:
            raise ConfigError(
                f"data {report.path}: has more than {MAX_ROWS:,} rows that can be used",
                "use fewer: limit = 1000000",
            )
    return found


def _times(found: _Found, report: ReadReport) -> Ints | None:
    """When each row was sent, of a log of which most rows say it: the others are skipped. None of another."""
    n = len(found.at)
    if 2 * found.n_untimed >= n:
        if found.n_untimed == n and UNREAD_TIME not in found.untimed:
            report.said.append("no row has a time, so none is replayed at its time")
        else:
            which = "; ".join(told(reason, tally) for reason, tally in found.untimed.items())
            report.said.append(
                f"half of the rows or more have no time, so none is replayed at its time: {which}"
            )
        return None
    time_ns = np.array(found.time_ns, np.int64)
    if found.untimed:
        timed = time_ns != _NONE
        for name in ("at", "size", "group"):
            kept: array[int] = getattr(found, name)
            setattr(found, name, array(kept.typecode, np.asarray(kept)[timed].tobytes()))
        report.skipped |= found.untimed
        time_ns = time_ns[timed]
    return time_ns


def _grouped(groups: Ints, time_ns: Ints | None, report: ReadReport) -> tuple[Ints, Ints]:
    """Rows by conversation, as conversations begin in the file; within one by time, else as they lie."""
    n = len(groups)
    # A row without a conversation is one of its own.
    own = np.where(groups >= 0, groups, np.arange(n) + groups.max() + 1)
    _, begins, which = np.unique(own, return_index=True, return_inverse=True)
    began = begins[which]
    order = np.lexsort((np.arange(n) if time_ns is None else time_ns, began))
    starts = np.flatnonzero(np.diff(began[order], prepend=-1))
    place = np.arange(n) - np.repeat(starts, np.diff(starts, append=n))
    kept = place < MAX_CALLS
    for row in order[~kept].tolist():
        report.skip(f"used row {row + 1}", RowError(f"beyond {MAX_CALLS:,} calls of one conversation"))
    order = order[kept]
    return order, np.append(np.flatnonzero(place[kept] == 0), len(order))


def _order(starts_ns: Ints | None, n_jobs: int, spec: DataSpec, seed: int) -> tuple[Ints, Ints | None]:
    """The jobs in the order of chance, of time or of the file, and when each starts after the first."""
    if spec.order == "shuffle":
        # By place, so that the order is the same in every version of the library.
        return np.argsort(uniforms(seed, "data/order", 0, n_jobs), kind="stable"), None
    if starts_ns is None:
        return np.arange(n_jobs), None
    order = np.argsort(starts_ns, kind="stable")
    return order, starts_ns[order] - starts_ns[order[0]]


def _rearranged(jobs: Ints, first: Ints, order: Ints) -> tuple[Ints, Ints]:
    """The rows of the jobs with the jobs in another order."""
    lengths = np.diff(first)[order]
    bounds = np.concatenate(([0], np.cumsum(lengths)))
    return jobs[np.repeat(first[:-1][order] - bounds[:-1], lengths) + np.arange(len(jobs))], bounds
