"""Cut a text so that it has exactly so many tokens, for tokenizers whose tokens reach across spaces."""

from collections.abc import Callable, Iterator

from paceline.errors import ConfigError
from paceline.workloads.tokenizer import LocalTokenizer

# Characters around the n-th token in which a cut is looked for.
_REACH = 64
_SHORTEST = ("I", "A", "The", "It", "a", "the")
_ENDINGS = (" a", " I", " it", ".", "!", "...", " , a")


def fit(tokenizer: LocalTokenizer, write: Callable[[int], str], n_tokens: int, kept: int) -> str:
    """A text of exactly `n_tokens` tokens, verified by encoding.

    `write(words)` gives a text of so many words, and longer texts begin as shorter ones do; the first `kept`
    characters are never cut. Raises ConfigError when no cut gives that number.
    """
    words = max(8, n_tokens)
    text = write(words)
    offsets = tokenizer.offsets(text)
    while len(offsets) < n_tokens + 8 and words < 64 * (n_tokens + 8):
        words *= 2
        text = write(words)
        offsets = tokenizer.offsets(text)
    if len(offsets) > n_tokens:
        for cut in _cuts(text, int(offsets[n_tokens - 1, 1]), kept):
            count = tokenizer.count(text[:cut])
            if count == n_tokens:
                return text[:cut]
            if count < n_tokens:
                for ending in _ENDINGS:
                    if tokenizer.count(text[:cut] + ending) == n_tokens:
                        return text[:cut] + ending
    for word in _SHORTEST:
        if kept == 0 and tokenizer.count(word) == n_tokens:
            return word
    raise ConfigError(
        f"tokenizer {tokenizer.name!r}: no prompt of exactly {n_tokens} tokens could be made",
        "ask for longer prompts, or leave the tokenizer out for approximate lengths",
    )


def _cuts(text: str, near: int, kept: int) -> Iterator[int]:
    """Places to cut, nearest first; never after a space, since chat templates strip it."""
    for distance in range(_REACH):
        for cut in dict.fromkeys((near - distance, near + distance)):
            if max(kept, 1) <= cut <= len(text) and not text[cut - 1].isspace():
                yield cut
