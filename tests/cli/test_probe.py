"""`paceline probe` for people and programs."""

import json
from pathlib import Path

import pytest

from paceline.cli.main import run
from paceline.endpoints.probe_record import Probe
from tests.support.fake_server import NOT_FOUND, Answer, FakeServer, serving
from tests.support.five_protocols import Speaker


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACELINE_HOME", str(tmp_path))


def test_what_it_found_is_said_in_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    speaker = Speaker(("openai-chat", "openai-embeddings"), ends_early=1)
    metrics = {"/metrics": Answer(body=b"# TYPE sglang:num_running_reqs gauge\n")}
    with serving(FakeServer(on_request=speaker, gets=metrics)) as server:
        assert run(["probe", server.url, "--model", "tiny"]) == 0
    out, err = capsys.readouterr()
    assert max(map(len, out.splitlines())) <= 80
    assert f"{server.url}/v1, model tiny" in out
    assert "measured by default: chat" in out
    assert "  chat                yes        yes      yes      yes" in out
    assert "  responses           no: 404: Not Found" in out
    assert "sglang, by its metrics at /metrics" in out
    assert "exact output        yes: ignore_eos: 24 tokens in place of 1" in out
    # The cost is said before anything is asked.
    assert "at most 48 requests" in err.partition("chat ...")[0]
    assert "kept in" in err


def test_the_document_alone_goes_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(FakeServer(on_request=Speaker())) as server:
        assert run(["probe", server.url, "-m", "tiny", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "paceline.probe/1"
    assert Probe.model_validate(document).preferred == "openai-chat"


def test_what_cannot_be_kept_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PACELINE_HOME", str(tmp_path / "file"))
    with serving(FakeServer(on_request=Speaker())) as server:
        assert run(["probe", server.url, "-m", "tiny", "--json", str(tmp_path / "probe.json")]) == 2
    out, err = capsys.readouterr()
    assert "measured by default: chat" in out
    assert "error: cannot create" in err
    assert Probe.model_validate_json((tmp_path / "probe.json").read_text()).preferred == "openai-chat"


def test_no_protocol_that_answers_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(FakeServer(models=None, on_request=lambda *_: NOT_FOUND)) as server:
        assert run(["probe", server.url, "-m", "m", "--json", str(tmp_path / "probe.json")]) == 1
    out, err = capsys.readouterr()
    assert "often ends with /v1" in out
    assert "nothing is kept" in err
    assert json.loads((tmp_path / "probe.json").read_text())["preferred"] is None
    assert not (tmp_path / "probes").exists()


def test_what_cannot_be_asked_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(FakeServer(on_request=Speaker())) as server:
        assert run(["probe", server.url]) == 2
    assert "hint: give one with --model" in capsys.readouterr().err
    assert run(["probe", server.url, "-m", "m"]) == 2
    assert "nothing listens" in capsys.readouterr().err
