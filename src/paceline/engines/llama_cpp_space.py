"""What the tuner may turn on llama.cpp's server."""

from paceline.engines.engine import Tier
from paceline.engines.llama_cpp_options import Options
from paceline.engines.machine import Machine
from paceline.engines.space import Choice
from paceline.weights.model import ModelFacts


def search_space(
    tier: Tier, model: ModelFacts | None, machine: Machine, options: Options | None
) -> tuple[Choice, ...]:
    """The choices of a tier, as far as a build has the options."""
    if tier == "standard":
        choices = (
            Choice("parallel", (1, 2, 4, 8), "requests at once"),
            Choice("ubatch-size", (None, 128, 256, 1024), "prompt tokens that are read in one step"),
        )
    else:
        choices = (
            Choice("spec-type", (None, "ngram-mod", "ngram-simple"), "how text is drafted"),
            Choice(
                "spec-ngram-mod-n-match",
                (6, 12, 24),
                "words that must have come before",
                ("spec-type", ("ngram-mod",)),
            ),
        )
    return tuple(one for one in choices if options is None or one.option in options)
