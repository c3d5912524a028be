"""The roof against hand-made values, and what must hold of any."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from paceline.roofline.roof import (
    ACCEPTANCES,
    best_roof,
    expected_tokens,
    prompt_roof,
    ridge,
    roof,
)
from tests.roofline.samples import KV_BYTES_A_TOKEN, SEVEN_B, at_context, rates


def test_one_stream_of_a_7b_at_3_5_tb_a_second() -> None:
    """14 GB a step over 3.5 TB/s are 4 ms: 250 tok/s. Its 14 G operations take 14.3 us."""
    found = roof(SEVEN_B, rates())
    assert found.spent.memory_s == pytest.approx(4e-3)
    assert found.spent.arithmetic_s == pytest.approx(14e9 / 980e12)
    assert found.stream_tok_s == found.together_tok_s == pytest.approx(250.0)
    assert (found.spent.bound, found.tokens_a_step, found.drafted) == ("memory", 1.0, 0)


def test_kv_is_read_once_a_stream_and_weights_once() -> None:
    """4,096 tokens are 2.147 GB of KV: with 8 streams a step reads 14 + 8 * 2.147 GB = 31.18 GB."""
    found = roof(at_context(4096), rates(), streams=8)
    assert found.spent.bytes == 14e9 + 8 * 4096 * KV_BYTES_A_TOKEN
    assert found.stream_tok_s == pytest.approx(112.25, abs=0.01)
    assert found.together_tok_s == pytest.approx(8 * 112.25, abs=0.1)


def test_the_ridge_is_the_ratio_of_the_rates() -> None:
    """A byte and an operation for each weight of two bytes: 980 / 3.5 = 280 streams."""
    assert ridge(SEVEN_B, rates()) in (280, 281)
    assert roof(SEVEN_B, rates(), streams=279).spent.bound == "memory"
    assert roof(SEVEN_B, rates(), streams=281).spent.bound == "arithmetic"
    assert roof(SEVEN_B, rates(), streams=560).together_tok_s == pytest.approx(70_000.0)


def test_no_ridge_where_kv_outgrows_arithmetic_or_the_rate_is_unknown() -> None:
    """A stream's KV of 34 GB takes 9.8 ms, its operations 0.05 ms."""
    assert ridge(at_context(65_536), rates()) is None
    assert ridge(SEVEN_B, rates(arithmetic=None)) is None


@pytest.mark.parametrize(
    ("acceptance", "drafted", "tokens"), [(0.8, 4, 3.3616), (0.5, 1, 1.5), (1.0, 7, 8.0)]
)
def test_expected_tokens_a_step(acceptance: float, drafted: int, tokens: float) -> None:
    assert expected_tokens(acceptance, drafted) == pytest.approx(tokens)


def test_expected_tokens_against_drawn_ones() -> None:
    """Each draft is accepted or not until the first that is not; the step's own token comes on top."""
    accepted = np.random.default_rng(1).random((200_000, 6)) < 0.7
    drawn = 1.0 + np.cumprod(accepted, axis=1).sum(axis=1)
    assert expected_tokens(0.7, 6) == pytest.approx(drawn.mean(), abs=4 * drawn.std() / math.sqrt(200_000))


def test_speculation_verifies_each_position_with_the_head() -> None:
    found = roof(SEVEN_B, rates(), acceptance=0.8, draft_tokens=4)
    assert found.spent.operations == 5 * 14e9
    assert found.stream_tok_s == pytest.approx(3.3616 * 250.0)


def test_a_drafting_model_takes_a_step_a_token() -> None:
    """A tenth of the model drafts four tokens: 14 + 4 * 1.4 GB a step."""
    tenth = replace(
        SEVEN_B,
        dense_bytes=1_300_000_000,
        head_bytes=100_000_000,
        dense_operations=1_300_000_000,
        head_operations=100_000_000,
    )
    found = roof(SEVEN_B, rates(), acceptance=0.8, draft_tokens=4, draft=tenth)
    assert found.spent.bytes == pytest.approx(14e9 + 4 * 1.4e9)
    assert found.spent.operations == pytest.approx(5 * 14e9 + 4 * 1.4e9)
    # Best draft: most of E(d) / (10 + d), by hand over d = 0..8.
    by_hand = max(range(9), key=lambda d: (1 - 0.8 ** (d + 1)) / 0.2 / (10 + d))
    best = best_roof(SEVEN_B, rates(), acceptance=0.8, draft=tenth)
    assert best is not None
    assert best.drafted == by_hand == 6


def test_all_accepted_ends_at_the_arithmetic_roof() -> None:
    """980 Top/s over 14 G operations a token are 70,000 tok/s, from 279 drafted tokens on."""
    best = best_roof(SEVEN_B, rates(), acceptance=1.0)
    assert best is not None
    assert best.stream_tok_s == pytest.approx(70_000.0, rel=1e-3)
    assert 275 <= best.drafted <= 280


def test_nothing_accepted_is_no_speculation() -> None:
    plain = roof(SEVEN_B, rates()).stream_tok_s
    best = best_roof(SEVEN_B, rates(), acceptance=0.0)
    assert best is not None
    assert (best.drafted, best.stream_tok_s) == (0, plain)
    # Drafts that arithmetic has to pay for make it slower.
    assert roof(SEVEN_B, rates(), acceptance=0.0, draft_tokens=560).stream_tok_s < plain


