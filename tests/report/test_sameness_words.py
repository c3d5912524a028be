"""Greedy answers of a tier beside standard's, in words."""

from dataclasses import replace

from paceline.engines.profile import Sameness
from paceline.report.sameness_words import sameness_words


def test_in_words() -> None:
    found = Sameness("same", 16, 0, None, "words", ("a", "b"))
    assert sameness_words(found) == "the same as standard in 16 of 16"
    differs = replace(found, differing=3, first_difference=41.0)
    assert sameness_words(differs) == "differ from standard in 3 of 16 prompts, first after 41 words (median)"
    unsteady = replace(found, unrepeated=3, unrepeated_by_tier=1)
    assert sameness_words(unsteady) == (
        "the same as standard in 13 of 13; 1 more say nothing: there the tier does not repeat itself; "
        "2 more say nothing: there standard does not repeat itself"
    )
    assert sameness_words(replace(found, unrepeated=16)).startswith("not to be told; 16 more")
