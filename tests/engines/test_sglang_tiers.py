"""What the tiers set on SGLang, and what the tuner may turn."""

import pytest

from paceline.engines.python_options import options_of
from paceline.engines.sglang_tiers import PARTS, search_space, spell_speculation, tier_settings
from paceline.errors import ConfigError
from tests.support.big_models import GIB, machine, model


def test_standard_is_for_many_streams() -> None:
    made = tier_settings("standard", model(16 * 10**9), machine(2, 80))
    slots = int((80 * GIB * 0.84 - 16 * 10**9) / (4096 * 131_072))
    assert made.values == {"dp-size": 2, "schedule-conservativeness": 0.3, "max-running-requests": slots}


def test_fast_is_for_one_stream() -> None:
    assert tier_settings("fast", model(16 * 10**9), machine(4, 80)).values == {
        "tp-size": 4,
        "max-running-requests": 8,
        "cuda-graph-max-bs-decode": 8,
        "speculative-algorithm": "NGRAM",
        "speculative-num-draft-tokens": 8,
        "speculative-ngram-max-bfs-breadth": 1,
    }


def test_own_heads_draft_where_the_model_has_them() -> None:
    values = tier_settings("fast", model(16 * 10**9, extra_heads=1), machine()).values
    assert {name: values.get(name) for name in PARTS} == {
        "speculative-algorithm": "NEXTN",
        "speculative-num-steps": 3,
        "speculative-eagle-topk": 1,
        "speculative-num-draft-tokens": 4,
        "speculative-draft-model-path": None,
        "speculative-ngram-max-bfs-breadth": None,
    }


def test_ultra_begins_as_fast_with_fewer_streams() -> None:
    fast = tier_settings("fast", model(16 * 10**9), machine()).values
    ultra = tier_settings("ultra", model(16 * 10**9), machine()).values
    assert ultra == {**fast, "max-running-requests": 2, "cuda-graph-max-bs-decode": 2}


def test_context_that_fits_and_what_it_needs() -> None:
    made = tier_settings("standard", model(16 * 10**9), machine(1, 24))
    tokens = int((24 * GIB * 0.84 - 16 * 10**9) / 131_072) // 256 * 256
    assert made.values["context-length"] == tokens
    assert made.needs_bytes == 16 * 10**9 + tokens * 131_072


def test_no_gpu_and_too_large() -> None:
    with pytest.raises(ConfigError, match="SGLang is built for GPUs, and this machine shows none"):
        tier_settings("fast", None, machine(0))
    with pytest.raises(ConfigError, match="big does not fit"):
        tier_settings("fast", model(100 * 10**9), machine(1, 80))


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ({"speculative-draft-model-path": "owner/small"}, {"speculative-algorithm": "STANDALONE"}),
        (
            {"speculative-algorithm": "EAGLE3", "speculative-draft-model-path": "owner/head"},
            {"speculative-algorithm": "EAGLE3"},
        ),
        ({"speculative-algorithm": "NGRAM"}, {"speculative-ngram-max-bfs-breadth": 1}),
        ({"speculative-algorithm": "none"}, {}),
        ({"speculative-algorithm": None}, {}),
    ],
)
def test_the_users_drafting_over_the_tiers(own: dict[str, object], expected: dict[str, object]) -> None:
    tier = tier_settings("fast", model(16 * 10**9), machine()).values
    laid = {**tier, **spell_speculation(own)}  # type: ignore[arg-type]
    drafting = {name: laid[name] for name in PARTS if laid.get(name) is not None}
    wanted = {name: value for name, value in own.items() if value not in (None, "none")}
    assert drafting == wanted | expected


def test_each_setting_and_choice_is_an_option_of_the_release() -> None:
    options = options_of("sglang")
    for facts in (model(16 * 10**9), model(16 * 10**9, extra_heads=1), None):
        for tier in ("standard", "fast", "ultra"):
            made = tier_settings(tier, facts, machine(2, 24))
            assert set(made.why) == set(made.values)
            choices = search_space(tier, facts, machine(2, 24))
            names = {one.option for one in choices}
            assert all(one.only_with is None or one.only_with[0] in names for one in choices)
            for name in (*made.values, *names):
                option = options.find(name)
                assert option is not None, name
                assert option.name == name
            for choice in choices:
                option = options.by_name[choice.option]
                assert all(
                    not option.choices or one is None or one in option.choices for one in choice.values
                )


def test_the_tiers_own_comes_first() -> None:
    for facts in (model(16 * 10**9), model(16 * 10**9, extra_heads=1)):
        for tier in ("standard", "fast", "ultra"):
            own = tier_settings(tier, facts, machine(4)).values
            drafts = own.get("speculative-algorithm")
            for choice in search_space(tier, facts, machine(4)):
                idle = choice.only_with is not None and drafts not in choice.only_with[1]
                standing = own.get(choice.option)
                assert idle or standing in (None, choice.values[0]) or choice.option == "max-running-requests"
