"""A model by the headers of its files: GGUF or safetensors, one file, a split set, or a folder."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from paceline.weights.gguf import MAGIC, GgufHeader, read_gguf
from paceline.weights.gguf_facts import gguf_shape
from paceline.weights.model import ModelFacts, ModelFileError
from paceline.weights.opened import AGAIN, opened, unreadable
from paceline.weights.safetensors import looks_like_safetensors, read_folder
from paceline.weights.sniff import not_a_model

# How llama.cpp names the files of a split model.
_PART = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf", re.IGNORECASE)
_MOST_PARTS = 1000


def read_model(path: Path) -> ModelFacts:
    """What the headers say of a model: of a GGUF file (or any part of a split one), or of safetensors.

    path: a file, or a folder with one model in it. Weights and vocabulary are not read, however large they
    are. Raises ModelFileError, with a hint, for all that is no whole model.
    """
    try:
        folder = path.is_dir()
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    if folder:
        return _read_folder(path)
    with opened(path) as cursor:
        start = cursor.peek(16)
        if start.startswith(MAGIC):
            first = read_gguf(cursor)
        elif looks_like_safetensors(start):
            first = None
        else:
            raise not_a_model(cursor)
    if first is None:
        return read_folder(path.parent, path)
    return _gguf_facts(path, _whole_set(path, first))


def _read_folder(folder: Path) -> ModelFacts:
    try:
        names = sorted(entry.name for entry in folder.iterdir())
    except OSError as error:
        raise unreadable(folder, error) from None
    if any(name.endswith(".safetensors") for name in names):
        return read_folder(folder, None)
    found = [
        name for name in names if name.lower().endswith(".gguf") and not name.lower().startswith("mmproj")
    ]
    models = sorted({match["stem"] if (match := _PART.fullmatch(name)) else name for name in found})
    if len(models) == 1:
        return read_model(folder / found[0])
    if models:
        shown = ", ".join(models[:4]) + (f" and {len(models) - 4} more" if len(models) > 4 else "")
        raise ModelFileError(f"{folder} holds {len(models)} models: {shown}", "give the path of one of them")
    if any(name.endswith((".bin", ".pt", ".pth")) for name in names):
        raise ModelFileError(
            f"{folder} holds PyTorch weights, which take the running of code to read",
            "convert them to safetensors",
        )
    hint = "give a GGUF file, or a folder with config.json and .safetensors files"
    if "snapshots" in names:
        hint = f"this is a folder of the Hugging Face cache: give one of those in {folder / 'snapshots'}"
    raise ModelFileError(f"{folder} holds no model", hint)


def _whole_set(path: Path, first: GgufHeader) -> list[GgufHeader]:
    """All parts of the model that a file belongs to, in order."""
    match = _PART.fullmatch(path.name)
    said = first.keys.get("split.count", 0)
    count = int(match["count"]) if match else 1
    if not match and isinstance(said, int) and said > 1:
        raise ModelFileError(
            f"{path} is one of {said:,} parts of a model, and its name does not say which",
            "give the parts the names that they came with: NAME-00001-of-00003.gguf",
        )
    if match is None or count <= 1:
        return [first]
    if count > _MOST_PARTS:
        raise ModelFileError(f"{path}: a model in {count:,} parts cannot be", "check the file's name")
    paths = [
        path.with_name(f"{match['stem']}-{number:05d}-of-{count:05d}.gguf") for number in range(1, count + 1)
    ]
    missing = [part.name for part in paths if not part.exists()]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise ModelFileError(
            f"{path} is one of {count} parts, and {missing[0]}{more} is not beside it",
            f"download the rest ({AGAIN})",
        )
    return [first if part == path else _one(part) for part in paths]


def _one(path: Path) -> GgufHeader:
    with opened(path) as cursor:
        if not cursor.peek(4).startswith(MAGIC):
            raise not_a_model(cursor)
        return read_gguf(cursor)


def _gguf_facts(path: Path, headers: Sequence[GgufHeader]) -> ModelFacts:
    tensors = tuple(tensor for header in headers for tensor in header.tensors)
    twice = len(tensors) - len({tensor.name for tensor in tensors})
    if twice:
        raise ModelFileError(f"{path}: the model has {twice:,} tensors twice", "download its files again")
    digest = hashlib.sha256(b"".join(header.digest for header in headers))
    return ModelFacts(
        path=path,
        files=tuple(header.path for header in headers),
        format="gguf",
        tensors=tensors,
        file_bytes=sum(header.file_bytes for header in headers),
        fingerprint=digest.hexdigest()[:16],
        **gguf_shape(headers[0], tensors),
    )
