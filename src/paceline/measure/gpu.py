"""Power, energy, use, memory and temperature of this machine's NVIDIA GPUs, by NVML where it is installed."""

import ipaddress
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from paceline.measure.sampler import LookError, Reading
from paceline.stats.server_quantities import QUANTITIES

_TEMPERATURE_OF_GPU = 0  # NVML_TEMPERATURE_GPU


class Gpus:
    """The GPUs that NVML shows. `nvml`: the module `pynvml`, or what stands for it."""

    def __init__(self, nvml: Any) -> None:
        self._nvml = nvml
        self._handles = [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(nvml.nvmlDeviceGetCount())]
        self.names = [_text(nvml.nvmlDeviceGetName(handle)) for handle in self._handles]
        self._questions: tuple[tuple[str, Callable[[Any], float]], ...] = (
            ("gpu_power_w", lambda gpu: nvml.nvmlDeviceGetPowerUsage(gpu) / 1e3),
            ("gpu_energy_j", lambda gpu: nvml.nvmlDeviceGetTotalEnergyConsumption(gpu) / 1e3),
            ("gpu_use", lambda gpu: nvml.nvmlDeviceGetUtilizationRates(gpu).gpu / 100.0),
            ("gpu_memory_bytes", lambda gpu: float(nvml.nvmlDeviceGetMemoryInfo(gpu).used)),
            (
                "gpu_temperature_c",
                lambda gpu: float(nvml.nvmlDeviceGetTemperature(gpu, _TEMPERATURE_OF_GPU)),
            ),
        )

    def look(self) -> list[Reading]:
        """What each GPU says; what one cannot say is left out. Raises LookError when none says anything."""
        found: list[Reading] = []
        for number, handle in enumerate(self._handles):
            for name, ask in self._questions:
                started_ns = time.monotonic_ns()
                try:
                    value = ask(handle)
                except self._nvml.NVMLError:
                    continue
                span_ns = time.monotonic_ns() - started_ns
                kind = QUANTITIES[name].kind
                found.append(Reading(started_ns + span_ns // 2, span_ns, f"gpu{number}", name, kind, value))
        if not found:
            raise LookError("NVML says nothing of any GPU")
        return found

    def close(self) -> None:
        """Let go of NVML."""
        with suppress(self._nvml.NVMLError):
            self._nvml.nvmlShutdown()


def pynvml() -> Any:
    """The module. Raises ImportError."""
    import pynvml as module  # type: ignore[import-not-found, import-untyped, unused-ignore]

    return module


def open_gpus(load: Callable[[], Any] = pynvml) -> Gpus | None:
    """The GPUs of this machine; None without the module, the driver, or a GPU. Never raises."""
    try:
        nvml = load()
        nvml.nvmlInit()
        gpus = Gpus(nvml)
    except Exception:
        # Whatever module goes by that name, a run does not fail for it.
        return None
    return gpus if gpus.names else None


def on_this_machine(addresses: Sequence[str]) -> bool:
    """Whether socket addresses (`127.0.0.1:9100`, `[::1]:9100`) are all of this machine."""
    return bool(addresses) and all(_own(address.rpartition(":")[0].strip("[]")) for address in addresses)


def _own(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    if address.is_loopback:
        return True
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    # Only an address of its own can a machine bind to; nothing is sent.
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((host, 0))
        except OSError:
            return False
    return not address.is_unspecified


def _text(name: Any) -> str:
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)
