import pytest

from paceline.errors import UsageError
from paceline.report.conformance.definition import METRICS
from paceline.report.conformance.tools import DEFINITIONS, definitions
from tests.report.conformance.golden import recorded


def test_all_of_the_tools_that_the_command_names() -> None:
    assert list(DEFINITIONS) == [
        "guidellm",
        "aiperf",
        "vllm",
        "sglang",
        "inference-perf",
        "llmperf",
        "genai-bench",
    ]


def test_several_names_with_commas_or_one_by_one_each_once() -> None:
    assert [one.name for one in definitions(["vllm,aiperf", "vllm"])] == ["vllm", "aiperf"]
    assert len(definitions(["vllm", "all"])) == len(DEFINITIONS)


def test_an_unknown_tool_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(UsageError) as raised:
        definitions(["k6"])
    assert raised.value.hint is not None
    assert "genai-bench" in raised.value.hint


@pytest.mark.parametrize("name", list(DEFINITIONS))
def test_a_definition_is_whole(name: str) -> None:
    definition = DEFINITIONS[name]
    figures = definition.compute(recorded()).figures
    assert set(definition.metrics) == set(figures)
    assert set(definition.metrics) <= set(METRICS)
    assert set(definition.by_gaps) <= set(definition.metrics)
    assert definition.sources
    assert all(source.at and source.read_on and source.file.endswith(".py") for source in definition.sources)
    for difference in definition.differences:
        assert difference.metrics
        assert set(difference.metrics) <= set(METRICS)
        assert difference.words[0].islower()
        assert not difference.words.endswith(".")
