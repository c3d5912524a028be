"""The instrument measures itself, against the reference engine's truth log, on this machine.

Each cell starts an engine of its own as another process, as an endpoint would be, and holds so many streams
open at a known pace. Arrivals are Poisson at the rate that keeps that many in flight, so that streams do not
run in step.
"""

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paceline.errors import RunError
from paceline.measure.border import LoadFactory, core_load_run
from paceline.measure.host import describe_host, fingerprint, instrument
from paceline.measure.interrupts import Interrupts
from paceline.measure.load_spec import LoadPlan, LoadTarget, Poisson, auto_threads
from paceline.measure.segment import Segment
from paceline.measure.sim import SimProcess, read_truth
from paceline.measure.truth import error_summary, truth_errors
from paceline.store.atomic import make_folder, write_text
from paceline.store.paths import home

SCHEMA = "paceline.calibration/1"
TTFT_US = 50_000
WARMUP_NS = 700_000_000
# An error is taken to have grown when the 99th percentile of its size passes this: a tenth of the gap
# between tokens at 100 tok/s.
GROWN_US = 1_000.0
# An engine that sends less than this share of what was asked is itself the limit.
DELIVERED_SHARE = 0.9
MODEL = "truth"


@dataclass(frozen=True, slots=True)
class Cell:
    """One point of the grid: `streams` in flight, each of `rate_tok_s`, measured for `measure_ns`."""

    streams: int
    rate_tok_s: float
    measure_ns: int

    @property
    def itl_us(self) -> int:
        """The gap between tokens."""
        return round(1e6 / self.rate_tok_s)

    @property
    def output_tokens(self) -> int:
        """Tokens a request: few where there are few streams, so that there are many requests."""
        seconds = 0.15 if self.streams <= 4 else 0.65
        return max(8, round(seconds * self.rate_tok_s))

    @property
    def request_s(self) -> float:
        """From a request to its last token."""
        return (TTFT_US + (self.output_tokens - 1) * self.itl_us) / 1e6


GRID = tuple(Cell(streams, 100.0, 2_500_000_000) for streams in (1, 16, 64, 256, 512))
RISING = tuple(Cell(512, rate, 1_500_000_000) for rate in (150.0, 225.0, 340.0, 500.0, 750.0, 1_100.0))
QUICK_GRID = (Cell(16, 100.0, 1_200_000_000), Cell(64, 100.0, 1_200_000_000))

CellObserver = Callable[[dict[str, Any]], None]


def calibrate(
    *,
    quick: bool = False,
    on_cell: CellObserver = lambda _: None,
    load: LoadFactory = core_load_run,
    grid: Sequence[Cell] | None = None,
    rising: Sequence[Cell] | None = None,
) -> dict[str, Any]:
    """Measure the instrument and return `paceline.calibration/1`.

    Takes under a minute, `quick` a few seconds. `on_cell` is called with each cell as it is done. Raises
    RunError when it cannot be done, KeyboardInterrupt on Ctrl-C.
    """
    cells: list[dict[str, Any]] = []
    for cell in grid or (QUICK_GRID if quick else GRID):
        cells.append(run_cell(cell, load))
        on_cell(cells[-1])
    limit = None
    for cell in rising if rising is not None else (() if quick else RISING):
        cells.append(run_cell(cell, load))
        on_cell(cells[-1])
        limit = limit_of(cells[-1])
        if limit is not None:
            break
    # An engine that sends less than it was asked to is not the instrument's fault: what it sent was seen.
    most = max((cell["events_s"] for cell in cells if not error_grew(cell)), default=None)
    return {
        "schema": SCHEMA,
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": quick,
        "instrument": instrument(),
        "host": describe_host(),
        "cells": cells,
        "max_events_s": most,
        "max_events_limited_by": limit or _limit_above(most, cells),
        "grown_us": GROWN_US,
    }


def limit_of(cell: dict[str, Any]) -> str | None:
    """What a cell has run into: `error`, `engine`, or None."""
    if error_grew(cell):
        return "error"
    return "engine" if cell["events_s"] < DELIVERED_SHARE * cell["offered_events_s"] else None


