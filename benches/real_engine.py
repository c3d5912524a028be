"""The main job on a real engine and real weights, beside the engine's own clock.

Calibrates, starts `llama-server` with Gemma 3 270M, measures it with `paceline measure`, and sets what the
client saw next to the `timings` that the server itself reports for each request. With `--keep FOLDER` the
report is kept there, as JSON, Markdown and HTML. Without an engine it says so and does nothing.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from tests.support.engine import Engine, find_engine, running

from benches import common


def compare(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Client against server, over requests of at least three events: medians, and the median of the
    differences."""
    pairs: dict[str, list[tuple[float, float]]] = {
        "TTFT | prompt_ms": [],
        "decode | predicted_ms": [],
        "TPOT": [],
    }
    tokens_differ = 0
    for row in rows:
        timings, events = json.loads(row["server_timings"]), row["event_ns"]
        tokens_differ += timings["predicted_n"] != row["completion_tokens"]
        if row["phase"] != "measure" or len(events) < 3:
            continue
        decode_ms = (events[-1] - events[0]) / 1e6
        pairs["TTFT | prompt_ms"].append(((events[0] - row["sent_ns"]) / 1e6, timings["prompt_ms"]))
        pairs["decode | predicted_ms"].append((decode_ms, timings["predicted_ms"]))
        tpot_ms = decode_ms / (row["completion_tokens"] - 1)
        pairs["TPOT"].append((tpot_ms, timings["predicted_ms"] / (timings["predicted_n"] - 1)))
    print(f"requests whose token count differs from the server's predicted_n: {tokens_differ} of {len(rows)}")
    lines = []
    for name, values in pairs.items():
        ours, theirs = np.array(values).T
        lines.append(
            [
                name,
                f"{np.median(ours):.3f}",
                f"{np.median(theirs):.3f}",
                f"{np.median(ours - theirs):+.3f}",
                f"{np.percentile(np.abs(ours - theirs), 99):.3f}",
                f"{np.median(ours / theirs):.4f}",
            ]
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="folder to keep the report in")
    parser.add_argument("--requests", type=int, default=60)
    options = parser.parse_args()
    engine = find_engine()
    if not isinstance(engine, Engine):
        print(f"skipped: {engine}")
        return
    with tempfile.TemporaryDirectory(prefix="paceline-bench-") as folder:
        keep = options.keep or Path(folder)
        keep.mkdir(parents=True, exist_ok=True)
        home = {**os.environ, "PACELINE_HOME": str(Path(folder) / "home")}
        calibrate = [sys.executable, "-m", "paceline", "calibrate", "--quick"]
        subprocess.run(calibrate, check=True, env=home, cwd=common.ROOT)
        with running(engine, Path(folder) / "server.log") as address:
            command = [sys.executable, "-m", "paceline", "measure", address, "--concurrency", "2"]
            command += ["--requests", str(options.requests), "--warmup", "4", "--prompt-tokens", "128"]
            command += ["--output-tokens", "64", "--name", "llama-server-gemma3-270m"]
            for kind in ("json", "html", "markdown"):
                command += [f"--{kind}", str(keep / f"report.{'md' if kind == 'markdown' else kind}")]
            subprocess.run(command, check=True, env=home, cwd=common.ROOT)
        os.environ["PACELINE_HOME"] = home["PACELINE_HOME"]
        from paceline.store.runs import open_run

        lines = compare(open_run("latest").rows().to_pylist())
    print("the client's figures beside the engine's own timings, ms")
    common.table(["client | server", "client", "server", "difference", "p99 |diff|", "ratio"], lines)


if __name__ == "__main__":
    main()
