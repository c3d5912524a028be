import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from paceline.engines.gpus import find_gpus
from paceline.engines.machine import Gpu

MIB = 1024**2
MACHINE = (1000, 400)
ONE = "GPU-aaaa-1"
TWO = "GPU-bbbb-2"


class NVMLError(Exception):
    """As the module has it."""


@dataclass
class Memory:
    total: int
    free: int


@dataclass
class FakeNvml:
    """Two GPUs; `cannot` names functions that the driver has not."""

    NVMLError: type[Exception] = NVMLError
    cannot: set[str] = field(default_factory=set)
    closed: bool = False

    def _call(self, name: str, value: Any) -> Any:
        if name in self.cannot:
            raise NVMLError("Not Supported")
        return value

    def nvmlInit(self) -> None:  # noqa: N802
        self._call("init", None)

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.closed = True

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return int(self._call("count", 2))

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
        return index

    def nvmlDeviceGetName(self, gpu: int) -> Any:  # noqa: N802
        return b"NVIDIA H200" if gpu else "NVIDIA L4"

    def nvmlDeviceGetUUID(self, gpu: int) -> Any:  # noqa: N802
        return self._call("uuid", TWO if gpu else ONE)

    def nvmlDeviceGetMemoryInfo(self, gpu: int) -> Any:  # noqa: N802
        return self._call("memory", Memory(100 + gpu, 50 + gpu))

    def nvmlDeviceGetCudaComputeCapability(self, gpu: int) -> Any:  # noqa: N802
        return self._call("capability", (9, 0) if gpu else (8, 9))


L4, H200 = Gpu("NVIDIA L4", 100, 50, "8.9", ONE), Gpu("NVIDIA H200", 101, 51, "9.0", TWO)


def no_module() -> Any:
    raise ImportError


def by_nvml(nvml: FakeNvml, environment: Mapping[str, str] | None = None) -> tuple[Gpu, ...]:
    return find_gpus(*MACHINE, load=lambda: nvml, tool=("no-such-tool",), environment=environment or {})


def by_tool(
    folder: Path, program: str, timeout_s: float = 60.0, environment: Mapping[str, str] | None = None
) -> tuple[Gpu, ...]:
    path = folder / "smi.py"
    path.write_text(program)
    tool = (sys.executable, "-S", str(path))
    return find_gpus(*MACHINE, load=no_module, tool=tool, timeout_s=timeout_s, environment=environment or {})


def test_nvml_says_all_of_each_gpu() -> None:
    nvml = FakeNvml()
    assert by_nvml(nvml) == (L4, H200)
    assert nvml.closed


def test_what_a_driver_cannot_say_is_left_out_and_shared_memory_is_the_machines() -> None:
    nvml = FakeNvml(cannot={"capability", "memory", "uuid"})
    assert by_nvml(nvml) == (Gpu("NVIDIA L4", 1000, 400), Gpu("NVIDIA H200", 1000, 400))


@pytest.mark.parametrize("cannot", ["init", "count"])
def test_without_nvml_or_tool_there_is_no_gpu(cannot: str) -> None:
    assert by_nvml(FakeNvml(cannot={cannot})) == ()


@pytest.mark.parametrize(
    ("asked", "seen"),
    [
        ("1", (H200,)),
        ("1,0", (H200, L4)),
        ("", ()),
        ("-1", ()),
        ("0,7,1", (L4,)),
        ("GPU-bbbb", (H200,)),
        ("GPU-", ()),
        ("0,0", (L4,)),
    ],
)
def test_only_what_a_program_started_here_would_see(asked: str, seen: tuple[Gpu, ...]) -> None:
    assert by_nvml(FakeNvml(), {"CUDA_VISIBLE_DEVICES": asked}) == seen


def test_the_tool_is_read_where_nvml_is_not_installed(tmp_path: Path) -> None:
    said = f'print("{ONE}, NVIDIA L4, 23034, 22500, 8.9")\nprint("{TWO}, NVIDIA GB10, [N/A], [N/A], [N/A]")'
    assert by_tool(tmp_path, said) == (
        Gpu("NVIDIA L4", 23034 * MIB, 22500 * MIB, "8.9", ONE),
        Gpu("NVIDIA GB10", 1000, 400, None, TWO),
    )


@pytest.mark.parametrize(
    "program",
    [
        'print("No devices were found")',
        "print('NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver.')",
        f'print("{ONE}, NVIDIA L4, 23034, 22500, 8.9"); raise SystemExit(9)',
        "import sys\nsys.stdout.buffer.write(b'\\xff\\x00,,,,\\n')",
        "print('a, b, 1, 2, 3')",
    ],
    ids=["none", "no driver", "fails", "not text", "another table"],
)
def test_a_tool_that_lists_no_gpu_lists_none(tmp_path: Path, program: str) -> None:
    assert by_tool(tmp_path, program) == ()


def test_a_tool_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    program = (
        "import os, time\n"
        "child = os.fork()\n"
        f"child and open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child}}')\n"
        f"print('{ONE}, NVIDIA L4, 23034, 22500, 8.9', flush=True)\n"
        "time.sleep(600)\n"
    )
    assert by_tool(tmp_path, program, timeout_s=1.0) == ()
    for pid in pids.read_text().split():
        state = Path(f"/proc/{pid}/stat")
        assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] in "ZX"


def test_a_tool_without_an_end_is_ended(tmp_path: Path) -> None:
    assert by_tool(tmp_path, "while True: print('x' * 10_000)") == ()
