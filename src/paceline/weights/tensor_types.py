"""How many bytes numbers of each type take, in model files and in KV caches."""

# Of ggml: number in GGUF files -> name, numbers a block, bytes a block (ggml/src/ggml-common.h of llama.cpp;
# the types that are missing were withdrawn, and no reader takes them).
GGML_TYPES: dict[int, tuple[str, int, int]] = {
    0: ("f32", 1, 4),
    1: ("f16", 1, 2),
    2: ("q4_0", 32, 18),
    3: ("q4_1", 32, 20),
    6: ("q5_0", 32, 22),
    7: ("q5_1", 32, 24),
    8: ("q8_0", 32, 34),
    9: ("q8_1", 32, 36),
    10: ("q2_k", 256, 84),
    11: ("q3_k", 256, 110),
    12: ("q4_k", 256, 144),
    13: ("q5_k", 256, 176),
    14: ("q6_k", 256, 210),
    15: ("q8_k", 256, 292),
    16: ("iq2_xxs", 256, 66),
    17: ("iq2_xs", 256, 74),
    18: ("iq3_xxs", 256, 98),
    19: ("iq1_s", 256, 50),
    20: ("iq4_nl", 32, 18),
    21: ("iq3_s", 256, 110),
    22: ("iq2_s", 256, 82),
    23: ("iq4_xs", 256, 136),
    24: ("i8", 1, 1),
    25: ("i16", 1, 2),
    26: ("i32", 1, 4),
    27: ("i64", 1, 8),
    28: ("f64", 1, 8),
    29: ("iq1_m", 256, 56),
    30: ("bf16", 1, 2),
    34: ("tq1_0", 256, 54),
    35: ("tq2_0", 256, 66),
    39: ("mxfp4", 32, 17),
    40: ("nvfp4", 64, 36),
    41: ("q1_0", 128, 18),
}

# Of safetensors: name in the header -> our name, bits a number (the format's own list of dtypes).
SAFETENSORS_TYPES: dict[str, tuple[str, int]] = {
    "BOOL": ("bool", 8),
    "U8": ("u8", 8),
    "I8": ("i8", 8),
    "F8_E4M3": ("fp8_e4m3", 8),
    "F8_E5M2": ("fp8_e5m2", 8),
    "F8_E8M0": ("fp8_e8m0", 8),
    "F8_E4M3FNUZ": ("fp8_e4m3", 8),
    "F8_E5M2FNUZ": ("fp8_e5m2", 8),
    "F6_E2M3": ("fp6", 6),
    "F6_E3M2": ("fp6", 6),
    "F4": ("fp4", 4),
    "I16": ("i16", 16),
    "U16": ("u16", 16),
    "F16": ("f16", 16),
    "BF16": ("bf16", 16),
    "I32": ("i32", 32),
    "U32": ("u32", 32),
    "F32": ("f32", 32),
    "I64": ("i64", 64),
    "U64": ("u64", 64),
    "F64": ("f64", 64),
    "C64": ("c64", 64),
}

# Names that engines give to the types of a KV cache, where they differ from the above.
_CACHE_NAMES = {
    "fp16": "f16",
    "float16": "f16",
    "bfloat16": "bf16",
    "half": "f16",
    "fp32": "f32",
    "float32": "f32",
}
_BLOCKS: dict[str, tuple[int, int]] = {name: (numbers, size) for name, numbers, size in GGML_TYPES.values()}


def cache_bytes(type_: str, elements: int) -> int:
    """What so many numbers take in a KV cache of a type, to whole blocks; ggml's names, or `fp8`,
    `fp8_e4m3`...

    Raises ValueError for a type that is not known.
    """
    name = _CACHE_NAMES.get(type_.lower(), type_.lower())
    if name.startswith("fp8") or name == "int8":
        return elements
    block = _BLOCKS.get(name)
    if block is None:
        raise ValueError(f"{type_!r} is no type of number that is known")
    numbers, size = block
    return -(-elements // numbers) * size


def quantised(type_: str) -> bool:
    """Whether a ggml type is one of blocks with a common scale: llama.cpp multiplies it in whole numbers."""
    return _BLOCKS.get(type_, (1, 0))[0] > 1
