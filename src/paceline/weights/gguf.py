"""The header of a GGUF file: its keys and its tensors, without its vocabulary and without its weights.

The format: ggml/docs/gguf.md of the ggml project. Versions 2 and 3, both byte orders.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from paceline.units import format_bytes
from paceline.weights.model import ModelFileError, Tensor
from paceline.weights.opened import AGAIN, Cursor
from paceline.weights.tensor_types import GGML_TYPES

MAGIC = b"GGUF"
# More than any model has; a header that says more is broken, and would take time and memory to follow.
_MOST_KEYS = 1 << 16
_MOST_TENSORS = 200_000
_MOST_ITEMS = 1 << 22
# A list within a list takes as long to skip as so many items.
_COST_OF_A_LIST = 64
_MOST_NAME_BYTES = 1024
_MOST_SIDES = 8
_MOST_ELEMENTS = 1 << 62
_MOST_ALIGNMENT = 1 << 20
# Longer texts (chat templates) and lists (vocabularies) are counted and left where they are.
_KEPT_TEXT_BYTES = 4096
_KEPT_LIST = 4096
_STRING, _ARRAY = 8, 9
# Number of a value's type -> letter of `struct`.
_KINDS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_BROKEN = "the file is broken: download it again"


@dataclass(frozen=True, slots=True)
class LongList:
    """A list that was left in the file, by its length."""

    count: int


Value = int | float | bool | str | tuple[int | float | bool, ...] | LongList


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """One file's header. digest: SHA-256 of the header's bytes and the file's size."""

    path: Path
    keys: dict[str, Value]
    tensors: tuple[Tensor, ...]
    file_bytes: int
    digest: bytes


@dataclass(slots=True)
class _Budget:
    """How many items of lists may still follow, over all lists of a file."""

    items: int = field(default=_MOST_ITEMS)


def read_gguf(cursor: Cursor) -> GgufHeader:
    """The header of one file; `cursor` stands at its beginning.

    Raises ModelFileError for what is broken, and for a file that is shorter than its tensors.
    """
    cursor.take(4, "its first bytes")
    version = _version(cursor)
    tensor_count = _count(cursor, "its number of tensors", _MOST_TENSORS)
    key_count = _count(cursor, "its number of keys", _MOST_KEYS)
    if version == 2 and not (tensor_count or key_count):
        raise ModelFileError(f"{cursor.path}: the header is empty", _BROKEN)
    keys: dict[str, Value] = {}
    budget = _Budget()
    for _ in range(key_count):
        key = _text(cursor, "the name of a key", _MOST_NAME_BYTES)
        kind = int(cursor.number("I", f"the key {key!r}"))
        keys[key] = _value(cursor, kind, f"the key {key!r}", budget)
    found = [_tensor(cursor) for _ in range(tensor_count)]
    begin = _data_begin(cursor, keys)
    tensors = _placed(cursor, found, begin)
    return GgufHeader(cursor.path, keys, tensors, cursor.size, _digest(cursor))


def _version(cursor: Cursor) -> int:
    raw = cursor.take(4, "its version")
    version = int.from_bytes(raw, "little")
    if version & 0xFFFF == 0:
        version = int.from_bytes(raw, "big")
        cursor.big_endian()
    if version == 1:
        raise ModelFileError(
            f"{cursor.path} is GGUF of version 1, which nobody reads any more", "convert the weights again"
        )
    if version not in (2, 3):
        raise ModelFileError(
            f"{cursor.path} says that it is GGUF of version {version}; known are 2 and 3",
            f"{_BROKEN}; if it is of a newer version, Paceline is too old for it",
        )
    return version


def _count(cursor: Cursor, what: str, most: int) -> int:
    count = int(cursor.number("Q", what))
    if count > most:
        raise ModelFileError(f"{cursor.path}: {what} cannot be {count:,}", _BROKEN)
    return count


def _text(cursor: Cursor, what: str, most_bytes: int) -> str:
    length = int(cursor.number("Q", what))
    if length > most_bytes:
        raise ModelFileError(f"{cursor.path}: {what} cannot have {length:,} bytes", _BROKEN)
    return cursor.take(length, what).decode(errors="replace")


def _value(cursor: Cursor, kind: int, what: str, budget: _Budget, depth: int = 0) -> Value:
    if kind == _STRING:
        length = int(cursor.number("Q", what))
        if length > _KEPT_TEXT_BYTES:
            cursor.skip(length, what)
            return ""
        return cursor.take(length, what).decode(errors="replace")
    if kind == _ARRAY:
        return _list(cursor, what, budget, depth)
    letter = _KINDS.get(kind)
    if letter is None:
        raise ModelFileError(f"{cursor.path}: {what} has a value of unknown type {kind}", _BROKEN)
    return cursor.number(letter, what)


