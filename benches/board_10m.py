"""A board over 10 million request rows: wall time and CPU of `paceline board --json -` as a whole process.

10 offers of 100 runs each, 10,000 rows a run, written by the store's own writer and then read by the code
that reads each run once, which is timed apart. (Answers are of two events, so that the runs take little disk;
what a board reads of a run does not depend on it.)

Beside the board, in turns: a bare Python that opens the same cache and reads its bytes, and DuckDB as a whole
process that answers the median TTFT by offer from the rows themselves. Target: under 1 s.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tests.report.samples import store
from tests.support.rows import lognormal_rows

from benches import common
from paceline.advisor.digests import all_digests
from paceline.store.paths import runs_folder

OFFERS, RUNS, ROWS = 10, 100, 10_000
EVENTS = 2
TURNS = 7
WORKLOAD = {"schema": "paceline.workload/1", "name": "bench", "prompt_tokens": "512", "output_tokens": "2"}
PRICES = """[[price]]
model = "model-{number}"
input_usd_per_mtok = 1.0
output_usd_per_mtok = {number}.0
as_of = "2026-11-30"
"""
READS_CACHE = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
print(sum(len(head) + len(sample) for head, sample in connection.execute("SELECT head, sample FROM digests")))
"""
ASKS_DUCKDB = """
import duckdb, glob, sys
parts = glob.glob(sys.argv[1] + "/*/requests-*.parquet")
print(duckdb.sql(
    "SELECT server_model, median(event_ns[1] - sent_ns) / 1e6 FROM read_parquet($parts) GROUP BY 1",
    params={"parts": parts},
).fetchall())
"""


def write_runs(home: Path) -> None:
    """All runs, their offers in turn."""
    for run in range(OFFERS * RUNS):
        number = run % OFFERS
        rows = lognormal_rows(ROWS, run, ttft_ms=ttft_ms(number), events=EVENTS)
        offer = {"provider": "bench", "tier": "standard"}
        store(home, rows, model=f"model-{number}", offer=offer, workload=WORKLOAD)
    (home / "prices.toml").write_text("\n".join(PRICES.format(number=n) for n in range(OFFERS)))


def ttft_ms(number: int) -> float:
    """The median of an offer's TTFT."""
    return 100.0 + 20.0 * number


def read_first(home: Path) -> tuple[float, float]:
    """Wall time and CPU of reading 100,000 rows for the first time, s."""
    begun, cpu = time.perf_counter(), time.process_time()
    all_digests(at=home)
    share = 100_000 / (OFFERS * RUNS * ROWS)
    return (time.perf_counter() - begun) * share, (time.process_time() - cpu) * share


def timed(command: Sequence[str], home: Path) -> tuple[float, float, str]:
    """Wall time and CPU of a whole process, s, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # As it is installed: with compiled modules.
    there = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    there |= {"PACELINE_HOME": str(home), "PACELINE_CONFIG": ""}
    begun = time.perf_counter()
    out = subprocess.run(command, check=True, capture_output=True, text=True, env=there)
    wall = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, out.stdout


def check_board(text: str) -> None:
    """Raises RuntimeError unless the board is of all rows, and right."""
    board = json.loads(text)
    found = [row["figures"]["ttft_p50_ms"]["value"] for row in board["rows"]]
    wanted = [ttft_ms(number) for number in range(OFFERS)]
    right = len(found) == OFFERS and bool(np.allclose(found, wanted, rtol=0.03))
    if board["requests"] != OFFERS * RUNS * ROWS or not right:
        raise RuntimeError(f"not the board of what was written: {board['requests']} requests, {found}")


def main() -> None:
    home = Path(tempfile.mkdtemp(prefix="paceline-bench-"))
    try:
        write_runs(home)
        reading = read_first(home)
        commands = {
            "paceline board --json -": [sys.executable, "-m", "paceline", "board", "--json", "-"],
            "the cache's bytes, read": [sys.executable, "-c", READS_CACHE, str(home / "digests.sqlite")],
            "DuckDB over the rows": [sys.executable, "-c", ASKS_DUCKDB, str(runs_folder(home))],
        }
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        # The first turn compiles and warms the page cache, and does not count.
        for turn in range(TURNS + 1):
            for name, command in commands.items():
                wall, used, text = timed(command, home)
                if turn:
                    found[name].append((wall, used))
                if name.startswith("paceline"):
                    check_board(text)
    finally:
        shutil.rmtree(home)
    print(f"{OFFERS * RUNS * ROWS:,} rows in {OFFERS * RUNS:,} runs of {OFFERS} offers (target: under 1 s)")
    board_s = float(np.median([wall for wall, _ in found["paceline board --json -"]]))
    rows = []
    for name, times in found.items():
        wall, used = (float(one) for one in np.median(times, axis=0))
        rows.append([name, f"{wall:.2f}", f"{min(times)[0]:.2f}", f"{used:.2f}", f"{board_s / wall:.2f}"])
    common.table(["whole process", "wall s, median", "least", "CPU s", "the board's of it"], rows)
    print(f"reading runs the first time: {reading[0]:.2f} s, {reading[1]:.2f} s of CPU for 100,000 rows")


if __name__ == "__main__":
    main()
