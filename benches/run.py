"""Runs the benchmarks: `python benches/run.py [NAME ...]`; without a name, all but those that take long."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAMES = (
    "client_cpu",
    "client_error",
    "memory",
    "coverage",
    "peers",
    "conformance",
    "real_engine",
    "capacity",
    "gateway_cpu",
    "gateway_ttft",
    "gateway_memory",
    "gateway_peers",
    "gateway_routing",
    "board_10m",
    "tune_truth",
    "machine_rates",
)
LONG = ("gateway_soak", "tune_search")


def main() -> None:
    wanted = sys.argv[1:] or list(NAMES)
    unknown = [name for name in wanted if name not in NAMES + LONG]
    if unknown:
        sys.exit(f"no benchmark {', '.join(unknown)}; there are: {', '.join(NAMES + LONG)}")
    subprocess.run(
        ["cargo", "build", "--quiet", "--release", "-p", "paceline-bare-client"], check=True, cwd=ROOT
    )
    for name in wanted:
        print(f"== {name}", flush=True)
        subprocess.run([sys.executable, "-m", f"benches.{name}"], check=True, cwd=ROOT)


if __name__ == "__main__":
    main()