def test_without_an_arithmetic_rate_memory_alone_is_known() -> None:
    found = roof(SEVEN_B, rates(arithmetic=None), streams=4096)
    assert found.spent.arithmetic_s is None
    assert found.stream_tok_s == pytest.approx(250.0)
    assert best_roof(SEVEN_B, rates(arithmetic=None), acceptance=0.8) is None


def test_a_rate_of_other_numbers_does_not_count() -> None:
    assert roof(SEVEN_B, rates(kind="int8")).spent.arithmetic_s is None


def test_experts_are_read_as_tokens_touch_them() -> None:
    """Two of eight experts a token: a quarter of 8 GB for one, 1 - (3/4)^4 for four, all for many."""
    mixed = replace(SEVEN_B, experts=8, experts_used=2, expert_bytes=8_000_000_000, expert_operations=10**9)
    assert roof(mixed, rates()).spent.bytes == pytest.approx(16e9)
    assert roof(mixed, rates(), streams=4).spent.bytes == pytest.approx(14e9 + 8e9 * (1 - 0.75**4))
    drafted = roof(mixed, rates(), acceptance=0.8, draft_tokens=3)
    assert drafted.spent.bytes == pytest.approx(14e9 + 8e9 * (1 - 0.75**4))
    assert drafted.spent.operations == 4 * 15e9
    assert roof(mixed, rates(), streams=1000).spent.bytes == pytest.approx(22e9)


def test_a_rate_that_is_a_lower_bound_limits_nothing() -> None:
    machine = replace(rates(), at_least=("bf16",))
    assert roof(SEVEN_B, machine, streams=4096).spent.arithmetic_s is None
    assert ridge(SEVEN_B, machine) is None


def test_what_the_cache_holds_is_not_read() -> None:
    assert roof(SEVEN_B, rates(cache_bytes=4_000_000_000)).stream_tok_s == pytest.approx(350.0)


def test_a_model_within_the_cache_has_no_memory_roof() -> None:
    small = roof(SEVEN_B, rates(cache_bytes=20_000_000_000))
    assert small.spent.bound == "arithmetic"
    assert small.stream_tok_s == pytest.approx(70_000.0)
    assert roof(SEVEN_B, rates(arithmetic=None, cache_bytes=20_000_000_000)).stream_tok_s == math.inf


def test_a_prompt_computes_its_head_once() -> None:
    """1,000 tokens of 13 G operations and one head of 1 G; the weights are read once."""
    found = prompt_roof(lambda _: SEVEN_B, rates(), 1000)
    assert found.spent.operations == pytest.approx(1000 * 13e9 + 1e9)
    assert found.ttft_s == pytest.approx(13_001e9 / 980e12)
    assert found.prompt_tok_s == pytest.approx(1000 / found.ttft_s)
    assert found.spent.bound == "arithmetic"


def test_a_prompts_attention_grows_with_what_came_before() -> None:
    """Over 0..n-1 tokens before it, n (n - 1) / 2 times KV_BYTES_A_TOKEN operations; midpoints: n^2 / 2."""
    n = 6400
    found = prompt_roof(at_context, rates(), n)
    assert found.spent.operations == pytest.approx(n * 13e9 + 1e9 + n * n / 2 * KV_BYTES_A_TOKEN, rel=1e-4)


def test_a_short_prompt_takes_as_long_as_its_weights() -> None:
    found = prompt_roof(lambda _: SEVEN_B, rates(), 1)
    assert found.spent.bound == "memory"
    assert found.ttft_s == pytest.approx(4e-3)


@pytest.mark.parametrize("acceptance", ACCEPTANCES)
@pytest.mark.parametrize("context", [0, 1000, 30_000])
def test_a_better_machine_is_never_slower(acceptance: float, context: int) -> None:
    work = at_context(context)
    limits = [
        best.stream_tok_s
        for bandwidth in (1e11, 1e12, 4e12)
        for arithmetic in (1e13, 1e14, 1e15)
        if (best := best_roof(work, rates(bandwidth, arithmetic), acceptance=acceptance, most_drafted=64))
    ]
    table = np.array(limits).reshape(3, 3)
    assert (np.diff(table, axis=0) >= 0).all()
    assert (np.diff(table, axis=1) >= 0).all()


def test_more_streams_are_never_slower_together_nor_faster_each() -> None:
    found = [roof(at_context(2000), rates(), streams=n) for n in (1, 2, 16, 128, 1024, 65_536)]
    assert all(a.stream_tok_s >= b.stream_tok_s for a, b in pairwise(found))
    assert all(a.together_tok_s <= b.together_tok_s * 1.000001 for a, b in pairwise(found))


def test_longer_context_is_never_faster() -> None:
    found = [roof(at_context(n), rates()).stream_tok_s for n in (0, 10, 1000, 100_000)]
    assert found == sorted(found, reverse=True)


def test_numbers_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="streams"):
        roof(SEVEN_B, rates(), streams=0)
    with pytest.raises(ValueError, match="acceptance"):
        roof(SEVEN_B, rates(), draft_tokens=3)
    with pytest.raises(ValueError, match="acceptance"):
        expected_tokens(1.1, 2)
    with pytest.raises(ValueError, match="prompt"):
        prompt_roof(at_context, rates(), 0)
