"""What the tuner may turn on vLLM."""

from paceline.engines.python_options import options_of
from paceline.engines.space import Choice
from paceline.engines.vllm_space import search_space
from paceline.engines.vllm_tiers import gpu_settings
from paceline.weights.model import ModelFacts
from tests.support.big_models import machine, model


def by_option(tier: str, facts: ModelFacts | None = None, gpus: int = 4) -> dict[str, Choice]:
    choices = search_space(tier, facts, machine(gpus), gpus=gpus > 0)  # type: ignore[arg-type]
    return {one.option: one for one in choices}


def test_standard_turns_batching_and_fast_turns_drafting() -> None:
    standard, fast = by_option("standard"), by_option("fast")
    assert "stream-interval" in standard
    assert "speculative-config.method" not in standard
    assert fast["speculative-config.method"].values == ("ngram", "ngram_gpu", None)
    assert fast["tensor-parallel-size"].values == (4, 2, 1)


def test_own_heads_and_processors() -> None:
    heads = by_option("fast", model(10**9, extra_heads=1))["speculative-config.method"]
    assert heads.values == ("mtp", "ngram", "ngram_gpu", None)
    assert by_option("fast", gpus=0)["speculative-config.method"].values == ("ngram", None)


def test_only_a_smaller_kv_may_change_the_output() -> None:
    for tier in ("standard", "fast", "ultra"):
        changing = {name for name, one in by_option(tier).items() if one.may_change_output}
        assert changing == {"kv-cache-dtype"}


def test_all_are_options_of_the_release_with_values_that_it_takes() -> None:
    options = options_of("vllm")
    for tier in ("standard", "fast", "ultra"):
        found = by_option(tier, model(10**9, extra_heads=1))
        for name, choice in found.items():
            option = options.find(name.partition(".")[0])
            assert option is not None, name
            assert all(not option.choices or one is None or one in option.choices for one in choice.values)
            assert choice.only_with is None or choice.only_with[0] in found
            assert choice.why


def test_the_tiers_own_comes_first() -> None:
    for facts in (model(16 * 10**9), model(16 * 10**9, extra_heads=1)):
        for tier in ("standard", "fast", "ultra"):
            own = gpu_settings(tier, facts, machine(4)).values
            for name, choice in by_option(tier, facts).items():
                assert name not in own or choice.values[0] == own[name] or name == "max-num-seqs"


def test_only_spreads_that_the_heads_allow() -> None:
    assert by_option("fast", model(10**9), gpus=3)["tensor-parallel-size"].values == (2, 1)
