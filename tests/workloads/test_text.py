"""Prompts: real English, exact, different from each other, and the same in any order."""

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from paceline.errors import ConfigError
from paceline.workloads.corpus import english
from paceline.workloads.text import PromptWriter
from paceline.workloads.tokenizer import LocalTokenizer, load_tokenizer
from tests.support.tokenizers import FAMILIES, trained

WORDS = load_tokenizer("words")
SHORT_AND_LONG = (1, 2, 3, 4, 5, 6, 9, 17, 100, 511)


@pytest.mark.parametrize(
    ("family", "shared", "unique"),
    [
        *[("words", shared, unique) for shared in (0, 40) for unique in (True, False)],
        *[("byte_bpe", shared, unique) for shared in (0, 40) for unique in (True, False)],
        ("metaspace_bpe", 0, True),
        ("unigram", 40, True),
        ("wordpiece", 0, False),
        ("across_spaces", 40, True),
        ("bytes_only", 0, False),
    ],
)
def test_lengths_are_exact_by_the_tokenizers_own_count(family: str, shared: int, unique: bool) -> None:
    tokenizer = WORDS if family == "words" else LocalTokenizer(family, trained(family))
    writer = PromptWriter(tokenizer, 5)
    assert not writer.approximate
    common = writer.write(0, 1, common_tokens=shared, unique=False)[:shared]  # as many letters, at least
    for index in range(3 if writer.encodes_each else 12):
        for n_tokens in SHORT_AND_LONG:
            text = writer.write(index, n_tokens, common_tokens=shared, unique=unique)
            assert tokenizer.count(text) == shared + n_tokens
            assert text.startswith(common)
            # Chat templates strip what they are given, and the count would then be off.
            assert text == text.strip()


@pytest.mark.parametrize("family", FAMILIES)
def test_only_odd_tokenizers_have_each_prompt_encoded(family: str) -> None:
    writer = PromptWriter(LocalTokenizer(family, trained(family)), 1)
    assert writer.encodes_each == (family in ("across_spaces", "bytes_only"))


def test_a_prompt_depends_on_seed_and_index_alone() -> None:
    there = PromptWriter(WORDS, 3)
    back = PromptWriter(WORDS, 3)
    forward = [there.write(i, 50) for i in range(30)]
    backward = [back.write(i, 50) for i in reversed(range(30))]
    assert forward == backward[::-1]
    assert PromptWriter(WORDS, 4).write(0, 50) != forward[0]


def test_what_a_seed_writes_never_changes() -> None:
    expected = "Offers warm recollect convey. Poor Charlotte! it was melancholy to leave her to such"
    assert PromptWriter(WORDS, 1).write(0, 14) == expected


def test_it_is_runs_of_the_corpus_that_begin_with_a_sentence() -> None:
    corpus = english()
    starts = {corpus.words(a, a + 3) for a in corpus.sentence_at[:-3]}
    writer = PromptWriter(WORDS, 8)
    places = set()
    for index in range(50):
        body = writer.write(index, 60, unique=False)
        assert " ".join(body.split()[:3]) in starts
        assert body[:20] in corpus.text
        places.add(corpus.text.index(body[:20]))
    assert len(places) > 45


def test_no_two_requests_begin_alike() -> None:
    writer = PromptWriter(WORDS, 2)
    beginnings = {" ".join(writer.write(i, 6).split()[:4]) for i in range(5000)}
    assert len(beginnings) == 5000
    first_words = {beginning.split()[0] for beginning in beginnings}
    assert len(first_words) > 2500


def test_the_shared_text_is_shared_and_what_follows_is_not() -> None:
    texts = [PromptWriter(WORDS, 2).write(i, 20, common_tokens=64).split() for i in range(500)]
    assert all(len(words) == 84 for words in texts)
    assert len({" ".join(words[:64]) for words in texts}) == 1
    assert len({" ".join(words[64:68]) for words in texts}) == 500
    assert PromptWriter(WORDS, 3).write(0, 20, common_tokens=64).split()[:64] != texts[0][:64]


def test_without_a_tokenizer_lengths_are_estimates_and_say_so() -> None:
    writer = PromptWriter(load_tokenizer(None), 1)
    assert writer.approximate
    assert len(writer.write(0, 400, common_tokens=100).split()) == 375
    assert len(writer.write(0, 1, common_tokens=100).split()) == 76
    assert len(writer.write(0, 400).split()) == 300


def test_a_length_that_no_text_has_is_refused() -> None:
    # One token for each ten thousand characters.
    blind = Tokenizer(models.WordLevel({"the": 0}, unk_token="the"))
    blind.pre_tokenizer = pre_tokenizers.FixedLength(10_000)
    with pytest.raises(ConfigError, match="no prompt of exactly 900 tokens") as caught:
        PromptWriter(LocalTokenizer("blind", blind), 1).write(0, 900)
    assert "approximate" in (caught.value.hint or "")


@pytest.mark.parametrize("family", ["words", "byte_bpe", "unigram", "across_spaces", "bytes_only"])
def test_composed_texts_are_exact_with_common_text_and_an_ending(family: str) -> None:
    tokenizer = WORDS if family == "words" else LocalTokenizer(family, trained(family))
    writer = PromptWriter(tokenizer, 5)
    ending = "Write the text above again, word for word."
    for place in range(3):
        for n_tokens in (60, 131):
            for common in (0, 50):
                text = writer.write(place, n_tokens, common_tokens=common, ending=ending)
                off = 1 if family == "across_spaces" else 0
                assert tokenizer.count(text) == pytest.approx(common + n_tokens, abs=off)
                assert text.endswith(f" {ending}")
        plain = writer.write(place, 60)
        assert tokenizer.count(plain) == 60


def test_common_texts_begin_alike_whatever_their_length() -> None:
    writer = PromptWriter(WORDS, 5)
    long = writer.write(1, 20, common_tokens=200).split()
    for common in (10, 90, 150):
        words = writer.write(2, 20, common_tokens=common).split()
        assert words[:common] == long[:common]
        assert words[common:] != long[common : common + 20]


def test_texts_of_the_same_place_differ_in_their_beginning_alone_by_salt() -> None:
    one, other = (PromptWriter(WORDS, 5, prefix_salt=salt).write(3, 40) for salt in (0, 1))
    assert one.split()[:4] != other.split()[:4]
    assert one.split()[4:] == other.split()[4:]
    plain = [PromptWriter(WORDS, 5, prefix_salt=salt).write(3, 40, unique=False) for salt in (0, 1)]
    assert plain[0] == plain[1]
