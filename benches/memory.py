"""Memory of a run: under 200 MB for 1,000,000 recorded events, and no growth with a run's length.

Each size runs in a process of its own, with all of a real run around it, store and report included. The
peaks are the kernel's own figures for that process: until the run has ended and its rows lie in the store,
and until its report is printed. The run's must not grow; the report holds the times of all events at once, so
its own does.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from typing import Any

TOKENS = 500
SIZES = (500, 250_000, 1_000_000, 2_000_000)


def child(address: str, events: int) -> None:
    """`paceline measure` over so many events; prints the peak memory of its process in MB."""
    from paceline.cli.main import run
    from paceline.measure import driver

    peaks_mb = {}
    measure = driver.measure

    def measured(*arguments: Any, **options: Any) -> driver.RunResult:
        result = measure(*arguments, **options)
        peaks_mb["run"] = peak_mb()
        return result

    driver.measure = measured
    arguments = ["measure", f"http://{address}", "--concurrency", "64", "--requests", str(events // TOKENS)]
    code = run([*arguments, "--output-tokens", str(TOKENS), "--prompt-tokens", "32"])
    if code != 0:
        sys.exit(f"the run ended with {code}")
    peaks_mb["report"] = peak_mb()
    print(json.dumps(peaks_mb))


def peak_mb() -> float:
    """The most memory that this process has had at once."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    # Not above: it imports Arrow, which in the measuring process is the command's to do, in its own way.
    from benches import common

    rows = []
    floor: dict[str, float] = {}
    with common.reference_engine(ttft_us=1_000, itl_us=2_000, output_tokens=TOKENS) as engine:
        for events in SIZES:
            with tempfile.TemporaryDirectory(prefix="paceline-bench-") as home:
                out = subprocess.run(
                    [sys.executable, "-m", "benches.memory", "child", engine.address, str(events)],
                    check=True,
                    capture_output=True,
                    text=True,
                    cwd=common.ROOT,
                    env={**os.environ, "PACELINE_HOME": home},
                )
            peaks_mb: dict[str, float] = json.loads(out.stdout.splitlines()[-1])
            floor = floor or peaks_mb
            row = [f"{events:,}"]
            for name in ("run", "report"):
                row += [f"{peaks_mb[name]:.0f}", f"{peaks_mb[name] / floor[name]:.2f}"]
            rows.append(row)
    print("peak memory of a measuring process, MB, and over that of the shortest run")
    print("(targets: under 200 at 1,000,000 events with the report; the run itself flat)")
    common.table(["events", "run", "ratio", "with report", "ratio"], rows)


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        child(sys.argv[2], int(sys.argv[3]))
    else:
        main()
