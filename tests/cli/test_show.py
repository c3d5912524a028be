"""`paceline show`."""

import json
from pathlib import Path

import pytest

from paceline.cli.main import run
from tests.report.conformance.golden import rows
from tests.report.samples import store


@pytest.fixture(autouse=True)
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACELINE_HOME", str(tmp_path / "home"))
    store(tmp_path / "home", rows(), name="mine")


def test_all_tools_where_none_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "mine"]) == 0
    said = capsys.readouterr().out
    titles = ("GuideLLM 0.8.1", "AIPerf 0.13.0", "LLMPerf", "genai-bench", "inference-perf", "SGLang", "vllm")
    for title in titles:
        assert title in said


def test_several_tools_as_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "mine", "--as", "vllm", "--as", "aiperf,vllm", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [tool["tool"] for tool in document["tools"]] == ["vllm", "aiperf"]


def test_a_file_is_written_beside_the_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "mine", "--as", "vllm", "--json", str(tmp_path / "c.json")]) == 0
    said = capsys.readouterr()
    assert "parts from us" in said.out
    assert "wrote" in said.err
    assert json.loads((tmp_path / "c.json").read_text())["schema"] == "paceline.conformance/1"


@pytest.mark.parametrize(
    "arguments",
    [["show", "mine", "--as", "k6"], ["show", "nothing"], ["show", "mine", "--json", "/no/where/c"]],
)
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "hint:" in said.err
