"""What the benchmarks share: the reference engine as a process, both clients, and the join to the truth
log."""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from paceline import _core

ROOT = Path(__file__).resolve().parent.parent
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Truth:
    """What the reference engine received and sent, in ns of CLOCK_MONOTONIC."""

    received_ns: int
    events_ns: NDArray[np.int64]


@dataclass(frozen=True)
class Seen:
    """What a client recorded of one response."""

    response_id: str
    sent_ns: int
    events_ns: NDArray[np.int64]


@dataclass(frozen=True)
class ClientRun:
    """One run of a client: CPU of its loop, CPU of its whole process, wall time, and the responses."""

    cpu_ns: int
    process_cpu_ns: int
    wall_ns: int
    seen: list[Seen]


class Addressed(Protocol):
    """What a client can be sent to."""

    @property
    def address(self) -> str:
        """`host:port`."""


@dataclass
class Engine:
    """A running reference engine."""

    address: str
    truth_log: Path
    process: subprocess.Popen[str]

    def finish(self) -> dict[str, Truth]:
        """Stops the engine, and reads its truth log by response id."""
        if self.process.stdin is not None and not self.process.stdin.closed:
            self.process.stdin.close()
        self.process.wait(timeout=60)
        truths = {}
        for entry in truth_entries(self.truth_log):
            events = np.array([event[0] for event in entry["events"] if event[1] > 0], dtype=np.int64)
            truths[entry["id"]] = Truth(entry["received_ns"], events)
        return truths


def truth_entries(log: Path) -> list[dict[str, Any]]:
    """The lines of a truth log (docs/reference/sim.md), after its head."""
    return [json.loads(line) for line in log.read_text().splitlines()[1:]]


