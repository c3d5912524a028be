"""Planted runs: what share of the limit each reached, and what held it back, is known beforehand."""

from typing import Any

import numpy as np
import pytest

from paceline.roofline.reached import Drafts, Observed, reached
from paceline.stats.quantiles import Estimate
from tests.roofline.samples import KV_BYTES_A_TOKEN, at_context, rates


def observed(tok_s: float, **fields: Any) -> Observed:
    """One stream of prompts of 1,000 and answers of 200 tokens, a token a step, 2 % either way."""
    given: dict[str, Any] = {
        "run_id": "planted",
        "streams": 1,
        "prompt_tokens": 1000.0,
        "cached_tokens": None,
        "output_tokens": 200.0,
        "decode_tok_s": Estimate(tok_s, tok_s * 0.98, tok_s * 1.02, True, 8, None),
        "ttft_ms": None,
        "gaps_ms": np.full(199, 1e3 / tok_s),
        "gap_tokens": np.ones(199, np.int64),
        "drafts": None,
    }
    return Observed(**given | fields)


# 14 GB of weights and 1,100 tokens of KV over 3.5 TB/s.
STEP_BYTES = 14e9 + 1100 * KV_BYTES_A_TOKEN
LIMIT_TOK_S = 3.5e12 / STEP_BYTES


def test_near_the_bandwidth_it_is_the_memory() -> None:
    """At 80 % of the limit: 2.8 TB/s moved, with the interval of the measured rate."""
    found = reached(at_context, rates(), observed(0.8 * LIMIT_TOK_S))
    assert found.observed.context_tokens == 1100
    assert found.holds == "memory"
    assert found.of_limit.value == found.of_bandwidth.value == pytest.approx(0.8)
    assert found.of_limit.lo == pytest.approx(0.784)
    assert found.of_limit.hi == pytest.approx(0.816)
    assert found.moved_bytes_s == pytest.approx(2.8e12)
    assert not found.speculates


def test_far_from_both_it_is_the_engine() -> None:
    """At 30 % a step takes 10/3 of the least; the rest of it is the engine's."""
    found = reached(at_context, rates(), observed(0.3 * LIMIT_TOK_S))
    assert found.holds == "engine"
    assert found.gap_s == pytest.approx((1 / 0.3 - 1.0) / LIMIT_TOK_S)
    assert found.of_arithmetic is not None
    assert found.of_arithmetic.value == pytest.approx(
        0.3 * LIMIT_TOK_S * (14e9 + 1100 * KV_BYTES_A_TOKEN) / 980e12
    )


def test_where_arithmetic_is_slow_it_is_arithmetic() -> None:
    """2.9 ms for 14.6 G operations at 5 Top/s, 2.1 ms for as many bytes at 7 TB/s; 280 tok/s: 82 %."""
    found = reached(at_context, rates(7e12, 5e12), observed(280.0))
    assert found.holds == "arithmetic"
    assert found.of_arithmetic is not None
    assert found.of_limit.value == found.of_arithmetic.value == pytest.approx(280.0 * STEP_BYTES / 5e12)
    assert found.of_bandwidth.value == pytest.approx(280.0 * STEP_BYTES / 7e12)


def test_more_than_can_be_is_said_and_not_explained_away() -> None:
    found = reached(at_context, rates(), observed(1.2 * LIMIT_TOK_S))
    assert found.holds == "beyond"
    assert found.of_limit.value == pytest.approx(1.2)
    assert found.gap_s == 0.0


def test_a_little_above_by_chance_is_at_the_limit() -> None:
    """1 % above, by an interval of 2 % either way."""
    assert reached(at_context, rates(), observed(1.01 * LIMIT_TOK_S)).holds == "memory"


def test_the_servers_own_drafts_tell_the_tokens_of_a_step() -> None:
    """1,000 tokens, 750 of them accepted drafts: 250 steps of four, each of 1 + 1,000 / 250 positions."""
    run = observed(2.0 * LIMIT_TOK_S, drafts=Drafts(generated=1000, drafted=1000, accepted=750))
    found = reached(at_context, rates(), run)
    assert (found.tokens_a_step, found.tokens_by, found.verified) == (4.0, "server", 5.0)
    assert found.steps_s == pytest.approx(0.5 * LIMIT_TOK_S)
    assert found.spent.operations == pytest.approx(5 * STEP_BYTES)
    assert found.of_bandwidth.value == found.of_limit.value == pytest.approx(0.5)
    assert found.holds == "engine"


def test_a_server_without_drafts_says_that_a_step_is_a_token() -> None:
    found = reached(at_context, rates(), observed(100.0, drafts=Drafts(1000, 0, 0)))
    assert (found.tokens_a_step, found.tokens_by) == (1.0, "server")


def test_a_drafting_models_steps_count() -> None:
    """Four steps of a model as large as the other: five times the bytes."""
    run = observed(100.0, drafts=Drafts(generated=1000, drafted=1000, accepted=750))
    found = reached(at_context, rates(), run, draft=at_context(1100))
    assert found.moved_bytes_s == pytest.approx(25.0 * 5 * STEP_BYTES)


