"""The answers of two runs to the same prompts, two by two."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from paceline.advisor.answers import Answer, Answers
from paceline.stats.agreement import Agreement, agreement, agreement_once
from paceline.stats.divergence import Pieces, common_characters, common_pieces, share_alike
from paceline.stats.quantiles import percentile

# Of a prompt's answers a1, a2, b1, b2: A's own pair, B's own, and those across, as in `stats.agreement`.
_PAIRS = (("a", 0, 1), ("b", 2, 3), ("ab", 0, 2), ("ab", 0, 3), ("ab", 1, 2), ("ab", 1, 3))
_LONGEST_EXAMPLE = 4_000


@dataclass(frozen=True)
class Divergence:
    """Where the answers of two sides, or of one with itself, part; of the pairs that do.

    pairs, parted: of answers. characters, pieces: before the first difference, median and p10; share: of the
    longer answer. nan where none parts. at: the pieces of each that parts, ascending.
    """

    pairs: int
    parted: int
    at: tuple[int, ...]
    characters_p50: float
    characters_p10: float
    pieces_p50: float
    pieces_p10: float
    share_p50: float
    share_p10: float

    def to_dict(self) -> dict[str, Any]:
        """For JSON; nan as None."""
        return {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in asdict(self).items()
            if name != "at"
        }


@dataclass(frozen=True)
class Example:
    """Two answers to one prompt that part after `at` characters.

    index: of A's request. repeated: each side gave the same answer twice. prompt: None where it cannot be
    made again.
    """

    prompt_sha256: str
    index: int
    a: str
    b: str
    at: int
    repeated: bool
    prompt: str | None = None

    @property
    def cut(self) -> bool:
        """A text is longer than what an example keeps."""
        return max(len(self.a), len(self.b)) >= _LONGEST_EXAMPLE

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "cut": self.cut}


@dataclass(frozen=True)
class Pairs:
    """Of the prompts that both runs were asked.

    equal, alike: float64[n, 6] as `stats.agreement` takes them, of prompts with two answers from each side;
    of `once` float64[n], A's with B's. only_a, only_b: prompts that one side answered each time and the other
    never, though nothing failed.
    """

    prompts: tuple[str, ...]
    once: bool
    equal: np.ndarray[Any, np.dtype[np.float64]]
    alike: np.ndarray[Any, np.dtype[np.float64]]
    divergence: Mapping[str, Divergence]
    only_a: int
    only_b: int
    examples: tuple[Example, ...]
    notes: tuple[str, ...]

    def agreements(self) -> tuple[Agreement, Agreement]:
        """Of whole answers, and of their beginnings."""
        if self.once:
            return agreement_once(self.equal), agreement_once(self.alike)
        return agreement(self.equal), agreement(self.alike)


def gather_pairs(a: Answers, b: Answers, pieces: Pieces, examples: int) -> Pairs:
    """Pair the answers to each prompt; `examples`: how many pairs that part are kept to be shown."""
    prompts = tuple(prompt for prompt in a.by_prompt if prompt in b.by_prompt)
    once = min((len(side.by_prompt[one]) for one in prompts for side in (a, b)), default=2) < 2
    equal: list[list[float]] = []
    alike: list[list[float]] = []
    parted: dict[str, list[tuple[int, int, float]]] = {"a": [], "b": [], "ab": []}
    tried = {"a": 0, "b": 0, "ab": 0}
    shown: list[Example] = []
    for prompt in prompts:
        four = _four(a.by_prompt[prompt], b.by_prompt[prompt], once=once)
        if four is None:
            continue
        rows: tuple[list[float], list[float]] = ([], [])
        for side, first, second in (("ab", 0, 1),) if once else _PAIRS:
            one, other = four[first].text, four[second].text
            rows[0].append(float(one == other))
            rows[1].append(share_alike(one, other))
            tried[side] += 1
            if one != other:
                at = common_characters(one, other)
                parted[side].append((at, common_pieces(one, other, pieces), rows[1][-1]))
        equal.append(rows[0])
        alike.append(rows[1])
        first_a, first_b = four[0], four[1 if once else 2]
        if first_a.text != first_b.text:
            repeated = not once and rows[0][0] == rows[0][1] == 1.0
            shown.append(_example(prompt, first_a, first_b, repeated=repeated))
    shown.sort(key=lambda example: (not example.repeated, example.index))
    width = 1 if once else 6
    tables = [np.array(rows, np.float64).reshape(-1, width) for rows in (equal, alike)]
    only_a, only_b = _silent(a, b, prompts)
    return Pairs(
        prompts,
        once,
        *((tables[0][:, 0], tables[1][:, 0]) if once else (tables[0], tables[1])),
        {side: _divergence(tried[side], found) for side, found in parted.items()},
        only_a,
        only_b,
        tuple(shown[:examples]),
        tuple(_notes(a, b, prompts)),
    )


def _four(a: list[Answer], b: list[Answer], *, once: bool) -> list[Answer] | None:
    """The first two answers of each side, or the first one; None where one of them is not there."""
    n = 1 if once else 2
    found = [*a[:n], *b[:n]]
    return found if len(found) == 2 * n and all(one.kind == "answered" for one in found) else None


def _example(prompt: str, a: Answer, b: Answer, *, repeated: bool) -> Example:
    at = common_characters(a.text, b.text)
    most = max(_LONGEST_EXAMPLE, at + 200)
    return Example(prompt, a.index, a.text[:most], b.text[:most], at, repeated)


def _divergence(pairs: int, parted: list[tuple[int, int, float]]) -> Divergence:
    columns = np.array(parted, np.float64).reshape(-1, 3)
    found = [
        percentile(columns[:, place], q) if len(columns) else math.nan
        for place in range(3)
        for q in (0.5, 0.1)
    ]
    at = tuple(sorted(piece for _, piece, _ in parted))
    return Divergence(pairs, len(columns), at, *found)


def _silent(a: Answers, b: Answers, prompts: tuple[str, ...]) -> tuple[int, int]:
    """Prompts that one side always answered and the other never, though none of its requests failed."""
    only = [0, 0]
    for prompt in prompts:
        kinds = [{one.kind for one in side.by_prompt[prompt]} for side in (a, b)]
        for side in (0, 1):
            said, silent = kinds[side], kinds[1 - side]
            if said == {"answered"} and silent <= {"empty", "refused"}:
                only[side] += 1
    return only[0], only[1]


def _notes(a: Answers, b: Answers, prompts: tuple[str, ...]) -> list[str]:
    found = []
    left = [len(side.by_prompt) - len(prompts) for side in (a, b)]
    if any(left):
        found.append(
            f"{left[0]:,} prompts of A and {left[1]:,} of B were asked of one side only, and are left out"
        )
    unlike = sum(a.limits[prompt] != b.limits[prompt] for prompt in prompts)
    if unlike:
        found.append(
            f"the limit of the answer is not the same for {unlike:,} prompts, so a text may be cut earlier"
        )
    return found
