"""This machine's rates against programs that know nothing of Paceline, in the same run and in turn.

Memory: loops in C with OpenMP (`stream.c`), on arrays as large as ours. Arithmetic: a product of matrices by
numpy's BLAS; what `paceline limit` takes for `f32` is the better of the two.
"""

import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from benches import common
from paceline.measure.machine_speed import KERNELS, arithmetic_stretches, memory_stretches
from paceline.roofline.cpu import this_cpu
from paceline.roofline.figure import ALONE_SHARE, moved
from paceline.units import format_bytes

ROUNDS = 4
OURS_S = 0.5
SIDE = 2_048
BYTES = 512 << 20
FLAGS = ("-O3", "-march=native", "-ffast-math", "-fopenmp")


def compiled(folder: Path) -> Path | str:
    """The program, or why there is none."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return "no C compiler is installed"
    program = folder / "stream"
    source = Path(__file__).with_name("stream.c")
    made = subprocess.run(
        [compiler, *FLAGS, str(source), "-o", str(program)], capture_output=True, text=True, check=False
    )
    return program if made.returncode == 0 else f"{compiler} cannot compile it: {made.stderr.strip()[:200]}"


def theirs(program: Path, threads: int) -> dict[str, float]:
    """Bytes a second by kernel."""
    out = subprocess.run(
        [str(program), str(BYTES), "20"],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": str(threads), "OMP_PROC_BIND": "true"},
    )
    rates: dict[str, float] = json.loads(out.stdout)
    return rates


def best(before: dict[str, float], now: dict[str, float]) -> dict[str, float]:
    """Of each kernel the higher."""
    return {name: max(value, before.get(name, 0.0)) for name, value in now.items()}


def memory(threads: int) -> None:
    """Prints what both moved."""
    with tempfile.TemporaryDirectory(prefix="paceline-bench-") as folder:
        program = compiled(Path(folder))
        if isinstance(program, str):
            print(f"skipped: {program}")
            return
        ours: dict[str, float] = {}
        peer: dict[str, float] = {}
        share = 0.0
        for _ in range(ROUNDS):
            now: dict[str, float] = {}
            for kernel in KERNELS:
                figure = moved(memory_stretches(kernel, threads, BYTES // threads, OURS_S))
                now[kernel] = figure.value
                share = max(share, figure.share)
            ours, peer = best(ours, now), best(peer, theirs(program, threads))
    rows = [
        [
            kernel,
            f"{ours[kernel] / 1e9:.1f}",
            f"{peer[kernel] / 1e9:.1f}",
            f"{ours[kernel] / peer[kernel]:.2f}",
        ]
        for kernel in KERNELS
    ]
    print(f"memory, {threads} threads, arrays of {format_bytes(BYTES)}: GB/s, best of {ROUNDS} rounds each")
    common.table(["kernel", "ours", "C", "ratio"], rows)
    if share < ALONE_SHARE:
        print(
            f"other work had {1 - share:.0%} of the cores all along: on a busy machine the ratios say nothing"
        )


def arithmetic(threads: int) -> None:
    """Prints what both computed."""
    matrix = np.random.default_rng(1).random((SIDE, SIDE), dtype=np.float32)
    ours, peer, share = 0.0, 0.0, 1.0
    for _ in range(ROUNDS):
        stretches = arithmetic_stretches("f32", threads, OURS_S) or []
        fastest = max(stretches, key=lambda one: one.rate)
        if fastest.rate > ours:
            ours, share = fastest.rate, fastest.share
        for _ in range(5):
            began_s = time.perf_counter()
            matrix @ matrix
            peer = max(peer, 2 * SIDE**3 / (time.perf_counter() - began_s))
    print(f"\nf32, {threads} threads (share of their cores in the best: {share:.2f}): GFLOP/s")
    common.table(
        ["ours", "BLAS", "ratio"], [[f"{ours / 1e9:.0f}", f"{peer / 1e9:.0f}", f"{ours / peer:.2f}"]]
    )


def main() -> None:
    threads = this_cpu().threads
    memory(threads)
    arithmetic(threads)


if __name__ == "__main__":
    main()
