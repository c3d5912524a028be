import json
import os
import shutil
from pathlib import Path

import pytest

from paceline.errors import ConfigError
from paceline.store.imports import fields
from paceline.store.imports.files import read_file
from tests.store.imports.recorded import AIPERF, DATA, GUIDELLM, GUIDELLM_RATES, vllm_result


@pytest.mark.parametrize(
    ("path", "tool", "runs"),
    [(GUIDELLM, "guidellm", 1), (GUIDELLM_RATES, "guidellm", 2), (AIPERF, "aiperf", 1)],
)
def test_the_tool_is_found_out(path: Path, tool: str, runs: int) -> None:
    assert [run.tool for run in read_file(path)] == [tool] * runs


def test_a_result_of_vllm_however_it_is_laid_out(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps(vllm_result(), indent=2))
    assert [run.tool for run in read_file(path)] == ["vllm"]
    assert len(read_file(path, "vllm")) == 1
    # --append-result
    path.write_text(f"{json.dumps(vllm_result())}\n{json.dumps(vllm_result(detailed=False))}")
    assert [len(run.rows) for run in read_file(path)] == [3, 0]


def test_the_summary_of_aiperf_is_not_its_records() -> None:
    with pytest.raises(ConfigError, match="AIPerf's summary") as raised:
        read_file(DATA / "aiperf-0.13.0_aiperf.json")
    assert raised.value.hint == "import the profile_export.jsonl that lies beside it"


@pytest.mark.parametrize("content", ["", "{}", "[]", "3", '{"benchmarks": 3}', "not json", "{\n"])
def test_what_is_no_result(tmp_path: Path, content: str) -> None:
    path = tmp_path / "file.json"
    path.write_text(content)
    with pytest.raises(ConfigError, match=r"file.json"):
        read_file(path)


@pytest.mark.parametrize("form", ["guidellm", "aiperf", "vllm"])
def test_another_form_than_the_one_that_was_named(tmp_path: Path, form: str) -> None:
    path = tmp_path / "file.json"
    path.write_text('{"a": 1}')
    with pytest.raises(ConfigError, match=r"file.json"):
        read_file(path, form)


def test_paths_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a folder"):
        read_file(tmp_path)
    with pytest.raises(ConfigError, match="No such file"):
        read_file(tmp_path / "none.json")
    with pytest.raises(ConfigError, match="--format k6 is unknown"):
        read_file(GUIDELLM, "k6")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero")):
        with pytest.raises(ConfigError, match="not a file"):
            read_file(path)


def test_a_file_that_is_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "MOST_BYTES", 1000)
    with pytest.raises(ConfigError, match="more than 1,000 bytes"):
        read_file(GUIDELLM)


def test_a_line_ends_where_json_lines_end(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = AIPERF.read_text().splitlines()
    assert '"Too Many Requests"' in "".join(lines)
    path.write_text("\n".join(lines).replace('"Too Many Requests"', '"Too\u2028Many\x85Requests"'))
    (run,) = read_file(path)
    assert [row.outcome for row in run.rows] == [row.outcome for row in read_file(AIPERF)[0].rows]


def test_a_file_that_was_cut_off(tmp_path: Path) -> None:
    for source in (GUIDELLM, AIPERF):
        path = tmp_path / source.name
        shutil.copy(source, path)
        path.write_text(path.read_text()[:-100])
        with pytest.raises(ConfigError, match="not JSON"):
            read_file(path)
