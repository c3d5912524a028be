"""All definitions, by the names that `--as` takes."""

from collections.abc import Sequence

from paceline.errors import UsageError
from paceline.report.conformance import (
    aiperf,
    genai_bench,
    guidellm,
    inference_perf,
    llmperf,
    sglang,
    vllm,
)
from paceline.report.conformance.definition import Definition

ALL = "all"
OWN = "paceline"

DEFINITIONS: dict[str, Definition] = {
    module.DEFINITION.name: module.DEFINITION
    for module in (guidellm, aiperf, vllm, sglang, inference_perf, llmperf, genai_bench)
}


def definitions(names: Sequence[str]) -> list[Definition]:
    """The definitions of these names, each once; `all`: every one. Raises UsageError for an unknown name."""
    wanted = list(dict.fromkeys(part.strip() for name in names for part in name.split(",")))
    unknown = [name for name in wanted if name not in DEFINITIONS and name != ALL]
    if unknown:
        raise UsageError(
            f"--as {unknown[0]!r} is no tool that is known here",
            f"it is one of {', '.join(DEFINITIONS)}, {ALL}",
        )
    return list(DEFINITIONS.values()) if ALL in wanted else [DEFINITIONS[name] for name in wanted]
