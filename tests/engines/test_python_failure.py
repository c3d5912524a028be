"""Failures by the words of the real engines, as the stand-ins say them."""

import pytest

from paceline.engines.engine import Failure
from paceline.engines.sglang import SgLang
from paceline.engines.tilert import TileRt
from paceline.engines.vllm import Vllm
from tests.support.standins.words import SGLANG_DEATHS, SGLANG_REFUSALS, VLLM_DEATHS, VLLM_REFUSALS

CORE = "\nRuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n"
SIGQUIT = "\n[2026-11-30] Received sigquit from a child process. It usually means the child failed.\n"


def vllm(text: str, exit_code: int | None = 1) -> Failure:
    failure = Vllm().failure(f"(EngineCore pid=7) ERROR 11-30 20:00:00 [core.py:1] {text}", exit_code)
    assert failure is not None
    return failure


def sglang(text: str, exit_code: int | None = -9) -> Failure:
    failure = SgLang().failure(f"[2026-11-30 20:22:54 TP0] {text}", exit_code)
    assert failure is not None
    return failure


@pytest.mark.parametrize(
    ("fault", "message", "hint", "lasting"),
    [
        ("out-of-memory", "the GPU's memory ran out (it asked for 2.32 GiB more)", "max-num-seqs", True),
        ("no-cache-blocks", "the weights leave no memory for the KV cache", "max-model-len", True),
        (
            "long-context",
            "a request of the whole context (131072 tokens) does not fit beside the weights",
            "set max-model-len=33744",
            True,
        ),
        (
            "gpu-busy",
            "something else uses the GPU: 3.20 of 23.64 GiB are free, and it was to take more",
            "nvidia-smi",
            False,
        ),
    ],
)
def test_deaths_of_vllm(fault: str, message: str, hint: str, lasting: bool) -> None:
    failure = vllm(VLLM_DEATHS[fault] + CORE)
    assert (failure.message, failure.lasting) == (message, lasting)
    assert hint in failure.hint


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("no-gpu", "it finds no GPU and no driver of one"),
        ("architecture", "it does not know the architecture nosuch"),
        ("unsupported", "it does not serve the architecture ['NoSuchForCausalLM']"),
        ("gated", "the hub does not give it the model: it is gated or private"),
        ("offline", "the model is not on this machine, and the hub cannot be reached"),
    ],
)
def test_refusals_of_vllm(fault: str, message: str) -> None:
    failure = vllm(VLLM_REFUSALS[fault])
    assert failure.message == message
    # A network may come back.
    assert failure.lasting == (fault != "offline")


@pytest.mark.parametrize(
    ("fault", "message", "lasting"),
    [
        ("out-of-memory", "the GPU's memory ran out (it asked for 896.00 MiB more)", True),
        ("no-cache", "the weights leave no memory for the KV cache", True),
        ("unbalanced", "the GPUs have unlike room: something else uses some of them", False),
        ("unsupported", "it does not serve the architecture ['NoSuchForCausalLM']", True),
    ],
)
def test_deaths_of_sglang(fault: str, message: str, lasting: bool) -> None:
    failure = sglang(SGLANG_DEATHS[fault] + SIGQUIT)
    assert (failure.message, failure.lasting) == (message, lasting)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("no-gpu", "it finds no GPU and no driver of one"),
        ("architecture", "it does not know the architecture nosuch"),
        ("missing", "there is no such model: neither a folder here nor a name on the hub"),
    ],
)
def test_refusals_of_sglang(fault: str, message: str) -> None:
    assert sglang(SGLANG_REFUSALS[fault], 1).message == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("vllm: error: unrecognized arguments: --nope 3", "it has no such option: --nope 3"),
        (
            "vllm serve: error: argument --max-num-seqs: invalid int value: 'x'",
            "its option --max-num-seqs does not take that: invalid int value: 'x'",
        ),
        ("OSError: [Errno 98] Address already in use", "its port is taken by another program"),
        (
            "ERROR: [Errno 98] error while attempting to bind on address ('::', 1): address already in use",
            "its port is taken by another program",
        ),
        ("OSError: [Errno 99] Cannot assign requested address", "it cannot listen there: the address is not"),
        (
            "safetensors_rust.SafetensorError: Error while deserializing header: incomplete metadata",
            "a file of",
        ),
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
        (
            "ModuleNotFoundError: No module named 'torchvision'",
            "its installation is not whole: the Python package",
        ),
        (
            "RuntimeError: The NVIDIA driver on your system is too old (found version 12020)",
            "the GPU's driver is",
        ),
        (
            "torch.AcceleratorError: CUDA error: no kernel image is available for execution",
            "this build of the",
        ),
    ],
)
def test_what_both_may_say(text: str, message: str) -> None:
    for failure in (vllm(text), sglang(text, 1)):
        assert failure.message.startswith(message)
        assert failure.lasting
        assert failure.hint


def test_memory_that_runs_out_while_it_serves_may_be_luck() -> None:
    served = 'INFO:     127.0.0.1:5 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
    assert not vllm(served + VLLM_DEATHS["out-of-memory"]).lasting


def test_a_kill_from_outside() -> None:
    for code in (-9, 137):
        failure = Vllm().failure("INFO all is well", code)
        assert failure is not None
        assert "killed from outside" in failure.message
        assert not failure.lasting


def test_the_last_error_where_nothing_is_known() -> None:
    failure = vllm("ValueError: the moon is full\nTraceback\n(X pid=1) RuntimeError: tides are out" + CORE)
    assert failure == Failure(
        "it ended with RuntimeError: tides are out", "its log tells more", lasting=False
    )


def test_an_engine_process_that_is_killed_ends_vllm_with_exit_code_0() -> None:
    dead = (
        "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above)"
    )
    failure = vllm(f"{dead} for the root cause.\nINFO:     Application shutdown complete.\n", 0)
    assert failure.message == "its engine process (EngineCore) ended while it served"
    assert not failure.lasting


def test_a_scheduler_that_fails_ends_sglang_by_signal_9() -> None:
    failure = sglang("Scheduler hit an exception: Traceback:\nValueError: odd page size" + SIGQUIT)
    assert failure.message == "it ended with ValueError: odd page size"


def test_nothing_known() -> None:
    for adapter in (Vllm(), SgLang(), TileRt()):
        assert adapter.failure("all is well\n", 3) is None
        assert adapter.failure("", None) is None


def test_words_of_the_router() -> None:
    failure = TileRt().failure("cannot serve with these sampling defaults:\nmin_p=0.1 is not supported", 1)
    assert failure is not None
    assert failure.message == "the model's own sampling cannot be done by TileRT: min_p=0.1 is not supported"
