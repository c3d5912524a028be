"""Sizes of number types, held against the package `gguf` of the ggml project."""

import pytest

from paceline.weights.tensor_types import GGML_TYPES, SAFETENSORS_TYPES, cache_bytes, quantised

gguf = pytest.importorskip("gguf")


def test_every_type_is_the_peers() -> None:
    sizes = {
        int(number): (number.name.lower(), block, size)
        for number, (block, size) in gguf.GGML_QUANT_SIZES.items()
    }
    # The peer gives q8_1 two scales of four bytes; ggml has two of two (block_q8_1). It is never in a file.
    assert sizes.pop(9) == ("q8_1", 32, 40)
    ours = dict(GGML_TYPES)
    assert ours.pop(9) == ("q8_1", 32, 36)
    assert ours == sizes


def test_bits_of_safetensors() -> None:
    assert SAFETENSORS_TYPES["BF16"] == ("bf16", 16)
    assert SAFETENSORS_TYPES["F8_E4M3"][1] == 8
    assert SAFETENSORS_TYPES["F4"][1] == 4


@pytest.mark.parametrize(
    ("type_", "elements", "expected"),
    [
        ("f16", 256, 512),
        ("bf16", 256, 512),
        ("F32", 3, 12),
        ("q8_0", 256, 272),
        ("q4_0", 256, 144),
        ("q5_1", 64, 48),
        ("q8_0", 33, 68),
        ("fp8", 100, 100),
        ("fp8_e4m3", 100, 100),
        ("float16", 10, 20),
        ("f16", 0, 0),
    ],
)
def test_bytes_of_a_cache(type_: str, elements: int, expected: int) -> None:
    assert cache_bytes(type_, elements) == expected


def test_an_unknown_type_of_cache() -> None:
    with pytest.raises(ValueError, match="'auto' is no type"):
        cache_bytes("auto", 10)


def test_quantised() -> None:
    assert quantised("q4_k")
    assert quantised("mxfp4")
    assert not quantised("f16")
    assert not quantised("type_77")
