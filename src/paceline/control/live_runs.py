"""Live traffic as stored runs: of each offer and protocol one a UTC day, whoever restarts.

One row is an attempt. Its `request_index` is made from its place in the ledger, so a line that is followed a
second time, after a crash, brings a row that is known to be there.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from paceline import __version__
from paceline.errors import PacelineError, StoreError
from paceline.protocols import PROTOCOLS
from paceline.store.ledger import Place
from paceline.store.ledger_entry import Unread
from paceline.store.manifest import RunManifest, new_run_id, read_manifest
from paceline.store.paths import runs_folder
from paceline.store.runs import list_runs
from paceline.store.schema import ROW_SCHEMA
from paceline.store.tiers import FAN
from paceline.store.traffic import why
from paceline.store.writer import RunWriter

NAME_PREFIX = "gateway:"
# A run whose day is over is ended when nothing came for so long: a request may last past midnight.
IDLE_S = 900.0
# Wall clock and CLOCK_MONOTONIC drift apart by less; by more, one was set, or the machine started anew.
_SAME_CLOCK_NS = 60 * 10**9
_INSTANTS = ("intended_ns", "sent_ns", "written_ns", "headers_ns", "end_ns", "hangup_ns", "stopped_ns")
_ATTEMPT_BITS, _OFFSET_BITS, _SEGMENT_BITS = 8, 33, 22


class RunKey(NamedTuple):
    """What one run holds. An offer whose upstream was changed is another from then on."""

    offer: str
    day: str
    endpoint: str
    model: str
    protocol: str

    @property
    def name(self) -> str:
        """`gateway:OFFER:PROTOCOL`, so that what one name means is of one kind."""
        info = PROTOCOLS.get(self.protocol)  # type: ignore[call-overload]
        return f"{NAME_PREFIX}{self.offer}:{info.short if info else self.protocol}"


def _key(attempt: dict[str, Any], day: str) -> RunKey:
    upstream = (attempt["endpoint"], attempt["upstream_model"], attempt["protocol"])
    return RunKey(attempt["offer"], day, *upstream)


def _known(live: dict[str, Any]) -> RunKey:
    """As it is stored."""
    return RunKey(**{name: live[name] for name in RunKey._fields})


def row_index(place: Place, attempt: int) -> int:
    """`request_index` of an attempt: of later lines greater, below 2^63. Raises ValueError out of range."""
    if attempt >> _ATTEMPT_BITS or place.offset >> _OFFSET_BITS or place.segment >> _SEGMENT_BITS:
        raise ValueError("its place in the ledger is out of range")
    return ((place.segment << _OFFSET_BITS) | place.offset) << _ATTEMPT_BITS | attempt


@dataclass
class _Run:
    """A run that is being written. `rows`: on their way to the writer; `last_index`: of the last taken."""

    writer: RunWriter
    last_index: int
    seen_at_s: float
    dirty: bool = False
    flushes: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)

    def segment(self, entry: dict[str, Any]) -> dict[str, Any]:
        """The run's segment on whose clock the request is; a new one is on the disk before its rows."""
        known = self.writer.manifest.segments
        boot_ns = entry["received_unix_ns"] - entry["received_ns"]
        for segment in known:
            if abs(segment["origin_unix_ns"] - segment["origin_ns"] - boot_ns) <= _SAME_CLOCK_NS:
                return segment
        made = {
            "segment": len(known),
            "origin_ns": entry["received_ns"],
            "origin_unix_ns": entry["received_unix_ns"],
            "elapsed_ns": 0,
        }
        self.writer.update(segments=[*known, made])
        return made

    def hand_over(self) -> list[Unread]:
        """Give the rows to the writer, and name those that cannot be stored. Raises StoreError."""
        rows, places = self.rows, self.places
        self.rows, self.places = [], []
        batches, unread = _batches(rows, places)
        if batches:
            self.dirty = True
            for row in rows:
                segment = self.writer.manifest.segments[row["segment"]]
                segment["elapsed_ns"] = max(segment["elapsed_ns"], row["end_ns"])
            # In one call: what it takes stays taken when it cannot be written yet.
            self.writer.append(pa.Table.from_batches(batches).combine_chunks().to_batches()[0])
        return unread

    def flush(self) -> None:
        """Write what was taken; merge small parts now and then. Raises StoreError."""
        if not self.dirty:
            return
        self.writer.flush()
        self.dirty = False
        self.flushes += 1
        if self.flushes % FAN == 0:
            self.writer.merge_small()


