"""What the tuner may turn fits the build, and says what may change the output."""

from dataclasses import replace
from pathlib import Path

import pytest

from paceline.engines import llama_cpp_space
from paceline.engines.llama_cpp_options import Options, read_help
from paceline.engines.llama_cpp_space import search_space
from paceline.weights.model import ModelFacts
from paceline.weights.read import read_model
from tests.engines.test_llama_cpp_options import HELP, OLDER
from tests.engines.test_llama_cpp_tiers import ACCELERATED, SMALL
from tests.support.models import write_gguf


@pytest.fixture(scope="module")
def options() -> Options:
    found = read_help(HELP.read_text())
    assert found is not None
    return found


@pytest.fixture(autouse=True)
def kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llama_cpp_space, "huge_pages", lambda: True)


@pytest.fixture
def facts(tmp_path: Path) -> ModelFacts:
    return read_model(write_gguf(tmp_path / "model.gguf"))


@pytest.mark.parametrize("tier", ["standard", "fast", "ultra"])
def test_it_is_small_and_within_what_the_build_has(options: Options, facts: ModelFacts, tier: str) -> None:
    made = search_space(tier, facts, SMALL, options)  # type: ignore[arg-type]
    assert 6 <= len(made) <= 12
    names = [one.option for one in made]
    assert len(set(names)) == len(names)
    for one in made:
        assert one.option in options
        assert len(set(one.values)) == len(one.values) > 1
        if one.only_with is not None:
            other = next(other for other in made if other.option == one.only_with[0])
            assert set(one.only_with[1]) <= set(other.values)


def test_latency_keeps_greedy_output(options: Options, facts: ModelFacts) -> None:
    made = search_space("ultra", facts, SMALL, options)
    assert not any(one.may_change_output for one in made)
    assert made == search_space("fast", facts, SMALL, options)


def test_throughput_may_take_a_smaller_cache(options: Options, facts: ModelFacts) -> None:
    made = search_space("standard", facts, SMALL, options)
    assert {one.option for one in made if one.may_change_output} == {"cache-type-k", "cache-type-v"}
    (value,) = (one for one in made if one.option == "cache-type-v")
    assert value.only_with == ("flash-attn", (None, "on"))


def test_extra_heads_are_a_way_to_draft_where_there_are_some(options: Options, facts: ModelFacts) -> None:
    def kinds(model: ModelFacts) -> set[object]:
        return set(search_space("fast", model, SMALL, options)[0].values)

    assert "draft-mtp" not in kinds(facts)
    assert "draft-mtp" in kinds(replace(facts, extra_heads=1))


def test_slots_go_further_on_a_gpu(options: Options, facts: ModelFacts) -> None:
    assert 16 in search_space("standard", facts, SMALL, options)[0].values
    assert 64 in search_space("standard", facts, ACCELERATED, options)[0].values


def test_an_older_build_without_speculation_has_the_rest(facts: ModelFacts) -> None:
    older = read_help(OLDER)
    assert older is not None
    made = search_space("fast", facts, SMALL, older)
    assert [(one.option, one.values) for one in made] == [("no-mmap", (True, None))]
    assert not search_space("fast", facts, ACCELERATED, older)
