"""A GPU: measured by torch where that is installed, else the bandwidth that its memory has on paper.

Products of matrices by the vendor's library fall short of what the GPU could do, so their rates are lower
bounds (`at_least`). By clock and bus only the bandwidth is known: memory of both edges of a clock moves
2 * clock * bus width / 8 bytes a second.
"""

import importlib
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any

from paceline.engines.gpus import find_gpus
from paceline.engines.limits import memory
from paceline.engines.machine import Gpu
from paceline.errors import RunError, UsageError
from paceline.measure.gpu import pynvml
from paceline.roofline.figure import Figure, repeated, spread_note
from paceline.roofline.rates import Rates
from paceline.units import format_bytes

Watch = Callable[[str], None]

THEORETICAL = "theoretical, from clock and bus width"
REPEATS = 20
FREE_SHARE = 0.25
MOST_BYTES = 4 << 30
LEAST_BYTES = 256 << 20
CACHES = 16
MATRIX = 8_192
LEAST_MATRIX = 1_024
_MEMORY_CLOCK = 2  # NVML_CLOCK_MEM
_BITS = 8
_EDGES = 2


def torch() -> Any:
    """The module. Raises ImportError."""
    return importlib.import_module("torch")


def this_gpu(number: int, find: Callable[[int, int], tuple[Gpu, ...]] = find_gpus) -> Gpu:
    """The GPU of this number among those that a program would see. Raises UsageError when there is none."""
    gpus = find(*memory())
    if number >= len(gpus):
        seen = f"{len(gpus)} GPU{'s' if len(gpus) != 1 else ''}" if gpus else "no GPU"
        raise UsageError(
            f"there is no gpu{number}: this machine shows {seen}",
            "see what `nvidia-smi` says, and CUDA_VISIBLE_DEVICES",
        )
    return gpus[number]


def gpu_rates(
    number: int,
    gpu: Gpu,
    watch: Watch,
    *,
    load_torch: Callable[[], Any] = torch,
    load_nvml: Callable[[], Any] = pynvml,
) -> Rates:
    """Measure by torch, or ask NVML. Raises UsageError where there is neither, RunError when torch fails."""
    module = _usable(load_torch, number)
    if module is None:
        return _on_paper(number, gpu, load_nvml, "torch with CUDA is not installed: arithmetic is not known")
    free_bytes = int(module.cuda.mem_get_info(number)[0] * FREE_SHARE)
    if free_bytes < LEAST_BYTES:
        return _on_paper(number, gpu, load_nvml, "too little of its memory is free to measure it")
    try:
        return _measured(module, number, free_bytes, watch)
    except RuntimeError as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise RunError(
            f"torch cannot measure gpu{number}: {reason}", "stop what else runs on that GPU, and try again"
        ) from None


def _usable(load_torch: Callable[[], Any], number: int) -> Any:
    """Torch that sees the GPU, or None."""
    try:
        module = load_torch()
        return module if module.cuda.is_available() and number < module.cuda.device_count() else None
    except Exception:
        # A torch that does not load here is as good as none.
        return None


def _measured(module: Any, number: int, free_bytes: int, watch: Watch) -> Rates:
    properties = module.cuda.get_device_properties(number)
    cache_bytes = int(getattr(properties, "L2_cache_size", 0))
    array_bytes = min(free_bytes, max(MOST_BYTES, CACHES * cache_bytes))
    watch(f"gpu{number}: memory, arrays of {format_bytes(array_bytes)}")
    with module.cuda.device(number), module.inference_mode():
        found = _memory(module, array_bytes)
        by_kernel = {name: figure.value for name, figure in found.items()}
        watch(f"gpu{number}: arithmetic")
        arithmetic = _products(module, free_bytes)
        module.cuda.empty_cache()
    found |= arithmetic
    return Rates(
        device=f"gpu{number}",
        bandwidth_bytes_s=max(by_kernel.values()),
        by_kernel=by_kernel,
        arithmetic_s={name: figure.value for name, figure in arithmetic.items()},
        threads=1,
        memory_bytes=int(properties.total_memory),
        measured_at=datetime.now(UTC),
        cache_bytes=cache_bytes,
        name=str(properties.name),
        array_bytes=array_bytes,
        spread={name: (figure.lo, figure.value) for name, figure in found.items()},
        at_least=tuple(arithmetic),
        notes=tuple(note for name, figure in found.items() if (note := spread_note(name, figure))),
    )


