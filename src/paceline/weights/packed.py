"""Quantised safetensors, whose weights are packed into wider numbers: their real shape and type."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from paceline.weights.model import Tensor

_INTEGER_BITS = {"i32": 32, "u32": 32, "u8": 8, "i8": 8, "i16": 16}


def unpacked(tensors: tuple[Tensor, ...], config: Mapping[str, Any]) -> tuple[Tensor, ...]:
    """Tensors with the shape and the type that they are computed with; bytes stay as stored.

    config: of the model; its `quantization_config` says how weights are packed (GPTQ, AWQ,
    compressed-tensors, bitsandbytes, ModelOpt's NVFP4, MXFP4).
    """
    quantisation = _section(config)
    method = str(quantisation.get("quant_method", "")).lower()
    algorithm = str(quantisation.get("quant_algo", quantisation.get("format", ""))).lower()
    bits = _bits(quantisation)
    return tuple(_one(tensor, method, algorithm, bits) for tensor in tensors)


def _section(config: Mapping[str, Any]) -> Mapping[str, Any]:
    for holder in (config, config.get("text_config")):
        if isinstance(holder, Mapping):
            for key in ("quantization_config", "compression_config"):
                found = holder.get(key)
                if isinstance(found, Mapping):
                    return found
    return {}


def _bits(quantisation: Mapping[str, Any]) -> int:
    """Bits of one weight; 4 where nothing is said."""
    bits: Any = quantisation.get("bits", quantisation.get("w_bit"))
    groups = quantisation.get("config_groups")
    if isinstance(groups, Mapping):
        for group in groups.values():
            weights = group.get("weights") if isinstance(group, Mapping) else None
            bits = weights.get("num_bits", bits) if isinstance(weights, Mapping) else bits
    return bits if type(bits) is int and 1 <= bits <= 8 else 4


def _one(tensor: Tensor, method: str, algorithm: str, bits: int) -> Tensor:
    container = _INTEGER_BITS.get(tensor.type)
    if container is None or not tensor.shape:
        return tensor
    last = tensor.name.rpartition(".")[2]
    if last == "qweight":
        # GPTQ packs along the inputs, which are its first side; AWQ along the outputs, its second.
        return _wider(tensor, 0 if method == "gptq" else len(tensor.shape) - 1, container, bits, f"int{bits}")
    if last == "weight_packed":
        type_ = "fp4" if "nvfp4" in algorithm or "mxfp4" in algorithm else f"int{bits}"
        return _wider(tensor, len(tensor.shape) - 1, container, 4 if type_ == "fp4" else bits, type_)
    if last.endswith("_blocks") and tensor.type == "u8":
        return _wider(tensor, len(tensor.shape) - 1, 8, 4, "mxfp4")
    four_bits = "fp4" in algorithm or method == "bitsandbytes"
    if last == "weight" and tensor.type == "u8" and four_bits:
        return _wider(tensor, len(tensor.shape) - 1, 8, 4, "fp4" if "fp4" in algorithm else "int4")
    return tensor


def _wider(tensor: Tensor, side: int, container: int, bits: int, type_: str) -> Tensor:
    shape = list(tensor.shape)
    shape[side] = shape[side] * container // bits
    return replace(tensor, type=type_, shape=tuple(shape))