class LiveRuns:
    """The runs of one gateway's offers.

    What writes may raise StoreError; the same lines are to come again then, and are not taken twice.
    """

    def __init__(self, home: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._home = home
        self._clock = clock
        self._runs: dict[RunKey, _Run] = {}
        self._tidied = ""
        # Kept where a write fails, for when the same lines come again.
        self._unread: list[Unread] = []

    def append(self, entries: list[dict[str, Any]], places: list[Place]) -> list[Unread]:
        """Take the attempts of requests, in the ledger's order; names the rows that cannot be stored."""
        unread = self._unread
        touched: dict[RunKey, _Run] = {}
        for entry, place in zip(entries, places, strict=True):
            day = datetime.fromtimestamp(entry["received_unix_ns"] // 10**9, UTC).date().isoformat()
            for number, attempt in enumerate(entry["attempts"]):
                try:
                    key = _key(attempt, day)
                    index = row_index(place, number)
                    run = touched.get(key) or self._run(key, entry, attempt)
                    touched[key] = run
                    if index > run.last_index:
                        run.rows.append(_row(attempt, run.segment(entry), index))
                        run.places.append(place)
                        run.last_index = index
                except (ValueError, TypeError, KeyError) as error:
                    unread.append(Unread(place.segment, place.offset, f"attempts[{number}]: {why(error)}"))
        for run in touched.values():
            run.seen_at_s = self._clock()
            unread += run.hand_over()
        self._unread = []
        return list(dict.fromkeys(unread))

    def flush(self) -> None:
        """Write what was taken. Raises StoreError."""
        for key, run in list(self._runs.items()):
            try:
                run.flush()
            except StoreError:
                if run.writer.folder.is_dir():
                    raise
                # Somebody deleted it: so be it.
                self._drop(key)

    def tidy(self, today: str) -> None:
        """End the runs that nothing comes for any more, also those that a crash left. Raises StoreError."""
        now_s = self._clock()
        for key, run in list(self._runs.items()):
            if key.day < today and now_s - run.seen_at_s >= IDLE_S:
                del self._runs[key]
                run.writer.finish("complete")
        if self._tidied != today:
            self._tidied = today
            self._finish_left(today)

    def close(self) -> None:
        """End all runs. Raises StoreError, when it was tried with each."""
        failure: PacelineError | None = None
        for key in list(self._runs):
            try:
                self._runs.pop(key).writer.finish("complete")
            except PacelineError as error:
                failure = failure or error
        if failure is not None:
            raise failure

    def _run(self, key: RunKey, entry: dict[str, Any], attempt: dict[str, Any]) -> _Run:
        run = self._runs.get(key)
        if run is None:
            found = self._stored(key)
            if found is not None:
                writer = RunWriter.reopen(found, at=self._home, even_complete=True)
                last = writer.last_index()
                run = _Run(writer, -1 if last is None else last, self._clock())
            else:
                writer = RunWriter.create(_manifest(key, entry, attempt), at=self._home)
                run = _Run(writer, -1, self._clock())
            self._runs[key] = run
        return run

    def _stored(self, key: RunKey) -> str | None:
        """The id of the run that was begun for `key`."""
        for run in list_runs(at=self._home):
            if run.name != key.name or run.started_at is None:
                continue
            if run.started_at.astimezone(UTC).date().isoformat() != key.day:
                continue
            with suppress(StoreError):
                manifest = read_manifest(runs_folder(self._home) / run.id)
                if manifest.workload.get("live") == key._asdict():
                    return run.id
        return None

    def _finish_left(self, today: str) -> None:
        """End the runs of earlier days whose writer was killed."""
        for run in list_runs(at=self._home):
            if run.state != "interrupted" or not (run.name or "").startswith(NAME_PREFIX):
                continue
            manifest = read_manifest(runs_folder(self._home) / run.id)
            live = manifest.workload.get("live")
            if live and live["day"] < today and _known(live) not in self._runs:
                RunWriter.reopen(run.id, at=self._home).finish("complete")

    def _drop(self, key: RunKey) -> None:
        with suppress(PacelineError):
            self._runs.pop(key).writer.finish("failed")


def _batches(rows: list[dict[str, Any]], places: list[Place]) -> tuple[list[pa.RecordBatch], list[Unread]]:
    if not rows:
        return [], []
    try:
        return [pa.RecordBatch.from_pylist(rows, schema=ROW_SCHEMA)], []
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        if len(rows) == 1:
            why_not = "a value in an attempt's row does not fit its column"
            return [], [Unread(places[0].segment, places[0].offset, why_not)]
    found = [_batches([row], [place]) for row, place in zip(rows, places, strict=True)]
    return [batch for batches, _ in found for batch in batches], [
        one for _, unread in found for one in unread
    ]


def _manifest(key: RunKey, entry: dict[str, Any], attempt: dict[str, Any]) -> RunManifest:
    started_at = datetime.fromtimestamp(entry["received_unix_ns"] / 1e9, UTC)
    return RunManifest(
        id=new_run_id(started_at),
        name=key.name,
        version=__version__,
        started_at=started_at,
        endpoint=key.endpoint,
        model=key.model,
        protocol=key.protocol,
        streaming=attempt["row"]["streaming"],
        workload={
            "name": "live traffic",
            "kind": "live",
            "live": key._asdict(),
            "provider": attempt["provider"],
            "tier": attempt["tier"],
        },
        load={"arrival": {"kind": "live"}},
    )


def _row(attempt: dict[str, Any], segment: dict[str, Any], index: int) -> dict[str, Any]:
    """The stored row of an attempt: instants since the segment's origin."""
    told, origin_ns = attempt["row"], segment["origin_ns"]
    # Names that a column is not called by go no further.
    row = dict(told)
    for name in _INSTANTS:
        if row.get(name) is not None:
            row[name] -= origin_ns
    row["event_ns"] = [at_ns - origin_ns for at_ns in told["event_ns"]]
    # What nobody asked for is kept, and is in no figure.
    row["phase"] = "warmup" if told["warmup"] or attempt["role"] == "probe" else "measure"
    row |= {"segment": segment["segment"], "request_index": index, "session": None, "step": None}
    return row
