"""The kinds of problems that the probe asks. Names are those of reasoning-gym, which makes and scores them.

Chosen so that each answer is short and either right or wrong, no data beside the library is needed, and small
models solve some of them and large ones not all.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Form = Literal["integer", "word", "phrase", "list", "sentence"]
"""How an answer is written: what is taken off it before it is scored depends on it."""


@dataclass(frozen=True)
class Family:
    """One kind of problem.

    guess: the share that is solved without a look at the problem's content: by a guess among what it names,
    or by always giving the answer that is most frequent (of 2,000 problems). settings: what differs from the
    library's own.
    """

    name: str
    area: str
    about: str
    form: Form
    guess: float
    settings: Mapping[str, Any] = field(default_factory=dict)


FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family("basic_arithmetic", "arithmetic", "two to six numbers, four operations", "integer", 0.02),
        Family("products", "arithmetic", "two factors of up to five digits", "integer", 0.03),
        Family("base_conversion", "arithmetic", "a number from one base into another", "word", 0.0),
        Family("simple_equations", "algebra", "a linear equation", "integer", 0.02),
        Family("knights_knaves", "logic", "who of three tells the truth", "sentence", 1 / 8, {"n_people": 3}),
        Family("zebra_puzzles", "logic", "who of four lives where", "word", 1 / 4),
        Family("letter_counting", "text", "how often a letter is in a sentence", "integer", 0.37),
        Family("spell_backward", "text", "a word from its end", "word", 0.0),
        Family("word_sorting", "text", "three to ten words in order", "list", 0.0),
        Family("leg_counting", "counting", "the legs of many animals", "integer", 0.01),
        # Of seven tasks three ask for a weekday and one for yes or no: (3/7 + 1/2) / 7.
        Family("calendar_arithmetic", "calendar", "weekdays, days between dates", "phrase", 0.13),
        Family("largest_island", "graph", "the largest connected area of a grid", "integer", 0.19),
    )
}

DEFAULT_FAMILIES = tuple(FAMILIES)
