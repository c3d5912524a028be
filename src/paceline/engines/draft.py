"""A draft model, as each engine takes one."""

from pathlib import Path

from paceline.engines.engine import Settings, Value
from paceline.engines.llama_cpp_options import options_of
from paceline.engines.plan import LaunchPlan
from paceline.engines.vllm_speculation import MODEL as VLLM_DRAFT
from paceline.errors import ConfigError
from paceline.weights.read import read_model


def draft_settings(plan: LaunchPlan, draft: Path) -> Settings:
    """The settings that make the engine of a plan draft with this model; None for those that have to go.

    Raises ModelFileError for what is no model, ConfigError for an engine that takes none.
    """
    # Whether it is a model is seen now, not by the engine minutes later.
    facts = read_model(draft.expanduser())
    place = str((facts.files[0] if facts.format == "gguf" else facts.path).absolute())
    if plan.adapter.name == "vllm":
        return {VLLM_DRAFT: place}
    if plan.adapter.name == "sglang":
        return {"speculative-draft-model-path": place}
    if plan.adapter.name != "llama.cpp":
        raise ConfigError(f"--draft-model: {plan.adapter.name} takes no draft model", "leave it out")
    # What the tier drafts with otherwise makes way.
    own: dict[str, Value] = {name: None for name in plan.settings if name.startswith("spec-")}
    own["model-draft"] = place
    options = options_of(plan.installed)
    if options is not None and options.takes("spec-type", "draft-simple"):
        own["spec-type"] = "draft-simple"
    return own
