from collections import Counter

import pytest

from paceline.workloads.capability.families import DEFAULT_FAMILIES, FAMILIES
from paceline.workloads.capability.items import Items
from paceline.workloads.capability.spec import ProbeSpec


def test_the_families_cover_what_a_short_answer_can_show() -> None:
    areas = {family.area for family in FAMILIES.values()}
    assert areas >= {"arithmetic", "algebra", "logic", "text", "counting", "calendar", "graph"}
    assert 8 <= len(DEFAULT_FAMILIES) <= 12


@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "zebra_puzzles"])
def test_always_saying_the_most_frequent_answer_solves_no_more_than_the_guess(name: str) -> None:
    items = Items(ProbeSpec(families=(name,), items=250, seed=17))
    answers = Counter(str(items.item(index).entry["answer"]) for index in range(250))
    share = answers.most_common(1)[0][1] / 250
    # Three standard deviations of a share near a third, over 250 problems, are 9 points.
    assert share <= FAMILIES[name].guess + 0.09


@pytest.mark.parametrize("name", FAMILIES)
def test_answers_are_short_and_right_ones_get_full_marks(name: str) -> None:
    items = Items(ProbeSpec(families=(name,), seed=4))
    # A puzzle takes a tenth of a second to make.
    for index in range(2 if name == "zebra_puzzles" else 15):
        item = items.item(index)
        answer = str(item.entry["answer"])
        assert 0 < len(answer) <= 200
        assert items.score(item, answer) == 1.0
        assert items.score(item, f"**{answer}**") == 1.0
        assert items.score(item, "unknown") < 1.0
