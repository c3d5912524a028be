"""Why a server ended, read from what the real one said when it was made to fail so."""

import re
from pathlib import Path

import pytest

from paceline.engines.llama_cpp_failure import read_failure

LOGS = Path(__file__).parents[1] / "data" / "llama_cpp" / "failures-b11434.txt"
SAID = dict(re.findall(r"^#### (\S+)\n(.*?)(?=^#### |\Z)", LOGS.read_text(), re.MULTILINE | re.DOTALL))
REASONS = {
    "cut": "the model's file is cut or damaged",
    "cut2": "the model's file is cut or damaged",
    "empty": "the model's file is cut or damaged",
    "text": "the model's file is not GGUF (it begins with hell)",
    "arch": "this llama.cpp does not know the model's architecture gemmaX",
    "quant": "this llama.cpp does not know the quantisation of the model (type 199, "
    "tensor token_embd.weight)",
    "version": "this llama.cpp does not know version 99 of GGUF",
    "missing": "the file missing.gguf cannot be opened: No such file or directory",
    "port": "it cannot listen on 127.0.0.1:29445: another has that port, or the address is not "
    "this machine's",
    "unknown": "this llama-server has no option --nonsense",
    "badval2": "it refuses the value of --flash-attn: error: unknown value for --flash-attn: 'maybe'",
    "badval3": "it refuses the value of --cache-type-k: Unsupported cache type: q9",
    "badspec": "it refuses the value of --spec-type: unknown speculative type: nothing",
    "removed": "it refuses the value of --draft-max: the argument has been removed. use --spec-draft-n-max "
    "or --spec-ngram-mod-n-max",
    "vcache": "a quantised cache of values (cache-type-v) needs flash attention",
    "mtp": "the model has no extra heads, which spec-type draft-mtp drafts with",
    "draftmissing": "the file nodraft.gguf cannot be opened: No such file or directory",
    "kv": "the memory is too small for the model with these settings",
    "kv3": "the memory is too small for the model with these settings",
    "lib": "the shared library libllama-common.so.0 is not found, or does not fit",
}


def test_every_log_is_told_of() -> None:
    assert set(SAID) == set(REASONS)


@pytest.mark.parametrize("name", list(REASONS))
def test_the_reason(name: str) -> None:
    failure = read_failure(SAID[name], 1)
    assert failure is not None
    assert failure.message == REASONS[name]
    assert failure.hint
    assert failure.lasting


@pytest.mark.parametrize(
    "line",
    [
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9216.00 MiB on device 0: cudaMalloc failed: "
        "out of memory",
        "CUDA error: out of memory",
    ],
)
def test_a_gpu_without_room(line: str) -> None:
    # With what llama.cpp says of the buffer after it.
    log = f"{line}\nfailed to allocate buffer for kv cache\n"
    failure = read_failure(log, 1)
    assert failure is not None
    assert failure.message == "the GPU's memory is too small for the model with these settings"


@pytest.mark.parametrize("code", [-4, 132])
def test_another_processor(code: int) -> None:
    failure = read_failure("loading model\n", code)
    assert failure is not None
    assert "illegal instruction" in failure.message
    assert failure.lasting


@pytest.mark.parametrize("code", [-9, 137])
def test_killed_by_the_kernel_may_go_better_next_time(code: int) -> None:
    failure = read_failure("loading model\n", code)
    assert failure is not None
    assert "memory" in failure.message
    assert not failure.lasting


@pytest.mark.parametrize("code", [None, 0, 1, -15, 143])
def test_what_is_not_known(code: int | None) -> None:
    assert read_failure("srv  llama_server: all is well\n", code) is None
