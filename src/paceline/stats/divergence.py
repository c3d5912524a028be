"""Where two texts part: the characters, words or tokens that they begin with alike."""

import re
from typing import Protocol

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


class Pieces(Protocol):
    """Cuts a text into words or tokens; a `LocalTokenizer` does."""

    def offsets(self, text: str) -> Ints:
        """Characters [start, end) of each piece, shape (pieces, 2)."""


class Words:
    """Whitespace parts one piece from the next."""

    def offsets(self, text: str) -> Ints:
        """Characters [start, end) of each word, shape (words, 2)."""
        found = [match.span() for match in re.finditer(r"\S+", text)]
        return np.array(found, dtype=np.int64).reshape(-1, 2)


def common_characters(a: str, b: str) -> int:
    """How many characters two texts begin with alike: all of the shorter one where the longer goes on."""
    low, high = 0, min(len(a), len(b))
    # By halves, since comparing slices is much faster than comparing letters.
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def share_alike(a: str, b: str) -> float:
    """The share of the longer text that the two begin with alike, 0 to 1; 1 for equal texts.

    It never falls where two texts agree for longer, so that it counts agreeing beginnings of every length.
    """
    longest = max(len(a), len(b))
    return common_characters(a, b) / longest if longest else 1.0


def common_pieces(a: str, b: str, pieces: Pieces) -> int:
    """How many whole words or tokens two texts begin with alike."""
    until = common_characters(a, b)
    return min(int((pieces.offsets(text)[:, 1] <= until).sum()) for text in (a, b))
