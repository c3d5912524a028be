"""What a file is that is no model, in words: the commonest mistakes have their own hint."""

from paceline.weights.model import ModelFileError
from paceline.weights.opened import AGAIN, Cursor

_READS = "Paceline reads GGUF and safetensors"
# First bytes, what it is, what to do.
_KNOWN: tuple[tuple[bytes, str, str], ...] = (
    (
        b"version https://git-lfs",
        "a pointer of Git LFS, not the file itself",
        "fetch the file: git lfs pull, or download it from the model's page",
    ),
    (b"<!DOCTYPE", "a web page", "the download went wrong: take the link of the file, not of its page"),
    (b"<!doctype", "a web page", "the download went wrong: take the link of the file, not of its page"),
    (b"<html", "a web page", "the download went wrong: take the link of the file, not of its page"),
    (b"PK\x03\x04", "a ZIP archive, as PyTorch writes weights", "convert it to safetensors or GGUF"),
    (b"\x80\x02", "a Python pickle, as PyTorch writes weights", "convert it to safetensors or GGUF"),
    (b"\x1f\x8b", "a gzip archive", "unpack it first"),
    (b"\xfd7zXZ", "an xz archive", "unpack it first"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive", "unpack it first"),
    (b"\x89HDF", "an HDF5 file, as Keras writes weights", "convert it to safetensors or GGUF"),
    (b"\x7fELF", "a program", _READS),
    (b"tjgg", "a model of llama.cpp's older format (GGJT)", "convert the original weights to GGUF again"),
    (b"lmgg", "a model of llama.cpp's oldest format (GGML)", "convert the original weights to GGUF again"),
    (b"fmgg", "a model of llama.cpp's older format (GGMF)", "convert the original weights to GGUF again"),
    (b"algg", "a LoRA adapter of llama.cpp's older format", "give the model that it belongs to"),
)


def not_a_model(cursor: Cursor) -> ModelFileError:
    """The error for a file of neither format; `cursor` stands at its beginning."""
    if cursor.size == 0:
        return ModelFileError(f"{cursor.path} is empty", AGAIN)
    start = cursor.take(min(cursor.size, 64), "its beginning")
    for first, what, hint in _KNOWN:
        if start.startswith(first):
            return ModelFileError(f"{cursor.path} is {what}", hint)
    if not any(start):
        return ModelFileError(
            f"{cursor.path} begins with zeros: no model, or one whose download broke off", AGAIN
        )
    what = "text" if all(32 <= byte < 127 or byte in b"\t\r\n" for byte in start) else "something else"
    return ModelFileError(
        f"{cursor.path} is no model, but {what}", f"{_READS}: give a file or a folder of these"
    )