def _memory(module: Any, array_bytes: int) -> dict[str, Figure]:
    """A sum reads, a copy reads and writes: of both, what moves most is the bandwidth."""
    half = module.ones(array_bytes // 2 // 4, dtype=module.float32, device="cuda")
    other = module.empty_like(half)
    moved_bytes = half.numel() * half.element_size()
    return {
        "read": _repeats(module, half.sum, moved_bytes),
        "copy": _repeats(module, lambda: other.copy_(half), 2 * moved_bytes),
    }


def _products(module: Any, free_bytes: int) -> dict[str, Figure]:
    """Square matrices, as large as fit; kinds that this GPU or this torch cannot multiply are left out."""
    # Three matrices of four bytes a number at most.
    side = MATRIX
    while side > LEAST_MATRIX and 3 * 4 * side * side > free_bytes:
        side //= 2
    operations = 2 * side**3
    found = {}
    for name, kind in (("f32", module.float32), ("f16", module.float16), ("bf16", module.bfloat16)):
        with suppress(RuntimeError):
            a = module.ones((side, side), dtype=kind, device="cuda")
            found[name] = _repeats(module, partial(module.matmul, a, a), operations)
    with suppress(RuntimeError, AttributeError):
        a = module.ones((side, side), dtype=module.int8, device="cuda")
        # The product of bytes wants its second matrix column by column.
        found["int8"] = _repeats(module, partial(module._int_mm, a, a.t()), operations)
    return found


def _repeats(module: Any, work: Callable[[], Any], units: int) -> Figure:
    """By the GPU's own clock; the first time, in which kernels are loaded, does not count."""
    work()
    rates = []
    for _ in range(REPEATS):
        begin, end = (module.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        work()
        end.record()
        end.synchronize()
        rates.append(units / (begin.elapsed_time(end) / 1e3))
    return repeated(rates)


def _on_paper(number: int, gpu: Gpu, load_nvml: Callable[[], Any], why: str) -> Rates:
    clock_hz, bus_bits = _clock_and_bus(number, gpu, load_nvml)
    bandwidth = _EDGES * clock_hz * bus_bits / _BITS
    return Rates(
        device=f"gpu{number}",
        bandwidth_bytes_s=bandwidth,
        by_kernel={},
        arithmetic_s={},
        threads=1,
        memory_bytes=gpu.memory_bytes,
        measured_at=datetime.now(UTC),
        source=THEORETICAL,
        name=gpu.name,
        notes=(why,),
    )


def _clock_and_bus(number: int, gpu: Gpu, load_nvml: Callable[[], Any]) -> tuple[float, int]:
    """The highest memory clock and the width of the bus."""
    try:
        nvml = load_nvml()
        nvml.nvmlInit()
    except Exception:
        raise UsageError(
            f"the bandwidth of gpu{number} cannot be told: neither torch with CUDA nor NVML is installed",
            "install torch, or NVML's bindings: pip install 'paceline[gpu]'",
        ) from None
    try:
        # Not by number: CUDA_VISIBLE_DEVICES, which NVML does not know of, may have changed the order.
        by_uuid = gpu.uuid.encode() if gpu.uuid else None
        handle = (
            nvml.nvmlDeviceGetHandleByUUID(by_uuid) if by_uuid else nvml.nvmlDeviceGetHandleByIndex(number)
        )
        clock_mhz = float(nvml.nvmlDeviceGetMaxClockInfo(handle, _MEMORY_CLOCK))
        bus_bits = int(nvml.nvmlDeviceGetMemoryBusWidth(handle))
    except nvml.NVMLError as error:
        clock_mhz, bus_bits = 0.0, 0
        reason = f"NVML says: {error}"
    else:
        reason = f"NVML gives a clock of {clock_mhz:.0f} MHz and a bus of {bus_bits} bits"
    finally:
        with suppress(Exception):
            nvml.nvmlShutdown()
    if clock_mhz <= 0.0 or bus_bits <= 0:
        raise RunError(f"the bandwidth of gpu{number} cannot be told: {reason}", "install torch with CUDA")
    return clock_mhz * 1e6, bus_bits
