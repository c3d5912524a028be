"""The corpus: whole English sentences, and nothing that a text file of a library would carry around them."""

import hashlib
import re
from pathlib import Path

import paceline.workloads
from paceline.workloads.corpus import english


def test_words_and_sentences_are_where_the_tables_say() -> None:
    corpus = english()
    words = corpus.text.split(" ")
    assert len(corpus.word_at) == len(words) + 1
    assert corpus.sentence_at[-1] == len(words)
    for i in (0, 1, 1000, len(words) - 3):
        assert corpus.words(i, i + 3) == " ".join(words[i : i + 3])
    assert corpus.words(0, len(words)) == corpus.text
    for first, end in zip(corpus.sentence_at, corpus.sentence_at[1:], strict=False):
        sentence = corpus.words(first, end)
        assert re.fullmatch(r"['(]?[A-Z].*[.!?][')]*", sentence), sentence


def test_it_is_clean_and_described() -> None:
    corpus = english()
    assert corpus.text.isascii()
    assert not re.search(
        r"gutenberg|copyright|\[illustration|chapter [ivx]+|http|[_*\[\]{}<>]|  ", corpus.text, re.IGNORECASE
    )
    data = Path(paceline.workloads.__file__).parent / "data"
    unpacked = "".join(
        corpus.words(a, b) + "\n" for a, b in zip(corpus.sentence_at, corpus.sentence_at[1:], strict=False)
    )
    note = (data / "SOURCE.md").read_text()
    assert hashlib.sha256(unpacked.encode()).hexdigest() in note
    assert f"{len(corpus.sentence_at) - 1:,} sentences, {corpus.sentence_at[-1]:,} words" in note
    assert (data / "english.txt.gz").stat().st_size < 400_000


def test_common_words_are_ordered_and_plain() -> None:
    words = english().common_words
    assert words[0] == "the"
    assert len(set(words)) == len(words) > 4096
    assert all(re.fullmatch(r"[a-z]{3,}", word) for word in words)
