"""Exact lengths where tokens reach across spaces."""

import pytest
from tokenizers import Tokenizer, models

from paceline.errors import ConfigError
from paceline.workloads.corpus import english
from paceline.workloads.fit import fit
from paceline.workloads.tokenizer import LocalTokenizer
from tests.support.tokenizers import trained


@pytest.mark.parametrize("family", ["across_spaces", "bytes_only"])
@pytest.mark.parametrize("n_tokens", [1, 2, 13, 200])
def test_the_tokenizer_counts_what_was_asked(family: str, n_tokens: int) -> None:
    tokenizer = LocalTokenizer(family, trained(family))
    text = fit(tokenizer, lambda words: english().words(500, 500 + words), n_tokens, 0)
    assert tokenizer.count(text) == n_tokens
    assert english().text.find(text[:-4]) >= 0
    assert text == text.strip()


def test_what_must_be_kept_is_never_cut() -> None:
    tokenizer = LocalTokenizer("bytes", trained("bytes_only"))
    with pytest.raises(ConfigError, match="no prompt of exactly 5 tokens"):
        fit(tokenizer, lambda words: english().words(0, words), 5, 40)


def test_a_tokenizer_that_sees_no_text_is_refused() -> None:
    tokenizer = LocalTokenizer("blind", Tokenizer(models.BPE()))
    with pytest.raises(ConfigError, match="'blind'"):
        fit(tokenizer, lambda words: english().words(0, words), 5, 0)
