from dataclasses import dataclass, field
from typing import Any

import pytest

from paceline.measure.gpu import on_this_machine, open_gpus
from paceline.measure.sampler import LookError


class NVMLError(Exception):
    """As the module has it."""


@dataclass
class Use:
    gpu: int


@dataclass
class Memory:
    used: int


@dataclass
class FakeNvml:
    """Two GPUs; `cannot` names functions that the driver has not."""

    NVMLError: type[Exception] = NVMLError
    count: int = 2
    cannot: set[str] = field(default_factory=set)
    calls: list[str] = field(default_factory=list)

    def _call(self, name: str, value: Any) -> Any:
        self.calls.append(name)
        if name in self.cannot:
            raise NVMLError("Not Supported")
        return value

    def nvmlInit(self) -> None:  # noqa: N802
        self._call("init", None)

    def nvmlShutdown(self) -> None:  # noqa: N802
        self._call("shutdown", None)

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return self.count

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802
        return index

    def nvmlDeviceGetName(self, gpu: int) -> Any:  # noqa: N802
        return b"NVIDIA H200" if gpu else "NVIDIA H200"

    def nvmlDeviceGetPowerUsage(self, gpu: int) -> Any:  # noqa: N802
        return self._call("power", 350_000 + 1_000 * gpu)

    def nvmlDeviceGetTotalEnergyConsumption(self, gpu: int) -> Any:  # noqa: N802
        return self._call("energy", 9_000_500)

    def nvmlDeviceGetUtilizationRates(self, gpu: int) -> Any:  # noqa: N802
        return self._call("use", Use(87))

    def nvmlDeviceGetMemoryInfo(self, gpu: int) -> Any:  # noqa: N802
        return self._call("memory", Memory(10**9))

    def nvmlDeviceGetTemperature(self, gpu: int, sensor: int) -> Any:  # noqa: N802
        assert sensor == 0
        return self._call("temperature", 61)


def test_each_gpu_says_what_it_draws_in_plain_units() -> None:
    nvml = FakeNvml()
    gpus = open_gpus(lambda: nvml)
    assert gpus is not None
    assert gpus.names == ["NVIDIA H200", "NVIDIA H200"]
    readings = gpus.look()
    assert {(one.source, one.name): (one.value, one.kind) for one in readings if one.source == "gpu1"} == {
        ("gpu1", "gpu_power_w"): (351.0, "gauge"),
        ("gpu1", "gpu_energy_j"): (9_000.5, "counter"),
        ("gpu1", "gpu_use"): (0.87, "gauge"),
        ("gpu1", "gpu_memory_bytes"): (1e9, "gauge"),
        ("gpu1", "gpu_temperature_c"): (61.0, "gauge"),
    }
    assert len(readings) == 10
    gpus.close()
    assert nvml.calls[-1] == "shutdown"


def test_what_a_gpu_cannot_say_is_left_out() -> None:
    gpus = open_gpus(lambda: FakeNvml(count=1, cannot={"energy", "use"}))
    assert gpus is not None
    assert [one.name for one in gpus.look()] == ["gpu_power_w", "gpu_memory_bytes", "gpu_temperature_c"]
    silent = open_gpus(lambda: FakeNvml(count=1, cannot={"power", "energy", "use", "memory", "temperature"}))
    assert silent is not None
    with pytest.raises(LookError):
        silent.look()


def test_the_module_has_what_is_asked_of_it() -> None:
    module = pytest.importorskip("pynvml")
    names = [name for name in dir(FakeNvml) if name.startswith("nvml")]
    assert len(names) == 10
    assert [name for name in [*names, "NVMLError"] if not hasattr(module, name)] == []
    assert module.NVML_TEMPERATURE_GPU == 0


def test_without_module_driver_or_gpu_there_are_none() -> None:
    def missing() -> Any:
        raise ImportError

    assert open_gpus(missing) is None
    assert open_gpus(lambda: FakeNvml(cannot={"init"})) is None
    assert open_gpus(lambda: FakeNvml(count=0)) is None


@pytest.mark.parametrize(
    ("addresses", "own"),
    [
        (["127.0.0.1:9100"], True),
        (["[::1]:9100", "127.0.0.1:9100"], True),
        (["127.8.9.1:80"], True),
        (["192.0.2.7:80"], False),
        (["127.0.0.1:80", "192.0.2.7:80"], False),
        (["[2001:db8::1]:443"], False),
        ([], False),
        (["nonsense:80"], False),
    ],
)
def test_whether_an_endpoint_is_on_this_machine(addresses: list[str], own: bool) -> None:
    assert on_this_machine(addresses) is own
