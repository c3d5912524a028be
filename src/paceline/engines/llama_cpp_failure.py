"""Why a `llama-server` did not come up or ended, from its own last words.

Its words are those of llama.cpp b11434, each made by the fault that it tells of, but for those of CUDA, which
are of its source (ggml/src/ggml-cuda/ggml-cuda.cu).
"""

import re
from dataclasses import dataclass

from paceline.engines.binary import missing_library
from paceline.engines.by_signal import by_signal
from paceline.engines.engine import Failure

_MEMORY_HINT = "set a smaller context (ctx-size), fewer slots (parallel), or take a smaller quantisation"
_GPU_HINT = (
    "set fewer layers on the GPU (gpu-layers), a smaller context (ctx-size), or stop what else uses the GPU"
)
_FILE_HINT = "download the model again, and check that the whole file came (its size, or its checksum)"
_BUILD_HINT = "take a newer build of llama.cpp, or a model that this one knows"


@dataclass(frozen=True, slots=True)
class _Known:
    """pattern: of the log; its named groups fill the message."""

    pattern: re.Pattern[str]
    message: str
    hint: str
    lasting: bool = True


def _known(pattern: str, message: str, hint: str, *, lasting: bool = True) -> _Known:
    return _Known(re.compile(pattern, re.MULTILINE), message, hint, lasting)


# The most telling first: a log tells of one fault in several lines, from the cause to what it led to.
_KNOWN = (
    _known(
        r"couldn't bind HTTP server socket, hostname: (?P<host>\S+), port: (?P<port>\d+)",
        "it cannot listen on {host}:{port}: another has that port, or the address is not this machine's",
        "give another --port, or 0 for a free one (ss -ltnp shows who has it)",
    ),
    _known(
        r"^error: invalid argument: (?P<option>\S+)",
        "this llama-server has no option {option}",
        "llama-server --help lists those of this build; leave that setting out, or take another build",
    ),
    _known(
        r'^error while handling argument "(?P<option>[^"]+)": (?P<why>.+)$',
        "it refuses the value of {option}: {why}",
        "llama-server --help tells what that option takes",
    ),
    _known(
        r"quantized V cache requires flash_attn",
        "a quantised cache of values (cache-type-v) needs flash attention",
        "set flash-attn=on, or leave cache-type-v at f16",
    ),
    _known(
        r"cudaMalloc failed: out of memory|CUDA error: out of memory|allocate CUDA\d* buffer",
        "the GPU's memory is too small for the model with these settings",
        _GPU_HINT,
    ),
    _known(
        r"failed to allocate (?:\S+ )?buffer (?:of size (?P<bytes>\d+)|for kv cache)"
        r"|mmap failed: Cannot allocate memory|std::bad_alloc|failed to allocate compute",
        "the memory is too small for the model with these settings",
        _MEMORY_HINT,
    ),
    _known(
        r"unknown model architecture: '(?P<name>[^']*)'",
        "this llama.cpp does not know the model's architecture {name}",
        _BUILD_HINT,
    ),
    _known(
        r"tensor '(?P<name>[^']*)' has invalid ggml type (?P<type>\d+)",
        "this llama.cpp does not know the quantisation of the model (type {type}, tensor {name})",
        _BUILD_HINT,
    ),
    _known(
        r"this GGUF file is version (?P<version>\d+) but",
        "this llama.cpp does not know version {version} of GGUF",
        _BUILD_HINT,
    ),
    _known(
        r"data is not within the file bounds|read error: .*|file is truncated"
        r"|failed to read (?:key-value pairs|tensor (?:info|data)|magic|header)",
        "the model's file is cut or damaged",
        _FILE_HINT,
    ),
    _known(
        r"invalid magic characters: '(?P<found>[^']*)'",
        "the model's file is not GGUF (it begins with {found})",
        "llama.cpp reads GGUF: convert the model, or serve it with another engine",
    ),
    _known(
        r"failed to open GGUF file '(?P<file>[^']*)' \((?P<why>[^)]*)\)",
        "the file {file} cannot be opened: {why}",
        "check the path, and that you may read it",
    ),
    _known(
        r"context type MTP requested but model doesn't contain MTP",
        "the model has no extra heads, which spec-type draft-mtp drafts with",
        "set spec-type=ngram-mod, or give a draft model (spec-draft-model)",
    ),
    _known(
        r"failed to load draft model, '(?P<file>[^']*)'",
        "the draft model {file} cannot be loaded",
        "check that it is a whole GGUF file with the vocabulary of the model",
    ),
    _known(
        r"GGML_ASSERT\((?P<what>.*)\) failed",
        "llama.cpp came to a state that it does not expect: {what}",
        "leave settings out one by one; where none is to blame, report it to llama.cpp with the log",
        lasting=False,
    ),
    _known(
        r"failed to load model, '(?P<file>[^']*)'",
        "it cannot load the model {file}",
        "the log tells more; the model may be for another build of llama.cpp",
    ),
)


def read_failure(log_tail: str, exit_code: int | None) -> Failure | None:
    """The reason in a log's end, the most telling first; None where it has none that is known."""
    library = missing_library(log_tail)
    if library is not None:
        return Failure(
            f"the shared library {library} is not found, or does not fit",
            "install what the server was built with, or take another build of llama.cpp",
            lasting=True,
        )
    for one in _KNOWN:
        found = one.pattern.search(log_tail)
        if found is not None:
            told = {name: text.strip()[:200] for name, text in found.groupdict("").items()}
            return Failure(one.message.format(**told), one.hint, one.lasting)
    return by_signal(
        exit_code,
        memory_hint=_MEMORY_HINT,
        build_hint="take a build of llama.cpp for this processor",
    )
