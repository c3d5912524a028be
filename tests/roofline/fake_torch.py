"""What stands for torch and for NVML: a GPU whose rates are planted, and whose clock moves by them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

GIB = 1024**3
SIZES = {"float32": 4, "float16": 2, "bfloat16": 2, "int8": 1}
READ_BYTES_S = 3.0e12
COPY_BYTES_S = 2.8e12
OPERATIONS_S = {"float32": 50e12, "float16": 900e12, "bfloat16": 950e12, "int8": 1_800e12}


@dataclass
class Tensor:
    """A shape, a type, and the torch that it belongs to."""

    torch: "FakeTorch"
    shape: tuple[int, ...]
    dtype: str

    def numel(self) -> int:
        """Numbers in it."""
        product = 1
        for one in self.shape:
            product *= one
        return product

    def element_size(self) -> int:
        """Bytes of one."""
        return SIZES[self.dtype]

    def _bytes(self) -> int:
        return self.numel() * self.element_size()

    def sum(self) -> None:
        """Reads it."""
        self.torch.passes(self._bytes() / READ_BYTES_S)

    def copy_(self, other: "Tensor") -> None:
        """Reads one, writes the other."""
        assert self.numel() == other.numel()
        self.torch.passes(2 * self._bytes() / COPY_BYTES_S)

    def t(self) -> "Tensor":
        """Turned."""
        return self


@dataclass
class Event:
    """An instant of the GPU's clock."""

    torch: "FakeTorch"
    at_s: float = 0.0

    def record(self) -> None:
        """Now."""
        self.at_s = self.torch.now_s

    def synchronize(self) -> None:
        """Nothing is ever in flight."""

    def elapsed_time(self, later: "Event") -> float:
        """Milliseconds, as torch has it."""
        return (later.at_s - self.at_s) * 1e3


@dataclass
class Properties:
    """Of the device."""

    name: str = "NVIDIA H100"
    total_memory: int = 80 * GIB
    L2_cache_size: int = 50 * 1024**2


@dataclass
class FakeTorch:
    """One GPU. cannot: kinds that it cannot multiply. slow_turns: the first so many works take double."""

    free_bytes: int = 70 * GIB
    devices: int = 1
    cannot: set[str] = field(default_factory=set)
    slow_turns: int = 0
    fails: bool = False
    now_s: float = 0.0
    largest_bytes: int = 0
    float32: str = "float32"
    float16: str = "float16"
    bfloat16: str = "bfloat16"
    int8: str = "int8"

    @property
    def cuda(self) -> "FakeTorch":
        """Its own part."""
        return self

    def passes(self, seconds: float) -> None:
        """The GPU works."""
        self.now_s += 2 * seconds if self.slow_turns > 0 else seconds
        self.slow_turns -= 1

    def is_available(self) -> bool:
        """Whether there is a GPU."""
        return self.devices > 0

    def device_count(self) -> int:
        """How many."""
        return self.devices

    def mem_get_info(self, number: int) -> tuple[int, int]:
        """Free and in all."""
        return self.free_bytes, 80 * GIB

    def get_device_properties(self, number: int) -> Properties:
        """Of a device."""
        return Properties()

    @contextmanager
    def device(self, number: int) -> Iterator[None]:
        """On that one."""
        assert number < self.devices
        yield

    @contextmanager
    def inference_mode(self) -> Iterator[None]:
        """Nothing is learned."""
        yield

    def empty_cache(self) -> None:
        """Gives memory back."""

    def ones(self, shape: int | tuple[int, ...], dtype: str, device: str) -> Tensor:
        """Filled with ones."""
        if self.fails:
            raise RuntimeError("CUDA error: an illegal memory access was encountered\nmore of it")
        assert device == "cuda"
        made = Tensor(self, shape if isinstance(shape, tuple) else (shape,), dtype)
        self.largest_bytes = max(self.largest_bytes, made.numel() * made.element_size())
        return made

    def empty_like(self, other: Tensor) -> Tensor:
        """As another."""
        return Tensor(self, other.shape, other.dtype)

    def Event(self, enable_timing: bool) -> Event:  # noqa: N802
        """An instant."""
        assert enable_timing
        return Event(self)

    def matmul(self, a: Tensor, b: Tensor) -> None:
        """A product of square matrices."""
        if a.dtype in self.cannot:
            raise RuntimeError("not implemented for this kind")
        self.passes(2 * a.shape[0] * a.shape[1] * b.shape[1] / OPERATIONS_S[a.dtype])

    def _int_mm(self, a: Tensor, b: Tensor) -> None:
        self.matmul(a, b)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


class NVMLError(Exception):
    """As the module has it."""


@dataclass
class FakeNvml:
    """A GPU with this memory clock and bus; `cannot`: what the driver has not."""

    clock_mhz: int
    bus_bits: int
    cannot: bool = False
    asked: list[Any] = field(default_factory=list)
    NVMLError: type[Exception] = NVMLError

    def nvmlInit(self) -> None:  # noqa: N802
        self.asked.append("init")

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.asked.append("shutdown")

    def nvmlDeviceGetHandleByUUID(self, uuid: bytes) -> bytes:  # noqa: N802
        self.asked.append(uuid)
        return uuid

    def nvmlDeviceGetHandleByIndex(self, number: int) -> int:  # noqa: N802
        self.asked.append(number)
        return number

    def nvmlDeviceGetMaxClockInfo(self, handle: Any, kind: int) -> int:  # noqa: N802
        assert kind == 2
        if self.cannot:
            raise NVMLError("Not Supported")
        return self.clock_mhz

    def nvmlDeviceGetMemoryBusWidth(self, handle: Any) -> int:  # noqa: N802
        return self.bus_bits