@contextmanager
def reference_engine(
    ttft_us: int = 50_000, itl_us: int = 10_000, output_tokens: int = 100, cpu: int | None = None
) -> Iterator[Engine]:
    """An engine in a process of its own, on core `cpu` if that is said; its truth log is complete when the
    block has ended."""
    with tempfile.TemporaryDirectory(prefix="paceline-bench-") as folder:
        log = Path(folder) / "truth.jsonl"
        config = {
            "models": ["truth"],
            "truth_log": str(log),
            "exact": {"ttft_us": ttft_us, "itl_us": itl_us, "output_tokens": output_tokens},
        }
        script = (
            "import sys, json; from paceline import _core\n"
            "sim = _core.Sim(sys.argv[1]); print(sim.start(), flush=True)\n"
            "sys.stdin.read(); sim.stop()"
        )
        process = subprocess.Popen(
            [*pinned(cpu), sys.executable, "-c", script, json.dumps(config)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Engine(process.stdout.readline().strip(), log, process)
        finally:
            process.stdin.close()
            process.wait(timeout=60)
            process.stdout.close()


def pinned(cpu: int | None) -> list[str]:
    """What comes before a command that is to run on one core."""
    return [] if cpu is None else ["taskset", "--cpu-list", str(cpu)]


def run_bare(
    engine: Engine, streams: int, requests: int, output_tokens: int, *, keep: bool = True
) -> ClientRun:
    """The floor: `benches/bare_client`. Without `keep` it forgets what it reads, and nothing is `seen`."""
    binary = ROOT / "target" / "release" / "paceline-bare-client"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run(
        [binary, engine.address, str(streams), str(requests), str(output_tokens), "keep" if keep else "drop"],
        check=True,
        capture_output=True,
        text=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = json.loads(out.stdout)
    seen = [
        Seen(one["id"], one["sent_ns"], np.array(one["events_ns"], dtype=np.int64))
        for one in result["requests"]
        if keep
    ]
    cpu_s = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return ClientRun(result["cpu_ns"], int(cpu_s * 1e9), result["wall_ns"], seen)


def load_spec(
    to: Addressed,
    streams: int,
    requests: int,
    *,
    headers: Sequence[tuple[str, str]] = (),
    streaming: bool = True,
    **more: Any,
) -> str:
    """A closed loop of `streams`; `more` is laid over the document."""
    host, port = to.address.rsplit(":", 1)
    spec = {
        "schema": "paceline.load/1",
        "target": {
            "scheme": "http",
            "host": host,
            "port": int(port),
            "path": "/v1/chat/completions",
            "addresses": [to.address],
            "headers": list(headers),
            "protocol": "openai-chat",
            "streaming": streaming,
        },
        "arrival": {"kind": "closed", "concurrency": streams},
        "seed": 1,
        "max_requests": requests,
        "timeout_ns": 120_000_000_000,
        "threads": 1,
    }
    return json.dumps(spec | more)


def bodies(n: int, output_tokens: int) -> pa.RecordBatch:
    """`n` small streaming chat requests."""
    body = json.dumps(
        {
            "model": "truth",
            "messages": [{"role": "user", "content": "Say something."}],
            "stream": True,
            "max_tokens": output_tokens,
        }
    ).encode()
    return pa.record_batch({"body": pa.array([body] * n, pa.binary())})


@dataclass(frozen=True)
class Load:
    """A run of the load generator: what it said last, all rows, and CPU of its whole process."""

    progress: dict[str, Any]
    rows: pa.Table
    process_cpu_ns: int

    def seen(self) -> list[Seen]:
        """The responses, in ns of CLOCK_MONOTONIC."""
        origin = self.progress["origin_ns"]
        return [
            Seen(str(response_id), sent + origin, np.array(events, dtype=np.int64) + origin)
            for response_id, sent, events in zip(
                self.rows["response_id"].to_pylist(),
                self.rows["sent_ns"].to_pylist(),
                self.rows["event_ns"].to_pylist(),
                strict=True,
            )
        ]


def run_load(spec: str, batch: pa.RecordBatch) -> Load:
    """The load generator with all that a real run has around it: polled four times a second, rows into Arrow.

    Raises RuntimeError unless each request went well.
    """
    run = _core.LoadRun(spec)
    run.push(batch)
    run.close_input()
    before_ns = time.process_time_ns()
    run.start()
    batches: list[pa.RecordBatch] = []
    while True:
        text, rows = run.poll()
        if rows is not None:
            batches.append(rows)
        progress = json.loads(text)
        if progress["state"] in ("done", "failed"):
            break
        time.sleep(0.25)
    process_cpu_ns = time.process_time_ns() - before_ns
    if progress["state"] == "failed" or set(progress["outcomes"]) != {"ok"}:
        raise RuntimeError(f"the run is not clean: {progress}")
    return Load(progress, pa.Table.from_batches(batches), process_cpu_ns)


def run_paceline(to: Addressed, streams: int, requests: int, output_tokens: int, **more: Any) -> ClientRun:
    """A closed loop of the load generator."""
    load = run_load(load_spec(to, streams, requests, **more), bodies(requests, output_tokens))
    if load.progress["outcomes"] != {"ok": requests}:
        raise RuntimeError(f"the run is not clean: {load.progress}")
    return ClientRun(load.progress["cpu_ns"], load.process_cpu_ns, load.progress["elapsed_ns"], load.seen())


def errors_us(seen: list[Seen], truths: dict[str, Truth]) -> tuple[Floats, Floats]:
    """|client - truth| of TTFT (a value a request) and of each gap between events (pooled), in us."""
    ttft, gaps = [], []
    for one in seen:
        truth = truths[one.response_id]
        if len(truth.events_ns) != len(one.events_ns):
            raise RuntimeError(
                f"{one.response_id}: {len(one.events_ns)} events seen, {len(truth.events_ns)} sent"
            )
        ttft.append((one.events_ns[0] - one.sent_ns) - (truth.events_ns[0] - truth.received_ns))
        gaps.append(np.diff(one.events_ns) - np.diff(truth.events_ns))
    return np.abs(np.array(ttft, dtype=np.float64)) / 1e3, np.abs(
        np.concatenate(gaps).astype(np.float64)
    ) / 1e3


def table(header: list[str], rows: list[list[str]]) -> None:
    """Prints rows under a header, columns aligned."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, ["-" * width for width in widths], *rows]:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