def _list(cursor: Cursor, what: str, budget: _Budget, depth: int) -> Value:
    kind = int(cursor.number("I", what))
    count = int(cursor.number("Q", what))
    cost = count * (_COST_OF_A_LIST if kind == _ARRAY else 1)
    if cost > budget.items or depth > 3:
        raise ModelFileError(f"{cursor.path}: {what} cannot be a list of {count:,} items", _BROKEN)
    budget.items -= cost
    if kind == _STRING:
        cursor.skip_strings(count, what)
        return LongList(count)
    if kind == _ARRAY:
        for _ in range(count):
            _list(cursor, what, budget, depth + 1)
        return LongList(count)
    letter = _KINDS.get(kind)
    if letter is None:
        raise ModelFileError(f"{cursor.path}: {what} is a list of unknown type {kind}", _BROKEN)
    if count <= _KEPT_LIST:
        return cursor.numbers(letter, count, what)
    cursor.skip(count * cursor.width(letter), what)
    return LongList(count)


@dataclass(frozen=True, slots=True)
class _Found:
    """A tensor as the header has it; bytes: None where its type is not known."""

    name: str
    type: str
    shape: tuple[int, ...]
    bytes: int | None
    offset: int


def _tensor(cursor: Cursor) -> _Found:
    name = _text(cursor, "the name of a tensor", _MOST_NAME_BYTES)
    what = f"the tensor {name!r}"
    sides = int(cursor.number("I", what))
    if sides > _MOST_SIDES:
        raise ModelFileError(f"{cursor.path}: {what} cannot have {sides:,} dimensions", _BROKEN)
    shape = tuple(int(side) for side in cursor.numbers("Q", sides, what))
    number = int(cursor.number("I", what))
    offset = int(cursor.number("Q", what))
    elements = 1
    for side in shape:
        elements *= side
    if elements > _MOST_ELEMENTS:
        raise ModelFileError(f"{cursor.path}: {what} cannot have {elements:,} numbers", _BROKEN)
    known = GGML_TYPES.get(number)
    if known is None:
        return _Found(name, f"type_{number}", shape[::-1], None, offset)
    type_, block, block_bytes = known
    if shape and shape[0] % block:
        raise ModelFileError(
            f"{cursor.path}: {what} has rows of {shape[0]:,} numbers, no multiple of the {block} that"
            f" {type_} packs together",
            _BROKEN,
        )
    # In the file the fastest side is first; here the outermost is, as everywhere else.
    return _Found(name, type_, shape[::-1], elements // block * block_bytes, offset)


def _data_begin(cursor: Cursor, keys: dict[str, Value]) -> int:
    """Where the weights begin. It is asked before the tensors' places are checked."""
    alignment = keys.get("general.alignment", 32)
    if not isinstance(alignment, int) or not 0 < alignment <= _MOST_ALIGNMENT:
        raise ModelFileError(f"{cursor.path}: general.alignment cannot be {alignment!r}", _BROKEN)
    return -(-cursor.at // alignment) * alignment


def _placed(cursor: Cursor, found: Sequence[_Found], begin: int) -> tuple[Tensor, ...]:
    """The tensors in the header's order, when none lies on another and the file holds them all."""
    in_place = sorted(found, key=lambda tensor: tensor.offset)
    sizes: dict[int, int] = {}
    end = 0
    for place, tensor in enumerate(in_place):
        if tensor.offset < end:
            raise ModelFileError(f"{cursor.path}: the tensor {tensor.name!r} overlaps another", _BROKEN)
        size = tensor.bytes
        if size is None:
            # A type that is newer than this list: what lies between it and the next tensor.
            last = place + 1 == len(in_place)
            size = (cursor.size - begin if last else in_place[place + 1].offset) - tensor.offset
        end = tensor.offset + max(size, 0)
        sizes[id(tensor)] = max(size, 0)
    missing = begin + end - cursor.size
    if end and missing > 0:
        raise ModelFileError(
            f"{cursor.path} is cut: {missing:,} bytes ({format_bytes(missing)}) of"
            f" {format_bytes(begin + end)} are missing",
            AGAIN,
        )
    return tuple(Tensor(tensor.name, tensor.type, tensor.shape, sizes[id(tensor)]) for tensor in found)


def _digest(cursor: Cursor) -> bytes:
    digest = hashlib.sha256(str(cursor.size).encode())
    for piece in cursor.so_far():
        digest.update(piece)
    return digest.digest()
