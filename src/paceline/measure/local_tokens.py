"""Tokens of each event by a tokenizer of this machine, counted after the clock has stopped."""

import re
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paceline.workloads.tokenizer import LocalTokenizer, WordCounter, load_tokenizer

Ints = npt.NDArray[np.int64]


class Offsets(Protocol):
    """Finds the tokens of a text."""

    def offsets(self, text: str) -> Ints:
        """Characters [start, end) of each token, shape (tokens, 2)."""


class _Words:
    def offsets(self, text: str) -> Ints:
        found = [match.span() for match in re.finditer(r"\S+", text)]
        return np.array(found, dtype=np.int64).reshape(-1, 2)


def local_event_tokens(rows: pa.Table, tokenizer: str | None) -> Ints | None:
    """Tokens that each event of the rows completes, int64[e] in the order of the rows and their events.

    Whole answers are tokenised, and a token belongs to the event that brought its last byte; -1 where the
    text was not kept. None when `tokenizer` is None or only estimates. Raises ConfigError for one that is
    missing.
    """
    counter = load_tokenizer(tokenizer)
    finder: Offsets
    if isinstance(counter, WordCounter):
        finder = _Words()
    elif isinstance(counter, LocalTokenizer):
        finder = counter
    else:
        return None
    texts = [text or "" for text in rows.column("text").to_pylist()]
    event_bytes: Any = rows.column("event_bytes").combine_chunks()
    counts = [
        events_of_text(text, np.asarray(event_bytes[row].values).astype(np.int64), finder)
        for row, text in enumerate(texts)
    ]
    return np.concatenate(counts) if counts else np.zeros(0, dtype=np.int64)


def events_of_text(text: str, event_bytes: Ints, finder: Offsets) -> Ints:
    """Tokens of one answer by event, int64[events]; `event_bytes`: UTF-8 bytes that each event added."""
    if len(event_bytes) == 0:
        return np.zeros(0, dtype=np.int64)
    if not text and event_bytes.sum() > 0:
        return np.full(len(event_bytes), -1, dtype=np.int64)
    ends = finder.offsets(text)[:, 1]
    if not text.isascii():
        bytes_before = np.concatenate(([0], np.cumsum([len(letter.encode()) for letter in text])))
        ends = bytes_before[ends]
    # A token that ends where an event ends is complete with that event.
    place = np.searchsorted(np.cumsum(event_bytes), ends, side="left")
    return np.bincount(np.minimum(place, len(event_bytes) - 1), minlength=len(event_bytes)).astype(np.int64)
