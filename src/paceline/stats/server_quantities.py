"""The names under which Paceline keeps what servers say of themselves, whatever each engine calls it."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["gauge", "counter"]


@dataclass(frozen=True)
class Quantity:
    """`unit`: what `value` counts; empty: a share, 0 to 1."""

    name: str
    kind: Kind
    unit: str
    label: str
    definition: str


_ALL = (
    Quantity("running_requests", "gauge", "requests", "running", "requests that the server works on"),
    Quantity("waiting_requests", "gauge", "requests", "waiting", "requests that wait for a place"),
    Quantity("kv_cache_use", "gauge", "", "KV cache in use", "share of the KV cache that is in use"),
    Quantity(
        "prefix_cache_queries",
        "counter",
        "tokens",
        "cache: looked up",
        "prompt tokens looked up in the cache",
    ),
    Quantity("prefix_cache_hits", "counter", "tokens", "cache: found", "prompt tokens found in the cache"),
    Quantity(
        "prefix_cache_hit_share", "gauge", "", "cache hit share", "share that was found, as the server says"
    ),
    Quantity("prompt_tokens_total", "counter", "tokens", "prompts", "prompt tokens processed"),
    Quantity("generation_tokens_total", "counter", "tokens", "generated", "tokens generated"),
    Quantity("speculative_drafted", "counter", "tokens", "drafted", "tokens that were proposed"),
    Quantity("speculative_accepted", "counter", "tokens", "accepted", "proposed tokens that were accepted"),
    Quantity("speculative_acceptance", "gauge", "", "accepted share", "share accepted, as the server says"),
    Quantity("preemptions", "counter", "requests", "preemptions", "running requests that had to make room"),
    Quantity("requests_ended", "counter", "requests", "ended well", "requests that ended well"),
    Quantity("gpu_power_w", "gauge", "W", "GPU power", "power that the GPU draws"),
    Quantity("gpu_energy_j", "counter", "J", "GPU energy", "energy that the GPU has drawn"),
    Quantity("gpu_use", "gauge", "", "GPU in use", "share of the time in which a kernel ran"),
    Quantity("gpu_memory_bytes", "gauge", "bytes", "GPU memory", "memory in use on the GPU"),
    Quantity("gpu_temperature_c", "gauge", "\N{DEGREE SIGN}C", "GPU temperature", "the GPU's temperature"),
)
QUANTITIES: dict[str, Quantity] = {one.name: one for one in _ALL}
GPU_PREFIX = "gpu_"


def quantity(name: str, kind: Kind) -> Quantity:
    """What is known of a name; one of a user's own stands for itself."""
    return QUANTITIES.get(name) or Quantity(name, kind, "", name, "as a table of metrics says")
