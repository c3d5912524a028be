"""Memory of a run: under 200 MB for 1,000,000 recorded events, and no growth with a run's length.

Each size runs in a process of its own, with all of a real run around it (store included); the peak is
the kernel's own figure for that process. The floor is the same process that has imported everything and
run one request.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile

from benches import common

TOKENS = 500


def child(address: str, events: int) -> None:
    """`paceline measure` over so many events; prints the peak memory of its process in MB."""
    from paceline.cli.main import run

    arguments = ["measure", f"http://{address}", "--concurrency", "64", "--requests", str(events // TOKENS)]
    code = run([*arguments, "--output-tokens", str(TOKENS), "--prompt-tokens", "32"])
    if code != 0:
        sys.exit(f"the run ended with {code}")
    print(json.dumps({"peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


def main() -> None:
    rows = []
    floor = 0.0
    with common.reference_engine(ttft_us=1_000, itl_us=2_000, output_tokens=TOKENS) as engine:
        for events in (500, 250_000, 1_000_000, 2_000_000):
            with tempfile.TemporaryDirectory(prefix="paceline-bench-") as home:
                out = subprocess.run(
                    [sys.executable, "-m", "benches.memory", "child", engine.address, str(events)],
                    check=True,
                    capture_output=True,
                    text=True,
                    cwd=common.ROOT,
                    env={**os.environ, "PACELINE_HOME": home},
                )
            peak_mb = json.loads(out.stdout.splitlines()[-1])["peak_mb"]
            floor = floor or peak_mb
            rows.append([f"{events:,}", f"{peak_mb:.0f}", f"{peak_mb - floor:.0f}", f"{peak_mb / floor:.2f}"])
    print("peak memory of a measuring process, MB (target: under 200 at 1,000,000 events, and flat after it)")
    common.table(["events", "peak", "over floor", "ratio"], rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        child(sys.argv[2], int(sys.argv[3]))
    else:
        main()
