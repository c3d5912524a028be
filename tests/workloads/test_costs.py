"""Sums of words' tokens: believed only where the tokenizer itself agrees."""

import pytest

from paceline.workloads.corpus import english
from paceline.workloads.costs import PREFIX_VOCABULARY, measure, word_costs
from paceline.workloads.tokenizer import LocalTokenizer
from tests.support.tokenizers import trained


@pytest.mark.parametrize("family", ["byte_bpe", "metaspace_bpe", "unigram", "wordpiece"])
def test_costs_sum_to_what_the_tokenizer_counts(family: str) -> None:
    corpus, tokenizer = english(), LocalTokenizer(family, trained(family))
    costs = measure(corpus, tokenizer)
    assert costs is not None
    assert costs.cumulative[-1] == tokenizer.count(corpus.text)
    for k in (0, 17, 4000):
        first, end = corpus.sentence_at[k], corpus.sentence_at[k + 2]
        expected = tokenizer.count(corpus.words(first, end)) - costs.at_start[k]
        assert costs.cumulative[end] - costs.cumulative[first] == expected
    word = costs.prefix_words[5]
    assert tokenizer.count(word.capitalize()) == costs.opening[5]
    assert tokenizer.count(f"So {word.capitalize()}") - tokenizer.count("So") == costs.capital[5]
    assert tokenizer.count(f"So {word}.") - tokenizer.count("So") == costs.closing[5]
    assert len(costs.prefix_words) == PREFIX_VOCABULARY
    assert all(tokenizer.count(f"so {word}") - tokenizer.count("so") == 1 for word in costs.filler[::50])


@pytest.mark.parametrize("family", ["across_spaces", "bytes_only"])
def test_tokenizers_that_do_otherwise_are_found_out(family: str) -> None:
    assert measure(english(), LocalTokenizer(family, trained(family))) is None


def test_words_cost_one_each() -> None:
    costs = word_costs(english())
    assert costs.cumulative[1234] == 1234
    assert set(costs.opening) == set(costs.closing) == {1}
    assert len(set(costs.prefix_words)) == PREFIX_VOCABULARY