def error_grew(cell: dict[str, Any]) -> bool:
    """Whether the 99th percentile of the error's size passed `GROWN_US`, or no error could be told."""
    worst = [cell[name]["abs_p99"] for name in ("ttft_us", "itl_us") if cell[name] is not None]
    return not worst or max(worst) > GROWN_US


def _limit_above(most: int | None, cells: Sequence[dict[str, Any]]) -> str:
    """Where no search met a limit: whether the error had grown in a cell of more events than `most`."""
    grown = any(error_grew(cell) and cell["events_s"] > (most or 0) for cell in cells)
    return "error" if grown else "not looked for"


def run_cell(cell: Cell, load: LoadFactory = core_load_run) -> dict[str, Any]:
    """Measure one cell."""
    with tempfile.TemporaryDirectory(prefix="paceline-calibrate-") as folder:
        log = Path(folder) / "truth.jsonl"
        arguments = [
            "--truth-log", str(log), "--model", MODEL, "--ttft", f"{TTFT_US}us", "--itl", f"{cell.itl_us}us",
            "--output-tokens", str(cell.output_tokens),
        ]  # fmt: skip
        with SimProcess(arguments) as engine, Interrupts() as interrupts:
            rows, progress = _load_engine(cell, engine.address, load, interrupts)
            if interrupts.count:
                raise KeyboardInterrupt
            engine.stop()
            truth = read_truth(log)
    return cell_result(cell, rows, progress, truth)


def cell_result(
    cell: Cell, rows: pa.Table, progress: dict[str, Any], truth: list[dict[str, Any]]
) -> dict[str, Any]:
    """What a cell has shown; `events_s` is what the engine sent by its own clock, in the cell's middle."""
    errors = truth_errors(rows, truth)
    if errors.requests == 0:
        raise RunError(
            f"no request of the cell of {cell.streams} streams could be compared: {progress['outcomes']}",
            "is something else taking all of this machine? try again when it is quiet",
        )
    events = int(progress["token_events"])
    return {
        "streams": cell.streams,
        "rate_tok_s": cell.rate_tok_s,
        "offered_events_s": round(cell.streams / cell.request_s * cell.output_tokens),
        "events_s": round(_sent_events_s(truth)),
        "requests": errors.requests,
        "unmatched": errors.unmatched,
        "ttft_us": error_summary(errors.ttft_us),
        "itl_us": error_summary(errors.itl_us),
        "e2e_us": error_summary(errors.e2e_us),
        "client_cpu_us_per_event": round(progress["cpu_ns"] / 1e3 / events, 2) if events else None,
        "kernel_stamps": _stamped(rows),
    }


def _stamped(rows: pa.Table) -> bool:
    """Whether all that was compared has the kernel's stamps.

    Other reads do not matter: the kernel takes a moment to begin stamping after the first socket asks for it.
    """
    unstamped = (pc.field("phase") == "measure") & (pc.field("outcome") == "ok") & ~pc.field("kernel_stamped")
    return rows.filter(unstamped).num_rows == 0


def _sent_events_s(truth: list[dict[str, Any]]) -> float:
    """Events a second over the middle half of all events, so that rise and fall do not count."""
    sent = sorted(event[0] for request in truth for event in request["events"] if event[1] > 0)
    if len(sent) < 8:
        return 0.0
    first, last = len(sent) // 4, len(sent) * 3 // 4
    return (last - first) * 1e9 / max(int(sent[last]) - int(sent[first]), 1)


