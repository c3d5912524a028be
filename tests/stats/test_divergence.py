import numpy as np
import pytest

from paceline.stats.divergence import Words, common_characters, common_pieces, share_alike


@pytest.mark.parametrize(
    ("a", "b", "n"),
    [
        ("", "", 0),
        ("", "x", 0),
        ("same", "same", 4),
        ("same", "same and more", 4),
        ("abc", "abd", 2),
        ("xbc", "abc", 0),
        ("naïve café 🚀!", "naïve café 🚀?", 12),
    ],
)
def test_characters_in_common(a: str, b: str, n: int) -> None:
    assert common_characters(a, b) == common_characters(b, a) == n


def test_characters_in_common_as_counted_one_by_one() -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        a, b = ("".join(rng.choice(list("ab"), rng.integers(0, 12), p=[0.9, 0.1])) for _ in range(2))
        alike = 0
        while alike < min(len(a), len(b)) and a[alike] == b[alike]:
            alike += 1
        assert common_characters(a, b) == alike


def test_only_whole_words_count() -> None:
    words = Words()
    assert common_pieces("one two three", "one two four", words) == 2
    assert common_pieces("one cat", "one cats", words) == 1
    assert common_pieces("one two", "one two", words) == 2
    assert common_pieces("", "one", words) == 0


def test_the_share_is_of_the_longer_text() -> None:
    assert share_alike("ab", "abcd") == 0.5
    assert share_alike("ab", "ab") == share_alike("", "") == 1.0
    assert share_alike("x", "y") == 0.0
