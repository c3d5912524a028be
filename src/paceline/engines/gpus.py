"""The GPUs of this machine: by NVML where it is installed, else by the vendor's tool."""

import csv
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from paceline.engines.machine import Gpu
from paceline.measure.gpu import pynvml

_TOOL = (
    "nvidia-smi",
    "--query-gpu=uuid,name,memory.total,memory.free,compute_cap",
    "--format=csv,noheader,nounits",
)
_TOOL_TIMEOUT_S = 10.0
_MOST_BYTES = 1_000_000
_VISIBLE = "CUDA_VISIBLE_DEVICES"
_MIB = 1024 * 1024


def find_gpus(
    memory_bytes: int,
    free_bytes: int,
    *,
    load: Callable[[], Any] = pynvml,
    tool: tuple[str, ...] = _TOOL,
    timeout_s: float = _TOOL_TIMEOUT_S,
    environment: Mapping[str, str] = os.environ,
) -> tuple[Gpu, ...]:
    """GPUs that a program started from here would see: CUDA_VISIBLE_DEVICES is kept to. Never raises.

    memory_bytes, free_bytes: of the machine, for a GPU that has no memory of its own. timeout_s: for `tool`.
    """
    found = _by_nvml(load, memory_bytes, free_bytes)
    if found is None:
        found = _by_tool(tool, timeout_s, memory_bytes, free_bytes)
    return tuple(_visible(found, environment.get(_VISIBLE)))


def _by_nvml(load: Callable[[], Any], memory_bytes: int, free_bytes: int) -> list[Gpu] | None:
    """None where NVML is not to be had."""
    try:
        nvml = load()
        nvml.nvmlInit()
    except Exception:
        # Whatever module goes by that name, nothing fails for it.
        return None
    try:
        handles = [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(nvml.nvmlDeviceGetCount())]
        return [_ask(nvml, handle, memory_bytes, free_bytes) for handle in handles]
    except Exception:
        return None
    finally:
        with suppress(Exception):
            nvml.nvmlShutdown()


def _ask(nvml: Any, handle: Any, memory_bytes: int, free_bytes: int) -> Gpu:
    name, uuid = _text(nvml.nvmlDeviceGetName(handle)), ""
    capability = None
    with suppress(nvml.NVMLError):
        uuid = _text(nvml.nvmlDeviceGetUUID(handle))
    with suppress(nvml.NVMLError):
        own = nvml.nvmlDeviceGetMemoryInfo(handle)
        memory_bytes, free_bytes = int(own.total), int(own.free)
    with suppress(nvml.NVMLError):
        major, minor = nvml.nvmlDeviceGetCudaComputeCapability(handle)
        capability = f"{int(major)}.{int(minor)}"
    return Gpu(name, memory_bytes, free_bytes, capability, uuid)


def _by_tool(tool: tuple[str, ...], timeout_s: float, memory_bytes: int, free_bytes: int) -> list[Gpu]:
    rows = csv.reader(_said(tool, timeout_s).splitlines(), skipinitialspace=True)
    found = []
    for row in rows:
        # A driver that is not there makes the tool say so in a sentence, on stdout.
        if len(row) != 5 or not row[0].startswith("GPU-"):
            continue
        uuid, name, total, free, capability = (value.strip() for value in row)
        own = total.isdecimal() and free.isdecimal()
        total_bytes, left_bytes = (int(total) * _MIB, int(free) * _MIB) if own else (memory_bytes, free_bytes)
        known = capability.replace(".", "", 1).isdecimal()
        found.append(Gpu(name, total_bytes, left_bytes, capability if known else None, uuid))
    return found


def _said(tool: tuple[str, ...], timeout_s: float) -> str:
    """What a tool prints; nothing where it is not there, fails, does not end in time or says too much."""
    try:
        process = subprocess.Popen(
            tool,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return ""
    done = False
    try:
        said, ended = _read_until(process, time.monotonic() + timeout_s)
        done = ended and process.wait(1.0) == 0
        return said.decode("utf-8", "replace") if done else ""
    except subprocess.TimeoutExpired:
        return ""
    finally:
        if not done:
            # Its children too: one of them may be what hangs, and holds the pipe.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        if process.stdout is not None:
            process.stdout.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(1.0)


def _read_until(process: subprocess.Popen[bytes], end_s: float) -> tuple[bytes, bool]:
    """What came, and whether that was all."""
    said = b""
    assert process.stdout is not None
    while len(said) < _MOST_BYTES and (left_s := end_s - time.monotonic()) > 0:
        if not select.select([process.stdout], [], [], left_s)[0]:
            break
        part = os.read(process.stdout.fileno(), 65_536)
        if not part:
            return said, True
        said += part
    return said, False


def _visible(found: list[Gpu], asked: str | None) -> list[Gpu]:
    """As CUDA reads the variable: numbers or beginnings of UUIDs, up to the first that names no GPU."""
    if asked is None:
        return found
    shown: list[Gpu] = []
    for name in (part.strip() for part in asked.split(",")):
        if name.isdecimal():
            fitting = found[int(name) : int(name) + 1]
        else:
            fitting = [one for one in found if name.startswith("GPU-") and one.uuid.startswith(name)]
        if len(fitting) != 1 or fitting[0] in shown:
            break
        shown.append(fitting[0])
    return shown


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
