"""What the tiers set on llama.cpp's server, and why."""

from paceline.engines.engine import Tier, TierSettings, Value
from paceline.engines.llama_cpp_options import Options
from paceline.engines.machine import Machine
from paceline.weights.model import ModelFacts


class _Set:
    """Settings as they are gathered: only what this build has, by its own first long name."""

    def __init__(self, options: Options | None) -> None:
        self._options = options
        self.values: dict[str, Value] = {}
        self.why: dict[str, str] = {}

    def has(self, name: str) -> bool:
        return self._options is not None and name in self._options

    def takes(self, name: str, value: str) -> bool:
        return self._options is not None and self._options.takes(name, value)

    def add(self, name: str, value: Value, why: str) -> None:
        if self._options is not None:
            option = self._options.find(name)
            if option is None or option.removed:
                return
            name = option.no if name == option.no and name not in option.names else option.name
        self.values[name] = value
        self.why[name] = why


def tier_settings(
    tier: Tier, model: ModelFacts | None, machine: Machine, options: Options | None
) -> TierSettings:
    """Settings of a tier for a model on a machine, as far as a build has the options.

    `ultra` begins as `fast`: what the tuner goes on from.
    """
    made = _Set(options)
    made.add("threads", machine.cores, "all cores that this process may use")
    if machine.gpus:
        made.add("gpu-layers", "all", "every layer on the GPU")
    if tier == "standard":
        _standard(made)
    else:
        _fast(made, model)
    made.add("metrics", True, "figures for Paceline's reports")
    return TierSettings(made.values, made.why)


def _standard(made: _Set) -> None:
    made.add("parallel", 4, "requests that are served at once")
    made.add("kv-unified", True, "slots share one KV cache, so that one long request may use it all")


def _fast(made: _Set, model: ModelFacts | None) -> None:
    made.add("parallel", 1, "one stream has the machine to itself")
    if made.takes("spec-type", "ngram-mod"):
        made.add("spec-type", "ngram-mod", "text that has come before is drafted, and checked in one step")
        made.add("spec-ngram-mod-n-match", 12, "words that must have come before, before a draft is made")
        made.add("spec-ngram-mod-n-min", 8, "shorter drafts are not worth a check")
        made.add("spec-ngram-mod-n-max", 48, "longest draft")
