"""Random numbers by place instead of by order.

Request 1,000 of a seed is the same whether 0..999 were made before it or not, so a resumed run, a run in
another process and a run fed in other batch sizes all write the same requests. The mixer is the finaliser of
splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014), a bijection of 64 bits.
"""

from hashlib import blake2b

import numpy as np
import numpy.typing as npt

MASK64 = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
_MIX_1 = 0xBF58476D1CE4E5B9
_MIX_2 = 0x94D049BB133111EB
_MASK48 = (1 << 48) - 1


def stream_key(seed: int, stream: str) -> int:
    """A 64-bit key for one use of a seed (`text`, `prompt_tokens`, ...), so that uses are independent."""
    return int.from_bytes(blake2b(f"{stream}:{seed}".encode(), digest_size=8).digest(), "little")


def mix64(value: int) -> int:
    """A bijection of 64 bits in which every input bit moves about half of the output bits."""
    value &= MASK64
    value = ((value ^ (value >> 30)) * _MIX_1) & MASK64
    value = ((value ^ (value >> 27)) * _MIX_2) & MASK64
    return value ^ (value >> 31)


def mix48(value: int, key: int) -> int:
    """A bijection of 48 bits for each key: different values below 2^48 always give different results."""
    value = (value ^ key) & _MASK48
    for multiplier in (0x5DEECE66D, _MIX_1 & _MASK48, _MIX_2 & _MASK48):
        value = (value * multiplier) & _MASK48
        value ^= value >> 23
    return value


def uniforms(seed: int, stream: str, start: int, n: int) -> npt.NDArray[np.float64]:
    """Uniform numbers in (0, 1) for places start..start+n-1: shape (n,), 53 random bits each."""
    places = np.arange(n, dtype=np.uint64) + np.uint64(start + 1)
    # Unsigned array arithmetic wraps around silently, which is what the mixer wants.
    value = np.uint64(stream_key(seed, stream)) + places * np.uint64(GOLDEN)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(_MIX_1)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(_MIX_2)
    value = value ^ (value >> np.uint64(31))
    return ((value >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
