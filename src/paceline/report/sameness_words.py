"""Greedy answers of a tier beside standard's, in words."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paceline.engines.profile import Sameness


def sameness_words(found: "Sameness") -> str:
    """What was found: `differ from standard in 3 of 16 prompts, first after 41 words (median)`."""
    told = found.prompts - found.unrepeated
    if found.differing:
        after = f"{found.first_difference:g} {found.unit}" if found.first_difference is not None else "none"
        text = f"differ from standard in {found.differing} of {told} prompts, first after {after} (median)"
    elif told:
        text = f"the same as standard in {told} of {told}"
    else:
        text = "not to be told"
    own = found.unrepeated_by_tier
    for side, prompts in (("the tier", own), ("standard", found.unrepeated - own)):
        if prompts:
            text += f"; {prompts} more say nothing: there {side} does not repeat itself"
    return text
