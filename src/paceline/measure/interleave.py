"""Two endpoints in turn, in random short blocks, so that what drifts in the world falls on both alike.

A block is one segment on one side, drained before the next begins. Blocks come in pairs, one a side in random
order; blocks of a pair have the same segment number in their runs, by which a comparison pairs them.
"""

import random
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from paceline.errors import ConfigError, StoreError
from paceline.measure.border import BodySource
from paceline.measure.driver import RunResult, Watcher, close_run, observer
from paceline.measure.interrupts import Interrupts
from paceline.measure.job import Prepared
from paceline.measure.live_stats import LiveStats
from paceline.measure.load_spec import LoadPlan, Ramp, Replay
from paceline.measure.segment import Segment, SegmentResult
from paceline.measure.server_side import server_side
from paceline.store.writer import RunWriter

FEWEST_PAIRS = 5
MOST_PAIRS = 20
# A block shorter than this is mostly its own beginning and end.
SHORTEST_BLOCK_NS = 2_000_000_000


@dataclass
class _Side:
    """One of the two runs while it grows."""

    name: str
    prepared: Prepared
    writer: RunWriter
    source: BodySource
    stats: LiveStats
    started: int = 0
    sent_for_ns: int = 0
    peak_in_flight: int = 0
    leftover: list[pa.RecordBatch] = field(default_factory=list)
    last: SegmentResult | None = None


def pairs_for(plan: LoadPlan) -> int:
    """How many pairs of blocks a load is cut into: 5 to 20, each block worth its name. Raises ConfigError."""
    if isinstance(plan.arrival, Ramp):
        raise ConfigError(
            "a ramp cannot be interleaved: each block would see another part of it",
            "compare at one --rate or --concurrency, or measure each alone and compare the runs",
        )
    if isinstance(plan.arrival, Replay):
        raise ConfigError(
            "a trace cannot be interleaved: each block would see another part of it",
            "measure each endpoint alone with the trace, and compare the runs",
        )
    possible = [MOST_PAIRS]
    if plan.total_requests is not None:
        possible.append(plan.total_requests // (2 * (plan.streams or 4)))
    if plan.total_ns is not None:
        possible.append(plan.total_ns // SHORTEST_BLOCK_NS)
    return max(min(possible), FEWEST_PAIRS)


def interleave(
    a: Prepared,
    b: Prepared,
    *,
    pairs: int | None = None,
    watch: Watcher = lambda _: None,
    home: Path | None = None,
) -> tuple[RunResult, RunResult]:
    """Measure both, and return both runs. Interrupts and errors are as in `driver.measure`."""
    count = pairs or pairs_for(a.job.load)
    order = random.Random(a.job.load.seed)
    interrupts = Interrupts()
    with ExitStack() as stack:
        sides = _open(a, b, count, stack, home)
        stack.enter_context(interrupts)
        for pair in range(count):
            for side in order.sample(sides, 2):
                _run_block(side, pair, count, interrupts, watch)
                if side.last is not None and (side.last.interrupted or side.last.store_error):
                    return _close(sides)
        return _close(sides)


def _open(a: Prepared, b: Prepared, pairs: int, stack: ExitStack, home: Path | None) -> list[_Side]:
    manifests = [a.manifest(), b.manifest()]
    sides = []
    for place, (name, prepared) in enumerate((("A", a), ("B", b))):
        own, other = manifests[place], manifests[1 - place]
        load = {**own.load, "interleaved": {"side": name, "with": other.id, "pairs": pairs}}
        writer = stack.enter_context(RunWriter.create(own.model_copy(update={"load": load}), at=home))
        plan = prepared.job.load
        stats = LiveStats(plan.total_requests, plan.total_ns, label=name, jobs=plan.jobs)
        sides.append(_Side(name, prepared, writer, prepared.source(), stats))
    return sides


def _run_block(side: _Side, pair: int, pairs: int, interrupts: Interrupts, watch: Watcher) -> None:
    plan = side.prepared.job.load
    requests, block_ns = _share(plan.total_requests, pair, pairs), _share(plan.total_ns, pair, pairs)
    if requests == 0:
        return
    spec = plan.spec(
        side.prepared.load_target,
        segment=pair,
        started=side.started,
        elapsed_ns=side.sent_for_ns,
        max_requests=requests,
        duration_ns=block_ns,
    )
    segment = Segment(
        spec,
        plan,
        side.source,
        load=side.prepared.load,
        observe=observer(side.stats, watch, interrupts),
        leftover=side.leftover,
    )
    segment.fill(side.prepared.first_jobs)
    with server_side(side.prepared, side.writer) as sink:
        side.last = segment.run(sink, interrupts)
    side.peak_in_flight = max(side.peak_in_flight, side.last.peak_in_flight)
    side.started += side.last.started
    side.sent_for_ns += block_ns or 0
    side.leftover = side.last.unused


def _share(total: int | None, part: int, parts: int) -> int | None:
    """The size of one part when a whole is cut as evenly as whole numbers allow."""
    return None if total is None else total * (part + 1) // parts - total * part // parts


def _close(sides: list[_Side]) -> tuple[RunResult, RunResult]:
    # One side cut short is a comparison cut short.
    interrupted = any(side.last is not None and side.last.interrupted for side in sides)
    failure: StoreError | None = next(
        (side.last.store_error for side in sides if side.last is not None and side.last.store_error), None
    )
    first, second = (
        close_run(
            side.writer,
            SegmentResult(
                progress={},
                interrupted=interrupted,
                peak_in_flight=side.peak_in_flight,
                store_error=failure,
            ),
            streams_known=side.prepared.job.load.streams is not None,
        )
        for side in sides
    )
    return first, second
