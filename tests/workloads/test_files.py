"""Workload files by name and by path, and what is said of those that cannot be read."""

from pathlib import Path

import pytest

from paceline.errors import ConfigError
from paceline.workloads.files import MAX_FILE_BYTES, built_in_names, built_in_text, load_workload
from paceline.workloads.jobs import check_job
from paceline.workloads.sessions import SessionSource


def test_the_built_in_names() -> None:
    assert built_in_names() == ["agent", "batch", "chat", "code-edit", "summarise", "voice"]


@pytest.mark.parametrize("name", built_in_names())
def test_a_built_in_workload_says_what_it_is_and_makes_jobs(name: str) -> None:
    spec = load_workload(name)
    assert spec.name == name
    assert spec.about
    # What only the user can know is not made up.
    assert spec.jobs_per_day is spec.worth_usd_per_hour is None
    source = SessionSource(spec.model_copy(update={"tokenizer": "words"}))
    for index in range(3):
        check_job(source.job(index))


def test_a_file_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('\ufeffprompt_tokens = 7\r\n[[call]]\r\nname = "a"\r\n', encoding="utf-8")
    spec = load_workload(str(file))
    assert (spec.name, str(spec.prompt_tokens), spec.call[0].name) == ("mine", "7", "a")
    monkeypatch.chdir(tmp_path)
    assert load_workload("mine.toml") == spec
    file.write_text('name = "own"\n')
    assert load_workload("./mine.toml").name == "own"


def test_a_file_may_be_called_as_a_built_in_workload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "chat").write_text("prompt_tokens = 7")
    monkeypatch.chdir(tmp_path)
    assert str(load_workload("./chat").prompt_tokens) == "7"
    assert load_workload("chat").call


def test_paths_in_a_file_start_from_its_folder(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[data]\npath = "rows.jsonl"\n')
    data = load_workload(str(file)).data
    assert data is not None
    assert Path(data.path) == tmp_path / "rows.jsonl"
    file.write_text('[trace]\npath = "/elsewhere/t.csv"\n')
    trace = load_workload(str(file)).trace
    assert trace is not None
    assert trace.path == "/elsewhere/t.csv"


@pytest.mark.parametrize(
    ("content", "message", "hint"),
    [
        (b"prompt_tokens = = 3", "is not TOML", "line 1"),
        (b'name = "a"\nname = "b"', "is not TOML", ""),
        (b"\xff\xfe\x00", "is not UTF-8: byte 0", "UTF-8"),
        (b"a = 1\x00", "is not TOML", ""),
        (b"[[call]]\nname = 'a'\nwiat_ms = 3", "unknown key `call.a.wiat_ms`", "did you mean `wait_ms`?"),
        (b"[[cal]]\nname = 'a'", "unknown key `cal`", "did you mean `call`?"),
        (b"call = 3", "`call`", ""),
        (b"x = " + b"[" * 5000, "", ""),
        (b"#" * (MAX_FILE_BYTES + 1), "more than 1,000,000 bytes", ""),
    ],
)
def test_what_is_wrong_is_said_with_the_files_name(
    tmp_path: Path, content: bytes, message: str, hint: str
) -> None:
    file = tmp_path / "w.toml"
    file.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load_workload(str(file))
    said = f"{caught.value.message} | {caught.value.hint}"
    assert str(file) in said
    assert message in said
    assert hint in said


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        load_workload(str(tmp_path))


def test_an_unknown_name_lists_those_that_there_are() -> None:
    with pytest.raises(ConfigError) as caught:
        load_workload("agnet")
    assert "neither built in nor a file" in caught.value.message
    assert "did you mean agent?" in (caught.value.hint or "")
    assert "agent, batch, chat, code-edit, summarise, voice" in (caught.value.hint or "")
    with pytest.raises(ConfigError, match="neither"):
        built_in_text("../spec")
