import json
import math
from dataclasses import replace

import numpy as np
import pytest

from paceline.advisor.evidence import pooled
from paceline.report.board_curves import (
    SIZES,
    Named,
    answer_chart,
    answer_lines,
    ladder_chart,
    ladder_lines,
    ordered,
    prompt_chart,
    prompt_lines,
)
from paceline.report.line_sentences import answer_words
from tests.report.board_samples import TRUTHS, Truth, digest, evidence


def named(*truths: Truth, **fields: int) -> list[Named]:
    return [
        Named(place + 1, truth.provider, str(truth.key), evidence(truth, **fields))
        for place, truth in enumerate(truths)
    ]


def test_the_time_to_an_answer_is_that_of_its_first_token_and_the_rest_at_its_own_rate() -> None:
    (offer,) = named(TRUTHS[0])
    (line,) = answer_lines([offer])
    first_ms, rate = offer.evidence.columns["ttfat_ms"], offer.evidence.columns["output_tok_s"]
    for size, point in zip(SIZES, line.points, strict=True):
        expected = float(np.median(first_ms + (size - 1) * 1e3 / rate))
        assert point.x == size
        assert point.y == pytest.approx(expected)
        assert point.lo is not None
        assert point.hi is not None
        assert point.lo < expected < point.hi


def test_a_planted_crossing_is_found_where_it_lies() -> None:
    """A answers after 100 ms at 50 tok/s, B after 1,100 ms at 500 tok/s: 1,000 ms / 18 ms are 57 tokens."""
    a = Truth("m", "a", "standard", 100.0, 50.0, 1.0, 1.0, None, spread=0.05, prefill_ms_per_token=0.0)
    b = replace(a, provider="b", ttft_ms=1_100.0, tok_s=500.0)
    offers = [
        Named(place, one.provider, one.provider, _without_reasoning(one))
        for place, one in enumerate((a, b), 1)
    ]
    assert answer_words(answer_lines(offers)) == "a is done first up to about 50 tokens, b from about 100 on."


def _without_reasoning(truth: Truth):  # type: ignore[no-untyped-def]
    one = digest(truth, 400)
    return pooled([replace(one, sample={**one.sample, "ttfat_ms": one.sample["ttft_ms"]})])[0]


def test_requests_that_were_cut_make_answers_no_faster() -> None:
    truth = replace(TRUTHS[0], failing=0.3)
    one = digest(truth, 400)
    (line,) = answer_lines([Named(1, "a", "a", pooled([one])[0])])
    columns = one.sample
    well = np.median(columns["ttfat_ms"][columns["outcome"] == 0.0])
    assert line.points[0].y > float(well)


def test_an_offer_that_does_not_stream_has_no_line() -> None:
    one = digest(TRUTHS[0], 50)
    silent = {**one.sample, "ttfat_ms": np.full(50, np.nan), "output_tok_s": np.full(50, np.nan)}
    offers = [Named(1, "a", "a", pooled([replace(one, sample=silent)])[0])]
    assert answer_lines(offers) == []


def test_ttft_grows_with_the_prompt_as_planted() -> None:
    steep = replace(TRUTHS[0], ttft_ms=500.0, spread=0.02, prefill_ms_per_token=0.1)
    (line,) = prompt_lines(named(steep))
    low, high = line.points[0], line.points[-1]
    assert (high.y - low.y) / (high.x - low.x) == pytest.approx(0.1, rel=0.1)
    assert [point.x for point in line.points] == sorted(point.x for point in line.points)


def test_prompts_of_one_size_give_no_line() -> None:
    one = digest(TRUTHS[0], 200)
    alike = {**one.sample, "prompt_tokens": np.full(200, 512.0)}
    assert prompt_lines([Named(1, "a", "a", pooled([replace(one, sample=alike)])[0])]) == []
    assert prompt_lines(named(TRUTHS[0], runs=1, n=40)) == []


def test_a_bin_without_prompts_is_no_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """Edges are quantiles, which may lie between two sizes that many prompts have."""
    one = digest(TRUTHS[0], 200)
    tokens = np.repeat([300.0, 560.0], 100)
    monkeypatch.setattr(
        "paceline.report.board_curves._bins", lambda _: np.array([300.0, 301.0, 560.0, 561.0])
    )
    of = pooled([replace(one, sample={**one.sample, "prompt_tokens": tokens})])[0]
    (line,) = prompt_lines([Named(1, "a", "a", of)])
    assert [point.x for point in line.points] == [300.0, 560.0]


def test_a_ladder_goes_as_far_as_the_sample_reaches() -> None:
    (few,), (many,) = (
        ladder_lines(named(TRUTHS[0], runs=1, n=60), "ttft_ms"),
        ladder_lines(named(TRUTHS[0]), "ttft_ms"),
    )
    assert few.points[-1].x == pytest.approx(-math.log10(0.02))
    assert many.points[-1].x == pytest.approx(-math.log10(0.005))
    values = named(TRUTHS[0])[0].evidence.values("ttft_ms")
    at = {point.x_said: point.y for point in many.points}
    assert at["p95"] == pytest.approx(float(np.quantile(values, 0.95)))


def test_lines_are_named_by_their_order_at_a_place() -> None:
    lines = answer_lines(named(*TRUTHS[:4]))
    first = ordered(lines, 500.0)[0]
    assert first.full == "gpt-oss-120b @ wafer (fast)"
    assert ordered(lines, 500.0, lowest_first=False)[-1] == first


def test_charts_draw_every_line() -> None:
    offers = named(*TRUTHS)
    for spec in (
        answer_chart(answer_lines(offers)),
        prompt_chart(prompt_lines(offers), offers),
        ladder_chart(ladder_lines(offers, "ttft_ms"), "TTFT, ms"),
    ):
        text = json.dumps(spec)
        assert all(str(truth.key) in text for truth in TRUTHS)
