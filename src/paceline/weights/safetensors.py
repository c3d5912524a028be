"""Models in safetensors: the headers of the files, and the `config.json` beside them.

The format: eight bytes of length, a JSON header of that length, the tensors (the README of the safetensors
project).
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from paceline.units import format_bytes
from paceline.weights.hf_config import config_shape
from paceline.weights.model import ModelFacts, ModelFileError, Tensor
from paceline.weights.opened import AGAIN, Cursor, opened, unreadable
from paceline.weights.packed import unpacked
from paceline.weights.sniff import not_a_model
from paceline.weights.tensor_types import SAFETENSORS_TYPES
from paceline.whole_file import read_whole

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
CONFIG = "config.json"
# Headers of real files have up to a few MiB; more would take memory and time to read.
_MOST_HEADER_BYTES = 32 << 20
_MOST_CONFIG_BYTES = 4 << 20
_MOST_FILES = 2000
_MOST_SIDES = 8
_MOST_ELEMENTS = 1 << 62
# How the parts of a model are named, whose index may be missing.
_PART = re.compile(r"(?P<stem>.+)-\d{5}-of-(?P<count>\d{5})\.safetensors")
_BROKEN = "the file is broken: download it again"


@dataclass(frozen=True, slots=True)
class _File:
    """One file's tensors. digest: SHA-256 of its header and its size."""

    tensors: tuple[Tensor, ...]
    size: int
    digest: bytes


def looks_like_safetensors(start: bytes) -> bool:
    """Whether a file that begins so may be safetensors: a length, then the brace of JSON."""
    return len(start) > 8 and start[8:9] == b"{"


def read_folder(folder: Path, given: Path | None) -> ModelFacts:
    """The model of a folder; given: the file that the user named, which may be one of its parts.

    Raises ModelFileError for what is missing, cut or broken.
    """
    config_path = folder / CONFIG
    text = _config_text(config_path)
    config = _json(config_path, text)
    if any(key in config for key in ("peft_type", "base_model_name_or_path")):
        raise ModelFileError(
            f"{config_path} belongs to an adapter, no model", "give the model that it belongs to"
        )
    paths = _files(folder, given)
    read = [_read_file(path) for path in paths]
    stored = [tensor for file in read for tensor in file.tensors]
    _check_names(folder, stored)
    tensors = unpacked(tuple(stored), config)
    digest = hashlib.sha256(text)
    for file in read:
        digest.update(file.digest)
    return ModelFacts(
        path=given or folder,
        files=tuple(paths),
        format="safetensors",
        tensors=tensors,
        file_bytes=sum(file.size for file in read),
        fingerprint=digest.hexdigest()[:16],
        **config_shape(config_path, config, tensors),
    )


def _config_text(path: Path) -> bytes:
    try:
        return read_whole(path, _MOST_CONFIG_BYTES)
    except FileNotFoundError:
        raise ModelFileError(
            f"{path} is missing, and without it the weights' shape is not known",
            "put the model's config.json beside its weights",
        ) from None
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None


def _files(folder: Path, given: Path | None) -> list[Path]:
    """All files of the weights: those of the index, or the one, or all that lie there."""
    listed = _indexed(folder / INDEX)
    if given is not None and given.name not in (listed or ()):
        listed = _whole_set([given.name])
    elif listed is None and (folder / SINGLE).exists():
        listed = [SINGLE]
    elif listed is None:
        names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".safetensors"))
        # Some models hold their weights a second time, in their maker's own layout.
        listed = _whole_set([name for name in names if not name.startswith("consolidated")] or names)
    if len(listed) > _MOST_FILES:
        raise ModelFileError(f"{folder}: a model in {len(listed):,} files cannot be", _BROKEN)
    missing = [name for name in listed if not (folder / name).exists()]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise ModelFileError(
            f"{folder}: {len(missing)} of the model's {len(listed)} files are missing: {missing[0]}{more}",
            "download the rest",
        )
    return [folder / name for name in listed]


def _indexed(index: Path) -> list[str] | None:
    """The files that an index names; None without one."""
    if not index.exists():
        return None
    weight_map = _json(index, _index_text(index)).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise ModelFileError(f"{index} has no weight_map", _BROKEN)
    listed = sorted({str(name) for name in weight_map.values()})
    if any(Path(name).name != name or name in ("", "..", ".") for name in listed):
        raise ModelFileError(
            f"{index} names files outside its folder", "take the model from a source you trust"
        )
    return listed