def test_tokens_too_close_together_are_of_one_step() -> None:
    """Steps of 8 ms that hand out three tokens each, 0.1 ms apart: 375 tok/s where 242 are the limit."""
    gaps = np.tile([7.8, 0.1, 0.1], 80)
    found = reached(at_context, rates(), observed(375.0, gaps_ms=gaps, gap_tokens=np.ones(240, np.int64)))
    assert (found.tokens_a_step, found.tokens_by) == (3.0, "gaps")
    assert found.steps_s == pytest.approx(125.0)
    assert found.verified == 3.0
    assert found.holds == "engine"


def test_several_tokens_an_event_are_of_as_many_steps_as_fit() -> None:
    """Six tokens each 16 ms: four steps of 4.16 ms fit, so that a step gave at least 1.5 of them."""
    run = observed(375.0, gaps_ms=np.full(40, 16.0), gap_tokens=np.full(40, 6))
    assert reached(at_context, rates(), run).tokens_a_step == 1.5


def test_tokens_that_are_handed_out_in_bundles_are_no_speculation() -> None:
    """Four tokens each 40 ms: there was time for four steps."""
    run = observed(100.0, gaps_ms=np.full(50, 40.0), gap_tokens=np.full(50, 4))
    found = reached(at_context, rates(), run)
    assert (found.tokens_a_step, found.speculates) == (1.0, False)


def test_a_late_event_now_and_then_is_no_speculation() -> None:
    """One gap in twenty is short, since the event before it came late."""
    gaps = np.tile([8.0] * 18 + [15.0, 1.0], 10)
    found = reached(at_context, rates(), observed(125.0, gaps_ms=gaps, gap_tokens=np.ones(200, np.int64)))
    assert (found.tokens_a_step, found.tokens_by) == (1.0, "gaps")


def test_several_streams_share_the_weights() -> None:
    """16 streams of 150 tok/s: 150 steps a second of 14 GB and 16 times the KV of 1,100 tokens."""
    found = reached(at_context, rates(), observed(150.0, streams=16))
    step = 14e9 + 16 * 1100 * KV_BYTES_A_TOKEN
    assert found.moved_bytes_s == pytest.approx(150.0 * step)
    assert found.of_bandwidth.value == pytest.approx(150.0 * step / 3.5e12)
    assert found.plain.stream_tok_s == pytest.approx(3.5e12 / step)


def test_a_cache_lowers_the_least_time_and_not_the_utilisation() -> None:
    """Of 14.58 GB a cache may hold 7: the least time halves, what is moved stays."""
    found = reached(at_context, rates(cache_bytes=7_000_000_000), observed(1.1 * LIMIT_TOK_S))
    assert found.of_bandwidth.value == pytest.approx(1.1)
    assert found.of_limit.value == pytest.approx(1.1 * (STEP_BYTES - 7e9) / STEP_BYTES)
    assert found.holds == "engine"


def test_a_prompt_takes_its_least_without_what_a_cache_held() -> None:
    """750 of 1,000 tokens, 13 G operations each and what attention takes, at 980 Top/s: at least 9.95 ms."""
    found = reached(at_context, rates(), observed(100.0, cached_tokens=250.0))
    assert found.prompt is not None
    assert found.prompt.prompt_tokens == 750
    operations = 750 * 13e9 + 1e9 + 750**2 / 2 * KV_BYTES_A_TOKEN
    assert found.prompt.ttft_s == pytest.approx(operations / 980e12, rel=1e-3)
    assert reached(at_context, rates(), observed(100.0, prompt_tokens=None)).prompt is None


def test_without_an_arithmetic_rate_its_share_is_unknown() -> None:
    found = reached(at_context, rates(arithmetic=None), observed(100.0))
    assert found.of_arithmetic is None
    assert found.of_limit.value == pytest.approx(100.0 / LIMIT_TOK_S)


def test_an_open_interval_stays_open() -> None:
    few = Estimate(100.0, None, None, False, 2, 6)
    found = reached(at_context, rates(), observed(100.0, decode_tok_s=few))
    assert (found.of_limit.lo, found.of_limit.hi) == (None, None)


def test_a_run_without_a_decode_rate_is_refused() -> None:
    none = Estimate(float("nan"), None, None, False, 0, 6)
    with pytest.raises(ValueError, match="no decode rate"):
        reached(at_context, rates(), observed(100.0, decode_tok_s=none))


@pytest.mark.parametrize("times", [1.3, 2.2, 5.0, 40.0])
def test_tokens_that_come_evenly_and_too_fast_are_no_speculation(times: float) -> None:
    """Of another model or machine than was said: tokens of one step would come together."""
    found = reached(at_context, rates(), observed(LIMIT_TOK_S * times))
    assert found.tokens_a_step == 1.0
    assert found.holds == "beyond"
