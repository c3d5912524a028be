"""docs/reference/conformance.md, made from the definitions; as a module (`python -m`) this writes it."""

from collections.abc import Iterator
from pathlib import Path

from paceline.report.conformance.definition import METRICS, Definition
from paceline.report.conformance.model import OWN_MEANING
from paceline.report.conformance.tools import DEFINITIONS

PATH = Path(__file__).resolve().parents[3] / "docs" / "reference" / "conformance.md"

HEAD = """# Definitions of other tools

What `paceline show RUN --as TOOL` computes, tool by tool ([guide](../guides/conformance.md)). This page is
made from the code: a test holds the two against each other.

Each definition was read in the tool's source at the version named. Facts carry over, code does not. Those
of GuideLLM 0.8.1, AIPerf 0.13.0 and genai-bench 0.0.5 are held against the tools' own code by
`benches/conformance.py`, on the same events; the others install from no package that could be run here, and
are held against figures worked out by hand.

All tools get the same events: the measured requests of the run, without its warm-up. What a tool's
definition needs and our record does not have is said as a difference that is *not in these figures*.

## One name, many meanings
"""

SHAPE = """## `paceline.conformance/1`

`paceline show RUN --json FILE` writes one document:

| key | meaning |
|---|---|
| `schema` | `paceline.conformance/1` |
| `run` | `id`, `endpoint`, `model`, `measured` (requests), `new_connections` (how many of them opened one) |
| `paceline` | our own: `version`, `requests` that ended `ok`, `metrics` |
| `tools` | one object a tool, in the order asked for |

A tool has `tool`, `title`, `version`, `sources` (`repository`, `file`, `at`, `read_on`), `requests`
(`counted`, `rule`), `window` (`seconds`, `rule`), `output_tokens` (`counted`, `rule`), `start`,
`percentiles`, `metrics`, `differences` (`metrics`, `why`, `requests` of this run that it touches or null,
`in_these_figures`, `its_own`: how the tool's own figure would differ, or null) and `printed`: of a run
imported from that tool, the figures of its file. A metric has its `name` in the tool, its `definition`, and
the figures: `n`, `mean`, `p50`, `p90`, `p95`, `p99`, `max`; null where there is none. A plain rate has `n` 1
and its value in `mean`. Times are in ms, whatever the tool prints.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *_matrix(), "", *_tools(), SHAPE])


def _matrix() -> Iterator[str]:
    names = ["Paceline", *(definition.title for definition in DEFINITIONS.values())]
    for metric, words in METRICS.items():
        yield f"**{words}** (`{metric}`)\n"
        yield "| tool | its name | from where to where |\n|---|---|---|"
        yield f"| {names[0]} | `{metric}` | {_cell(OWN_MEANING[metric])} |"
        for definition in DEFINITIONS.values():
            meaning = definition.metrics.get(metric)
            if meaning is not None:
                yield f"| {definition.title} | `{meaning.name}` | {_cell(meaning.words)} |"
        yield ""


def _tools() -> Iterator[str]:
    for definition in DEFINITIONS.values():
        yield f"## `{definition.name}`: {definition.title} {definition.version}\n"
        yield "| | |\n|---|---|"
        for label, words in (
            ("requests", definition.requests),
            ("window", definition.window),
            ("tokens", definition.tokens),
            ("a request begins", definition.start),
            ("percentiles", definition.percentiles),
        ):
            yield f"| {label} | {_cell(words)} |"
        yield "\nWhere it parts from us:\n"
        yield from _differences(definition)
        yield "\nSources:\n"
        for source in definition.sources:
            yield f"- {source.repository}, `{source.file}`, {source.at}, read {source.read_on}"
        yield ""


def _differences(definition: Definition) -> Iterator[str]:
    for difference in definition.differences:
        names = ", ".join(f"`{name}`" for name in difference.metrics)
        missing = "" if difference.shown else f" *Not in these figures*; its own would be {difference.own}."
        yield f"- {names}: {difference.words}.{missing}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PATH.write_text(page())
