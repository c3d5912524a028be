"""Weights that are packed into wider numbers, with the shapes of published models."""

from typing import Any

import pytest

from paceline.weights.model import Tensor
from paceline.weights.packed import unpacked


def one(
    name: str, type_: str, shape: tuple[int, ...], quantisation: dict[str, Any]
) -> tuple[str, tuple[int, ...]]:
    bits = {"i32": 32, "u8": 8, "i8": 8, "bf16": 16, "f16": 16, "fp8_e4m3": 8}[type_]
    elements = 1
    for side in shape:
        elements *= side
    tensor = Tensor(name, type_, shape, elements * bits // 8)
    (found,) = unpacked((tensor,), {"quantization_config": quantisation})
    assert found.bytes == tensor.bytes
    return found.type, found.shape


GPTQ = {"quant_method": "gptq", "bits": 4}
AWQ = {"quant_method": "awq", "bits": 4}
PACKED = {
    "quant_method": "compressed-tensors",
    "format": "pack-quantized",
    "config_groups": {"group_0": {"weights": {"num_bits": 8}}},
}
NVFP4 = {"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized"}
MODELOPT = {"quant_method": "modelopt", "quant_algo": "NVFP4"}
BITSANDBYTES = {"quant_method": "bitsandbytes", "load_in_4bit": True}


@pytest.mark.parametrize(
    ("name", "type_", "shape", "quantisation", "expected"),
    [
        # A product of 4096 inputs and 11,008 outputs, each way.
        ("l.up_proj.qweight", "i32", (512, 11_008), GPTQ, ("int4", (4096, 11_008))),
        ("l.up_proj.qweight", "i32", (1024, 11_008), GPTQ | {"bits": 8}, ("int8", (4096, 11_008))),
        ("l.up_proj.qweight", "i32", (384, 11_008), GPTQ | {"bits": 3}, ("int3", (4096, 11_008))),
        ("l.up_proj.qweight", "i32", (4096, 1376), AWQ, ("int4", (4096, 11_008))),
        ("l.up_proj.weight_packed", "i32", (11_008, 1024), PACKED, ("int8", (11_008, 4096))),
        ("l.up_proj.weight_packed", "u8", (11_008, 2048), NVFP4, ("fp4", (11_008, 4096))),
        ("l.up_proj.weight", "u8", (11_008, 2048), MODELOPT, ("fp4", (11_008, 4096))),
        ("l.up_proj.weight", "u8", (22_544_384, 1), BITSANDBYTES, ("int4", (22_544_384, 2))),
        # gpt-oss: 32 experts, 5760 outputs, 90 groups of 32 inputs.
        (
            "m.experts.gate_up_proj_blocks",
            "u8",
            (32, 5760, 90, 16),
            {"quant_method": "mxfp4"},
            ("mxfp4", (32, 5760, 90, 32)),
        ),
        # As they are: scales, zeros, and weights that one number holds.
        ("l.up_proj.qzeros", "i32", (32, 1376), GPTQ, ("i32", (32, 1376))),
        (
            "m.experts.gate_up_proj_scales",
            "u8",
            (32, 5760, 90),
            {"quant_method": "mxfp4"},
            ("u8", (32, 5760, 90)),
        ),
        ("l.up_proj.weight", "i8", (64, 64), PACKED, ("i8", (64, 64))),
        ("l.up_proj.weight", "fp8_e4m3", (64, 64), {"quant_method": "fp8"}, ("fp8_e4m3", (64, 64))),
        ("l.up_proj.weight", "bf16", (64, 64), {}, ("bf16", (64, 64))),
    ],
)
def test_shapes(
    name: str,
    type_: str,
    shape: tuple[int, ...],
    quantisation: dict[str, Any],
    expected: tuple[str, tuple[int, ...]],
) -> None:
    assert one(name, type_, shape, quantisation) == expected


@pytest.mark.parametrize("broken", [None, 3, {"bits": "four"}, {"config_groups": {"a": 3}}, {"bits": 0}])
def test_a_broken_section_is_taken_as_four_bits(broken: Any) -> None:
    tensor = Tensor("l.qweight", "i32", (8, 8), 256)
    (found,) = unpacked((tensor,), {"quantization_config": broken})
    assert found.elements == 512