def _whole_set(names: list[str]) -> list[str]:
    """Names of files, and of all others that are of one set with them by their numbers."""
    whole = set(names)
    for name in names:
        match = _PART.fullmatch(name)
        if match and int(match["count"]) <= _MOST_FILES:
            count = int(match["count"])
            whole |= {
                f"{match['stem']}-{part:05d}-of-{count:05d}.safetensors" for part in range(1, count + 1)
            }
    return sorted(whole)


def _index_text(index: Path) -> bytes:
    try:
        return read_whole(index, _MOST_HEADER_BYTES)
    except OSError as error:
        raise unreadable(index, error) from None


def _read_file(path: Path) -> _File:
    with opened(path) as cursor:
        if not looks_like_safetensors(cursor.peek(9)):
            raise not_a_model(cursor)
        length = int(cursor.number("Q", "its header's length"))
        if length > _MOST_HEADER_BYTES:
            raise ModelFileError(f"{path}: a header of {format_bytes(length)} cannot be", _BROKEN)
        text = cursor.take(length, "its list of tensors")
        header = _json(path, text)
        placed = [_tensor(path, name, entry) for name, entry in header.items() if name != "__metadata__"]
        _check_places(cursor, [place for _, *place in placed])
        digest = hashlib.sha256(str(cursor.size).encode() + text).digest()
        return _File(tuple(tensor for tensor, *_ in placed), cursor.size, digest)


def _json(path: Path, text: bytes) -> dict[str, Any]:
    try:
        value = json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ModelFileError(f"{path}: its JSON is nested too deeply", _BROKEN) from None
    except ValueError:
        raise ModelFileError(f"{path}: it should hold JSON, and does not", _BROKEN) from None
    if not isinstance(value, dict):
        raise ModelFileError(f"{path}: its JSON is no object", _BROKEN)
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _tensor(path: Path, name: str, entry: Any) -> tuple[Tensor, int, int]:
    """A tensor, and where its bytes begin and end behind the header."""
    wrong = ModelFileError(
        f"{path}: the tensor {name[:80]!r} is not described as the format wants it", _BROKEN
    )
    if not isinstance(entry, Mapping):
        raise wrong
    dtype, shape, offsets = entry.get("dtype"), _sizes(entry.get("shape")), _sizes(entry.get("data_offsets"))
    if not isinstance(dtype, str) or shape is None or offsets is None or len(offsets) != 2:
        raise wrong
    elements = 1
    for side in shape:
        elements *= side
    begin, end = offsets
    if len(shape) > _MOST_SIDES or elements > _MOST_ELEMENTS or end < begin:
        raise wrong
    # A dtype that is newer than this list goes by the place that it takes.
    type_, bits = SAFETENSORS_TYPES.get(dtype, (dtype.lower(), 0))
    if bits and (elements * bits + 7) // 8 != end - begin:
        raise ModelFileError(
            f"{path}: the tensor {name[:80]!r} should take {(elements * bits + 7) // 8:,} bytes and has"
            f" a place of {end - begin:,}",
            _BROKEN,
        )
    return Tensor(name, type_, shape, end - begin), begin, end


def _sizes(value: Any) -> tuple[int, ...] | None:
    """A list of whole numbers from 0 to 2^63, or nothing."""
    if isinstance(value, list) and all(type(size) is int and 0 <= size < 1 << 63 for size in value):
        return tuple(value)
    return None


def _check_places(cursor: Cursor, places: list[list[int]]) -> None:
    """Raise ModelFileError where tensors lie upon each other, or beyond the end of the file."""
    end = 0
    for begin, behind in sorted(places):
        if begin < end and behind > begin:
            raise ModelFileError(f"{cursor.path}: two tensors lie upon each other", _BROKEN)
        end = max(end, behind)
    missing = cursor.at + end - cursor.size
    if missing > 0:
        raise ModelFileError(
            f"{cursor.path} is cut: {missing:,} bytes ({format_bytes(missing)}) of"
            f" {format_bytes(cursor.at + end)} are missing",
            AGAIN,
        )


def _check_names(folder: Path, tensors: list[Tensor]) -> None:
    if not tensors:
        raise ModelFileError(f"{folder}: its files hold no tensors", AGAIN)
    names = {tensor.name for tensor in tensors}
    if len(names) < len(tensors):
        raise ModelFileError(
            f"{folder}: its files hold {len(tensors) - len(names):,} tensors twice",
            f"leave only one model's files in the folder, or add its {INDEX}",
        )
    if all(".lora_" in name for name in names):
        raise ModelFileError(f"{folder} holds a LoRA adapter, no model", "give the model that it belongs to")
