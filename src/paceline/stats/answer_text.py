"""The part of a request's text that is its answer: events of all kinds write into one."""

import numpy as np
import numpy.typing as npt

from paceline.stats.frame import CONTENT


def answer_text(text: str, kinds: npt.ArrayLike, sizes: npt.ArrayLike, wanted: int = CONTENT) -> str:
    """What came in events of the `wanted` kinds (bits, as `CONTENT | TOOL_CALL`).

    kinds: bits of `event_kind`, int[e]. sizes: UTF-8 bytes that each event added, int[e]. An event that has
    reasoning as well cannot be taken apart, and is taken whole.
    """
    mine = (np.asarray(kinds, np.int64) & wanted) > 0
    if mine.all():
        return text
    raw, ends = text.encode(), np.cumsum(np.asarray(sizes, np.int64))
    begins = ends - np.asarray(sizes, np.int64)
    parts = [raw[begin:end] for begin, end, keep in zip(begins, ends, mine, strict=True) if keep]
    return b"".join(parts).decode(errors="replace")
