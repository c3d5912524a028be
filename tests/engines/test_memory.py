"""What llama.cpp's server takes: against its own log, and the refusal where it is not there."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from paceline.engines.machine import Gpu, Machine
from paceline.engines.memory import (
    Cache,
    cache_bytes,
    check_memory,
    longest_context,
    room_bytes,
    server_needs,
)
from paceline.errors import UsageError
from paceline.weights.model import ModelFacts
from paceline.weights.read import read_model
from tests.support.engine import find_engine, running
from tests.support.models import write_gguf

MIB = 1 << 20


@pytest.fixture
def gemma(tmp_path: Path) -> ModelFacts:
    """The shape of Gemma 3 270M, over the tensors of a small model."""
    return replace(
        read_model(write_gguf(tmp_path / "a.gguf")),
        layers=18,
        embedding=640,
        heads=4,
        kv_heads=(1,) * 18,
        key_dim=256,
        value_dim=256,
        vocabulary=262_144,
        sliding_window=512,
        sliding=tuple(layer % 6 < 5 for layer in range(18)),
    )


# As llama-server b11434 printed them for Gemma 3 270M: `llama_kv_cache: size = ... MiB`, both caches
# together.
LOGGED = [
    (Cache(32_768, 4), 96.00 + 37.50),
    (Cache(8192, 2, unified=False), 24.00 + 30.00),
    (Cache(8192, 2, unified=False, key_type="q8_0", value_type="q8_0"), 12.75 + 15.94),
    (Cache(16_384, 4, unified=False), 48.00 + 60.00),
    (Cache(16_384, 4), 48.00 + 37.50),
    (Cache(2048, unified=False), 6.00 + 15.00),
    (Cache(5000, 3, unified=False), 15.75 + 45.00),
    (Cache(8192, 2, unified=False, sliding_full=True), 24.00 + 120.00),
    (Cache(8192, 2, unified=False, batch_tokens=128), 24.00 + 22.50),
    (Cache(8192, key_type="q4_0", value_type="q4_0"), 6.75 + 4.22),
]


@pytest.mark.parametrize(("cache", "logged_mib"), LOGGED)
def test_the_cache_is_what_the_engine_said(gemma: ModelFacts, cache: Cache, logged_mib: float) -> None:
    assert cache_bytes(gemma, cache) / MIB == pytest.approx(logged_mib, abs=0.01)


def test_one_slot(gemma: ModelFacts) -> None:
    assert cache_bytes(gemma, Cache(2048)) == 21 * MIB
    assert cache_bytes(gemma, Cache(2048, sliding_full=True)) == 18 * 2048 * 1024


def test_layers_that_keep_nothing(gemma: ModelFacts) -> None:
    whole = cache_bytes(gemma, Cache(8192))
    assert cache_bytes(replace(gemma, shared_kv_layers=18), Cache(8192)) == 0
    last_sees_all = 8192 * 1024
    assert cache_bytes(replace(gemma, shared_kv_layers=1), Cache(8192)) == whole - last_sees_all
    assert (
        cache_bytes(replace(gemma, state_bytes=1000), Cache(8192, 4)) - cache_bytes(gemma, Cache(8192, 4))
        == 4000
    )


def test_an_unknown_type_of_cache(gemma: ModelFacts) -> None:
    with pytest.raises(ValueError, match="'auto'"):
        server_needs(gemma, Cache(8192, key_type="auto"))


def test_the_longest_context_that_fits(gemma: ModelFacts) -> None:
    cache = Cache(32_768, 4)
    room = server_needs(gemma, cache).total_bytes
    assert longest_context(gemma, cache, room) == 32_768
    shorter = longest_context(gemma, cache, room - 20 * MIB)
    assert shorter % 256 == 0
    assert server_needs(gemma, replace(cache, cells=shorter)).total_bytes <= room - 20 * MIB
    assert server_needs(gemma, replace(cache, cells=shorter + 256)).total_bytes > room - 20 * MIB
    assert longest_context(gemma, cache, 1000) == 0


def machine(free: int, *gpus: Gpu) -> Machine:
    return Machine(cores=2, memory_bytes=8 << 30, free_bytes=free, gpus=gpus)


def test_what_fits_passes() -> None:
    check_memory(1 << 30, machine(1 << 30), "gemma")
    check_memory(3 << 30, machine(1 << 30, Gpu("GPU", 4 << 30, 2 << 30)), "gemma")


@pytest.mark.parametrize(
    ("context", "words"),
    [
        (4096, "a context of at most 4,096 tokens, fewer slots"),
        (None, "a shorter context, fewer slots"),
        (0, "no shorter context helps"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_would(context: int | None, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_memory(3 << 30, machine(2 << 30), "gemma with 4 slots", context=context)
    assert caught.value.message == (
        "gemma with 4 slots would take about 3.00 GiB, and 2.00 GiB of memory is free (1.00 GiB too little)"
    )
    assert words in (caught.value.hint or "")
    assert caught.value.exit_code == 2


def test_memory_of_gpus_counts() -> None:
    with_gpu = machine(1 << 30, Gpu("GPU", 4 << 30, 2 << 30))
    assert room_bytes(with_gpu) == 3 << 30
    with pytest.raises(UsageError, match="the GPUs' together"):
        check_memory(4 << 30, with_gpu, "gemma")


ENGINE = find_engine()


@pytest.mark.engine
@pytest.mark.skipif(isinstance(ENGINE, str), reason=str(ENGINE))
def test_against_the_engines_own_account(tmp_path: Path) -> None:
    assert not isinstance(ENGINE, str)
    log = tmp_path / "log"
    # `running` sets two slots itself.
    with running(ENGINE, log, "-c", "6000", "-ctk", "q8_0", "-ctv", "f16", "-fa", "on", "-lv", "4"):
        pass
    text = log.read_text()
    kv_mib = [float(size) for size in re.findall(r"llama_kv_cache: size =\s+([\d.]+) MiB", text)[-2:]]
    compute_mib = float(re.findall(r"compute buffer size =\s+([\d.]+) MiB", text)[-1])
    output_mib = float(re.findall(r"output buffer size =\s+([\d.]+) MiB", text)[-1])
    needs = server_needs(
        read_model(ENGINE.model), Cache(6000, 2, unified=False, key_type="q8_0", value_type="f16")
    )
    assert needs.kv_bytes / MIB == pytest.approx(sum(kv_mib), abs=0.02)
    assert 1.0 <= needs.compute_bytes / MIB / (compute_mib + output_mib) <= 1.3
