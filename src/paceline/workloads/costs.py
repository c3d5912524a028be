"""What each word of the corpus costs in tokens, so that a prompt of exact length needs no tokenizer.

With nearly every tokenizer no token reaches across the space between two words, and then the tokens of a text
are the sum of its words' tokens. That is not assumed: `measure` encodes the whole corpus, and every kind of
joint that a prompt can have, and says None when a tokenizer does otherwise. Such prompts are then fitted one
by one (fit.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from paceline.workloads.corpus import Corpus
from paceline.workloads.tokenizer import LocalTokenizer

# Four words of this many carry 48 bits: every request below 2^48 has its own prefix.
PREFIX_VOCABULARY = 4096
PREFIX_WORDS = 4


@dataclass(frozen=True)
class Costs:
    """Tokens of the pieces of a prompt.

    `cumulative[i]`: tokens of words 0..i-1 when each follows a space; `at_start[k]`: tokens that the first
    word of sentence k costs more when nothing stands before it; `prefix_words`: 4,096 words for unique
    prefixes, whose tokens are, entry by entry: `opening` capitalised with nothing before, `capital`
    capitalised after a space, `middle` after a space, `closing` after a space and with a full stop; `filler`:
    words of one token after a space.
    """

    cumulative: Sequence[int]
    at_start: list[int]
    prefix_words: list[str]
    opening: list[int]
    capital: list[int]
    middle: list[int]
    closing: list[int]
    filler: list[str]


def word_costs(corpus: Corpus) -> Costs:
    """One token a word."""
    words = corpus.common_words[:PREFIX_VOCABULARY]
    one = [1] * len(words)
    sentences = len(corpus.sentence_at) - 1
    return Costs(range(len(corpus.word_at)), [0] * sentences, words, one, one, one, one, words)


def measure(corpus: Corpus, tokenizer: LocalTokenizer) -> Costs | None:
    """The costs under a tokenizer; None when its tokens are not a sum over words."""
    per_word = _in_context(corpus, tokenizer)
    if per_word is None:
        return None
    candidates = corpus.common_words
    capitals = [word.capitalize() for word in candidates]
    opening = tokenizer.count_many(capitals)
    capital = _after_a_word(tokenizer, capitals)
    middle = _after_a_word(tokenizer, candidates)
    closing = _after_a_word(tokenizer, [f"{word}." for word in candidates])
    # Short words in tokens first, so that a short prompt still has room for its prefix.
    order = np.argsort(opening + capital + middle + closing, kind="stable")[:PREFIX_VOCABULARY]
    filler = [candidates[i] for i in order if middle[i] == 1]
    firsts = [corpus.sentence_at[k] for k in range(len(corpus.sentence_at) - 1)]
    alone = tokenizer.count_many([corpus.words(first, first + 1) for first in firsts])
    costs = Costs(
        cumulative=[0, *np.cumsum(per_word).tolist()],
        at_start=(alone - per_word[firsts]).tolist(),
        prefix_words=[candidates[i] for i in order],
        opening=opening[order].tolist(),
        capital=capital[order].tolist(),
        middle=middle[order].tolist(),
        closing=closing[order].tolist(),
        filler=filler,
    )
    return costs if filler and _joints_hold(corpus, tokenizer, costs) else None


def _after_a_word(tokenizer: LocalTokenizer, texts: list[str]) -> npt.NDArray[np.int64]:
    return tokenizer.count_many([f"The {text}" for text in texts]) - tokenizer.count("The")


def _in_context(corpus: Corpus, tokenizer: LocalTokenizer) -> npt.NDArray[np.int64] | None:
    """Tokens of each word where it stands, shape (words,); None when a token reaches across a space."""
    offsets = tokenizer.offsets(corpus.text)
    if not len(offsets):
        return None
    letters = np.frombuffer(corpus.text.encode("ascii"), dtype=np.uint8)
    starts, ends = offsets[:, 0], offsets[:, 1]
    # A token may begin with the space that parts its word from the one before.
    starts = starts + (letters[np.minimum(starts, len(letters) - 1)] == ord(" "))
    ends = np.maximum(ends, starts + 1)
    word_at = np.asarray(corpus.word_at)
    first = np.searchsorted(word_at, starts, side="right") - 1
    last = np.searchsorted(word_at, ends - 1, side="right") - 1
    if np.any(first != last) or first.max() >= len(word_at) - 1:
        return None
    per_word = np.bincount(first, minlength=len(word_at) - 1)
    return per_word if per_word.min() > 0 else None


def _joints_hold(corpus: Corpus, tokenizer: LocalTokenizer, costs: Costs) -> bool:
    """Each last word before, and each first word after, a place where a prompt may be joined."""
    bounds = corpus.sentence_at
    cumulative = costs.cumulative
    firsts = {corpus.words(at, at + 1): cumulative[at + 1] - cumulative[at] for at in bounds[:-1]}
    lasts = {corpus.words(at - 1, at) for at in bounds[1:]}
    few_firsts = list(firsts)[:4]
    few_lasts = ["him.", "so!", "it?", f"{costs.prefix_words[0]}.", costs.prefix_words[1]]
    # A cut may leave any word last, so words of the prefix vocabulary stand for those.
    pairs = list(
        chain(
            ((last, first) for last in sorted(lasts) for first in few_firsts),
            ((last, first) for last in few_lasts for first in firsts),
            ((word, costs.filler[0]) for word in costs.prefix_words[::8]),
        )
    )
    cost_of = {**firsts, costs.filler[0]: 1}
    left = tokenizer.count_many([last for last, _ in pairs])
    joined = tokenizer.count_many([f"{last} {first}" for last, first in pairs])
    return bool(np.all(joined - left == np.array([cost_of[first] for _, first in pairs])))
