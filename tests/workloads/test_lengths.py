"""Distributions of lengths: parsing, moments, errors."""

import numpy as np
import pytest

from paceline.errors import ConfigError
from paceline.workloads.lengths import MAX_TOKENS, Lengths


@pytest.mark.parametrize(
    ("text", "mean", "std", "low", "high"),
    [
        ("512", 512, 0, 512, 512),
        ("uniform:100:200", 150, 101 / 12**0.5, 100, 200),
        ("normal:512:64", 512, 64, 150, 900),
        ("lognormal:512:0.5", 512 * np.exp(0.125), None, 30, 10_000),
        ("choice:128,512,2048", 896, None, 128, 2048),
    ],
)
def test_samples_have_the_distributions_moments(
    text: str, mean: float, std: float | None, low: int, high: int
) -> None:
    lengths = Lengths.parse(text)
    drawn = lengths.sample(3, "prompt_tokens", 0, 40_000)
    assert drawn.dtype == np.int64
    assert drawn.mean() == pytest.approx(mean, rel=0.02)
    assert lengths.mean() == pytest.approx(mean)
    if std is not None:
        assert drawn.std() == pytest.approx(std, rel=0.03, abs=1e-9)
    assert low <= drawn.min()
    assert drawn.max() <= high
    assert str(lengths) == text
    assert Lengths.parse(str(lengths)) == lengths


@pytest.mark.parametrize("text", ["normal:5000:800", "lognormal:5000:0.8"])
def test_the_percentile_that_is_said_is_that_of_samples(text: str) -> None:
    lengths = Lengths.parse(text)
    said = float(lengths.words().removesuffix(")").rpartition(" ")[2].replace(",", ""))
    assert np.percentile(lengths.sample(3, "x", 0, 40_000), 90) == pytest.approx(said, rel=0.02)


def test_both_ends_of_uniform_and_each_choice_are_drawn_evenly() -> None:
    _, counts = np.unique(Lengths.parse("uniform:1:4").sample(1, "x", 0, 40_000), return_counts=True)
    assert counts == pytest.approx([10_000] * 4, rel=0.05)
    values, counts = np.unique(Lengths.parse("choice:5,9").sample(1, "x", 0, 10_000), return_counts=True)
    assert values.tolist() == [5, 9]
    assert counts == pytest.approx([5000, 5000], rel=0.05)


def test_the_median_of_lognormal_is_what_was_typed() -> None:
    drawn = Lengths.parse("lognormal:512:1").sample(5, "x", 0, 40_000)
    assert np.median(drawn) == pytest.approx(512, rel=0.03)
    assert np.log(drawn).std() == pytest.approx(1, rel=0.03)


def test_samples_stay_within_the_limits() -> None:
    assert Lengths.parse("normal:2:500").sample(1, "x", 0, 5000).min() == 1
    assert Lengths.parse("lognormal:9000000:10").sample(1, "x", 0, 5000).max() == MAX_TOKENS


def test_a_sample_depends_on_seed_and_place_alone() -> None:
    lengths = Lengths.parse("normal:512:64")
    whole = lengths.sample(9, "x", 0, 50)
    assert np.array_equal(whole[20:35], lengths.sample(9, "x", 20, 15))
    assert not np.array_equal(whole, lengths.sample(10, "x", 0, 50))
    assert not np.array_equal(whole, lengths.sample(9, "y", 0, 50))
    assert lengths.sample(9, "x", 0, 0).shape == (0,)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not a length"),
        ("many", "not a length"),
        ("0", "between 1"),
        ("-5", "between 1"),
        ("99999999", "between 1"),
        ("1.5", "not a length"),
        ("gauss:1:2", "not a length"),
        ("uniform:200:100", "above the upper end"),
        ("uniform:100", "two numbers"),
        ("uniform:1:2:3", "two numbers"),
        ("normal:512:x", "not a number"),
        ("normal:512:-1", "spread"),
        ("normal:512:nan", "spread"),
        ("lognormal:512:11", "spread"),
        ("choice:", "whole number"),
        ("choice:1,,2", "whole number"),
        ("uniform:_:3", "whole number"),
    ],
)
def test_what_is_no_length_is_refused_with_how_it_is_written(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Lengths.parse(text, "--prompt-tokens")
    assert said in caught.value.message
    assert caught.value.message.startswith("--prompt-tokens: ")
    assert "write" in (caught.value.hint or "")


def test_numbers_and_lengths_are_taken_as_they_are() -> None:
    assert str(Lengths.parse(7)) == "7"
    assert Lengths.parse(Lengths.parse("8")) == Lengths("fixed", (8.0,))
    with pytest.raises(ConfigError):
        Lengths.parse(True)
