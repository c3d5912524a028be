"""However a user spells drafting, it comes out as parts of one JSON object."""

import pytest

from paceline.engines.vllm_speculation import (
    LOOKUP_MAX,
    LOOKUP_MIN,
    METHOD,
    MODEL,
    PARTS,
    TOKENS,
    spell_speculation,
)
from paceline.errors import ConfigError

TIER = {METHOD: "ngram", TOKENS: 8, LOOKUP_MAX: 5, LOOKUP_MIN: 2, "max-num-seqs": 8}


def over_tier(own: dict[str, object]) -> dict[str, object]:
    """The user's over the tier's, as a start has them."""
    laid = TIER | spell_speculation(own)  # type: ignore[arg-type]
    return {name: value for name, value in laid.items() if value is not None}


def test_nothing_said_leaves_the_tiers() -> None:
    assert over_tier({"max-num-seqs": 2}) == TIER | {"max-num-seqs": 2}


def test_short_names_and_json_are_the_same() -> None:
    short = over_tier({"spec-method": "eagle3", "spec-model": "owner/head", "spec-tokens": 3})
    whole = over_tier(
        {"speculative-config": '{"method": "eagle3", "model": "owner/head", "num_speculative_tokens": 3}'}
    )
    assert short == whole == {METHOD: "eagle3", MODEL: "owner/head", TOKENS: 3, "max-num-seqs": 8}


def test_a_draft_model_takes_the_place_of_n_grams() -> None:
    assert over_tier({"spec-model": "owner/small"}) == {MODEL: "owner/small", TOKENS: 4, "max-num-seqs": 8}


def test_another_count_of_n_grams_keeps_the_rest() -> None:
    assert over_tier({TOKENS: 12}) == TIER | {TOKENS: 12}
    assert over_tier({METHOD: "ngram_gpu"}) == TIER | {METHOD: "ngram_gpu"}


@pytest.mark.parametrize("none", ["none", "", None, False])
def test_no_drafting(none: object) -> None:
    for name in ("speculative-config", "spec-method") if none in (None, False) else ("speculative-config",):
        assert over_tier({name: none}) == {"max-num-seqs": 8}


def test_parts_that_are_objects_stay_json() -> None:
    spelt = spell_speculation({"speculative-config": '{"method": "mtp", "draft-load-config": {"a": 1}}'})
    assert spelt["speculative-config.draft_load_config"] == '{"a": 1}'
    assert all(spelt[name] is None for name in set(PARTS) - {METHOD})


def test_what_is_no_json_object() -> None:
    for wrong in ("ngram", "[1]", "3"):
        with pytest.raises(ConfigError, match="speculative-config is not a JSON object"):
            spell_speculation({"speculative-config": wrong})
