"""The English text that prompts are made of (data/SOURCE.md says where it comes from)."""

import gzip
import re
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files


@dataclass(frozen=True)
class Corpus:
    """One string of words parted by single spaces, and where its words and sentences begin.

    `word_at[i]` is the character at which word i begins; the last entry is one past the end plus one, so that
    `text[word_at[i]:word_at[j] - 1]` is words i..j-1 for every i < j. `sentence_at[k]` is the first word of
    sentence k; the last entry is the number of words.
    """

    text: str
    word_at: Sequence[int]
    sentence_at: list[int]

    def words(self, first: int, end: int) -> str:
        """Words first..end-1 as they stand in the text."""
        return self.text[self.word_at[first] : self.word_at[end] - 1]

    @cached_property
    def common_words(self) -> list[str]:
        """Distinct lower-case words of three letters or more, most frequent first, then by the alphabet."""
        counted = Counter(re.findall(r"\b[a-z]{3,}\b", self.text))
        return sorted(counted, key=lambda word: (-counted[word], word))


@cache
def english() -> Corpus:
    """The corpus of the package; unpacked once a process."""
    packed = files("paceline.workloads").joinpath("data/english.txt.gz").read_bytes()
    sentences = gzip.decompress(packed).decode("ascii").splitlines()
    # A list of as many Python numbers is five times the size.
    word_at = array("L", [0])
    sentence_at = [0]
    for sentence in sentences:
        for word in sentence.split():
            word_at.append(word_at[-1] + len(word) + 1)
        sentence_at.append(len(word_at) - 1)
    return Corpus(" ".join(sentences), word_at, sentence_at)
