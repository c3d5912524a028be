"""Which of many small files to merge, so that there are few of them and no row is rewritten often."""

import math
from collections.abc import Sequence

FAN = 16
"""So many neighbours of like size become one, and no fewer: each row is rewritten once a tier."""


_FULL = 1_000


def mergeable(rows: Sequence[int], most_rows: int) -> list[range]:
    """Places of neighbours to merge, in order and apart from each other.

    `rows`: the files' sizes, oldest first. `most_rows`: a merged file holds no more. A file's tier is the
    logarithm of its size to the base FAN; neighbours up to a tier are merged when FAN of them are of it. One
    that is half as large as it may grow is let be.
    """
    tiers = [_FULL if 2 * n >= most_rows else int(math.log(max(n, 1), FAN)) for n in rows]
    for tier in sorted(set(tiers) - {_FULL}):
        found = [
            piece
            for stretch in _stretches([mine <= tier for mine in tiers])
            if sum(tiers[place] == tier for place in stretch) >= FAN
            for piece in _pieces(stretch, rows, most_rows)
        ]
        if found:
            return found
    return []


def _stretches(flags: list[bool]) -> list[range]:
    found, start = [], 0
    for place, flag in enumerate([*flags, False]):
        if not flag:
            if place > start:
                found.append(range(start, place))
            start = place + 1
    return found


def _pieces(stretch: range, rows: Sequence[int], most_rows: int) -> list[range]:
    """Parts of a stretch that are merged into one file each, of two files at least."""
    pieces, start, total = [], stretch.start, 0
    for place in stretch:
        if place > start and total + rows[place] > most_rows:
            pieces.append(range(start, place))
            start, total = place, 0
        total += rows[place]
    pieces.append(range(start, stretch.stop))
    return [piece for piece in pieces if len(piece) > 1]
