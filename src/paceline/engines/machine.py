"""What an engine may use of this machine: cores, memory, GPUs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU. memory_bytes, free_bytes: of its own memory. capability: CUDA compute capability, as `9.0`."""

    name: str
    memory_bytes: int
    free_bytes: int
    capability: str | None = None


@dataclass(frozen=True, slots=True)
class Machine:
    """cores: that this process may run on. memory_bytes, free_bytes: within the container's limit, if any."""

    cores: int
    memory_bytes: int
    free_bytes: int
    gpus: tuple[Gpu, ...] = ()
