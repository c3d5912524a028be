"""What an engine may use of this machine: cores, memory, GPUs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU. memory_bytes, free_bytes: of its own memory. capability: CUDA compute capability, as `9.0`.
    uuid: by which the driver knows it; empty where it does not say.

    A GPU that shares the machine's memory, and so has none of its own to tell of, has the machine's.
    """

    name: str
    memory_bytes: int
    free_bytes: int
    capability: str | None = None
    uuid: str = ""


@dataclass(frozen=True, slots=True)
class Machine:
    """cores: that this process may run on. memory_bytes, free_bytes: within the container's limit, if any."""

    cores: int
    memory_bytes: int
    free_bytes: int
    gpus: tuple[Gpu, ...] = ()


def look() -> Machine:
    """This machine as it is now. Never raises: what cannot be read sets no limit; no GPU is an empty tuple.

    Asks NVML (extra `gpu`), or else the tool `nvidia-smi`, which is given ten seconds.
    """
    # Not above: both make what this module declares.
    from paceline.engines.gpus import find_gpus
    from paceline.engines.limits import cores, memory

    total_bytes, free_bytes = memory()
    return Machine(cores(), total_bytes, free_bytes, find_gpus(total_bytes, free_bytes))
