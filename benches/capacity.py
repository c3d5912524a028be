"""The capacity that a search finds on the reference engine, beside the engine's own.

In engine mode a decode step takes a base and a part for each sequence, so the time per token passes its limit
at a known number in flight: a closed loop's capacity is known without measuring.
"""

import json
import math
import os
import subprocess
import sys
import tempfile

from benches import common
from paceline.measure.sim import SimProcess

BASE_MS, PER_REQUEST_MS, LIMIT_MS = 1.0, 0.25, 4.625
SEEDS = int(os.environ.get("PACELINE_BENCH_SEEDS", "5"))


def found(url: str, seed: int) -> dict[str, object]:
    """What one search says."""
    with tempfile.TemporaryDirectory(prefix="paceline-bench-") as home:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "paceline", "capacity", url, "--over", "concurrency=1..64"),
                *("--slo", f"itl_ms={LIMIT_MS}", "--seed", str(seed), "-d", "2s", "--warmup", "500ms"),
                *("--settle", "200ms", "--budget", "3m", "--prompt-tokens", "16", "--output-tokens", "64"),
                *("--tokenizer", "words", "--json", "-"),
            ],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PACELINE_HOME": home},
        )
    if not done.stdout:
        raise RuntimeError(f"the search has failed: {done.stderr[-2000:]}")
    document = json.loads(done.stdout)
    steps = document["steps"]
    seconds = sum(step["seconds"] for step in steps)
    trust = document["trust"]["verdict"]
    return {**document["result"], "steps": len(steps), "seconds": round(seconds), "trust": trust}


def main() -> None:
    true = math.floor((LIMIT_MS - BASE_MS) / PER_REQUEST_MS)
    arguments = ["--mode", "engine", "--slots", "64", "--decode-step-base", f"{BASE_MS}ms"]
    arguments += ["--decode-step-per-seq", f"{PER_REQUEST_MS}ms", "--prefill-tok-s", "100000"]
    lines, loads = [], []
    with SimProcess(arguments) as engine:
        for seed in range(1, SEEDS + 1):
            one = found(engine.url, seed)
            load = one["load"] if one["verdict"] == "found" else None
            ratio = "-"
            if isinstance(load, float | int):
                loads.append(load)
                ratio = f"{load / true:.3f}"
            shown = [one[name] for name in ("verdict", "load", "steps", "seconds", "trust")]
            lines.append([str(seed), *map(str, shown), ratio])
            print(" ".join(lines[-1]), file=sys.stderr, flush=True)
    print(f"highest concurrency with 95 % of requests within {LIMIT_MS} ms a token: {true}")
    common.table(["seed", "verdict", "load", "steps", "s", "trust", "found/true"], lines)
    within = sum(abs(load / true - 1.0) <= 0.05 for load in loads)
    above = sum(load > true for load in loads)
    print(f"{len(loads)} of {SEEDS} found, {within} within 5 %, {above} above")


if __name__ == "__main__":
    main()
