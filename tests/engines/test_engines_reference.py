"""The reference of engines against the code: releases, settings of the tiers, what is not said."""

import re
from pathlib import Path

import pytest

from paceline.engines.adapters import ADAPTERS
from paceline.engines.engine import Installed
from paceline.engines.llama_cpp_options import Option as LlamaOption
from paceline.engines.llama_cpp_options import Options as LlamaOptions
from paceline.engines.llama_cpp_tiers import tier_settings as llama_settings
from paceline.engines.python_options import options_of
from paceline.engines.sglang_tiers import tier_settings as sglang_settings
from paceline.engines.tilert import OPTIONS, RELEASE, TileRt
from paceline.engines.vllm_tiers import cpu_settings, gpu_settings
from tests.support.big_models import machine, model

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "engines.md").read_text(encoding="utf-8")
MODELS = (model(16 * 10**9), model(16 * 10**9, extra_heads=1), None)
MACHINES = (machine(1, 24), machine(4, 80), machine(2, 80, free_gib=60))


def rows(heading: str) -> list[list[str]]:
    """Rows of the table under a heading, without their first two lines."""
    section = PAGE.split(f"\n{heading}\n", 1)[1].split("\n#", 1)[0]
    table = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]


def documented(engine: str) -> set[str]:
    """Settings in the table of an engine's tiers."""
    return {row[0].strip("`") for row in rows(f"### {engine}")}


def llama_build() -> LlamaOptions:
    """A build that can draft both ways."""
    names = {
        *("threads", "gpu-layers", "parallel", "kv-unified", "ctx-size", "cont-batching"),
        *("spec-draft-n-max", "spec-ngram-mod-n-match", "spec-ngram-mod-n-min", "spec-ngram-mod-n-max"),
        *("flash-attn", "cache-type-k", "cache-type-v", "cache-ram", "metrics", "load-mode"),
    }
    made = [LlamaOption(name, (name,), None, "N", "", False) for name in sorted(names)]
    made.append(LlamaOption("spec-type", ("spec-type",), None, "[none,draft-mtp,ngram-mod]", "", False))
    return LlamaOptions({one.name: one for one in made})


def set_by_tiers(engine: str) -> set[str]:
    found: set[str] = set()
    for tier in ("standard", "fast", "ultra"):
        for facts in MODELS:
            if engine == "tilert":
                glm = model(10**9, architecture="glm_moe_dsa") if facts else None
                installed = Installed("tilert", ("python",), "given", RELEASE)
                found |= set(TileRt().tier(tier, glm, machine(0), installed).values)
            for here in MACHINES:
                if engine == "vllm":
                    found |= set(gpu_settings(tier, facts, here).values)
                    found |= set(cpu_settings(tier, facts, here).values)
                elif engine == "sglang":
                    found |= set(sglang_settings(tier, facts, here).values)
    return found


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tilert"])
def test_tables_of_tiers_have_all_that_is_set_and_no_more(engine: str) -> None:
    assert documented(engine) == set_by_tiers(engine)


def test_table_of_llama_cpp(monkeypatch: pytest.MonkeyPatch) -> None:
    # As where the kernel gives huge pages: with it a setting more.
    monkeypatch.setattr("paceline.engines.llama_cpp_tiers.huge_pages", lambda: True)
    found: set[str] = set()
    for tier in ("standard", "fast", "ultra"):
        for heads in (0, 1):
            for here in (machine(0, memory_gib=24), machine(1)):
                facts = model(10**9, format="gguf", extra_heads=heads)
                found |= set(llama_settings(tier, facts, here, llama_build()).values)
    assert documented("llama.cpp") == found


def test_values_that_are_numbers_are_those_that_are_set() -> None:
    big = model(16 * 10**9)
    for engine, made in (
        ("vllm", [gpu_settings(tier, big, machine(1)).values for tier in ("fast", "ultra")]),
        ("sglang", [sglang_settings(tier, big, machine(1)).values for tier in ("fast", "ultra")]),
    ):
        for row in rows(f"### {engine}"):
            for cell, values in zip(row[2:4], made, strict=True):
                if re.fullmatch(r"[\d.]+", cell):
                    assert str(values[row[0].strip("`")]) == cell, row


def test_releases_and_counts_of_options() -> None:
    table = {row[0]: row for row in rows("## Which release was read, and what was tried")}
    assert list(table) == list(ADAPTERS)
    for engine in ("vllm", "sglang"):
        options = options_of(engine)
        assert table[engine][1] == options.release
        assert f"{len({id(one) for one in options.by_name.values()})} of them" in table[engine][2]
    assert table["tilert"][1] == RELEASE
    assert f"{len(OPTIONS)} of them" in table["tilert"][2]


def test_paths_of_health_and_where_clients_go() -> None:
    for adapter in ADAPTERS.values():
        assert adapter.health_path == "/health"
        assert adapter.base_path == "/v1"