def _load_engine(
    cell: Cell, address: str, load: LoadFactory, interrupts: Interrupts
) -> tuple[pa.Table, dict[str, Any]]:
    host, _, port = address.rpartition(":")
    target = LoadTarget(
        scheme="http",
        host=host.strip("[]"),
        port=int(port),
        path="/v1/chat/completions",
        addresses=(address,),
        protocol="openai-chat",
    )
    plan = LoadPlan(
        arrival=Poisson(rate_requests_s=cell.streams / cell.request_s),
        duration_ns=cell.measure_ns,
        warmup_ns=WARMUP_NS + round(cell.request_s * 1e9),
        timeout_ns=20_000_000_000,
        threads=auto_threads(cell.streams),
        keep_text=False,
    )
    kept = _Kept()
    segment = Segment(plan.spec(target), plan, _SameBody(), load=load, observe=lambda *_: None)
    segment.fill()
    result = segment.run(kept, interrupts)
    if not kept.batches:
        raise RunError(f"the reference engine answered nothing: {result.progress['outcomes']}")
    return pa.Table.from_batches(kept.batches), result.progress


class _SameBody:
    """The same short chat request again and again."""

    def __init__(self) -> None:
        body = {
            "model": MODEL,
            "messages": [{"role": "user", "content": "Say what you see."}],
            "stream": True,
        }
        self._body = json.dumps(body).encode()

    def take(self, n: int) -> tuple[pa.RecordBatch, pa.Table]:
        batch = pa.record_batch({"body": pa.array([self._body] * n, pa.binary())})
        return batch, pa.table({})


class _Kept:
    """Rows in memory."""

    def __init__(self) -> None:
        self.batches: list[pa.RecordBatch] = []

    def append(self, batch: pa.RecordBatch) -> None:
        self.batches.append(batch)

    def append_plan(self, table: pa.Table) -> None:
        """Nothing to keep."""

    def append_progress(self, progress: dict[str, Any]) -> None:
        """Nothing to keep."""


def calibration_path(at: Path | None = None) -> Path:
    """Where this machine's calibration lies; `at`: another home."""
    return (at or home()) / "calibration" / f"{fingerprint()}.json"


def save_calibration(document: dict[str, Any], at: Path | None = None) -> Path:
    """Keep a calibration for later reports. Raises StoreError."""
    path = calibration_path(at)
    make_folder(path.parent)
    write_text(path, json.dumps(document, indent=2) + "\n")
    return path


def load_calibration(at: Path | None = None) -> dict[str, Any] | None:
    """This machine's calibration, stale or not; None where there is none or it cannot be read."""
    path = calibration_path(at)
    try:
        document = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) and document.get("schema") == SCHEMA else None


def stale_reasons(document: dict[str, Any]) -> list[str]:
    """Why a calibration no longer speaks for this instrument; empty when it does."""
    now, then = instrument(), document.get("instrument", {})
    return [
        f"{name} was {then.get(name)}, is {value}" for name, value in now.items() if then.get(name) != value
    ]


def current_error(streams: int | None, at: Path | None = None) -> dict[str, Any] | None:
    """What a run of so many streams keeps of the calibration: None without one, or when it is stale.

    `instrument_error_us`: p50 and p99 of the size of the TTFT's error in the cell at 100 tok/s that has at
    least as many streams, or else the largest; a run without a limit on its streams takes the largest.
    """
    document = load_calibration(at)
    if document is None or stale_reasons(document):
        return None
    usual = sorted((cell for cell in document["cells"] if cell["rate_tok_s"] <= 100), key=_streams_of)
    usual = [cell for cell in usual if cell["ttft_us"] is not None]
    if not usual:
        return None
    fitting = usual if streams is None else [cell for cell in usual if cell["streams"] >= streams]
    cell = fitting[0] if fitting and streams is not None else usual[-1]
    return {
        "schema": SCHEMA,
        "made_at": document["made_at"],
        "streams": cell["streams"],
        "instrument_error_us": _sizes(cell["ttft_us"]),
        "itl_error_us": _sizes(cell["itl_us"]),
        "e2e_error_us": _sizes(cell["e2e_us"]),
        "max_events_s": document["max_events_s"],
    }


def _sizes(summary: dict[str, float] | None) -> dict[str, float] | None:
    return None if summary is None else {"p50": summary["abs_p50"], "p99": summary["abs_p99"]}


def _streams_of(cell: dict[str, Any]) -> int:
    return int(cell["streams"])
