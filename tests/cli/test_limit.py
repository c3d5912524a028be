"""`paceline limit` from the command line; what it reckons is tested in tests/roofline."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from paceline.cli import limiting
from paceline.cli.main import run
from paceline.engines import draft, planning
from paceline.engines import run as engine_run
from paceline.engines.engine import Failure
from paceline.engines.failure import EngineError
from paceline.engines.plan import Asked
from paceline.measure.sim import SimProcess
from tests.report.samples import store
from tests.report.test_limit_observed import ONE, stream
from tests.roofline.samples import facts
from tests.support.models import write_gguf

Captured = pytest.CaptureFixture[str]
STATED = ["--bandwidth", "20GB/s", "--arithmetic", "400GFLOP/s"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PACELINE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    read = limiting.model_facts
    monkeypatch.setattr(limiting, "model_facts", lambda m: facts() if m == "tiny.gguf" else read(m))
    return tmp_path


def test_a_stated_machine(capsys: Captured) -> None:
    assert run(["limit", "tiny.gguf", *STATED]) == 0
    told = capsys.readouterr()
    assert max(len(line) for line in told.out.splitlines()) <= 80
    assert "      1       2,325     2,325   430 us  memory" in told.out
    assert "     80%       13           4.78  11,078   4.77  memory" in told.out
    assert told.err == ""


def test_a_models_own_headers(home: Path, capsys: Captured) -> None:
    """By hand: two layers of 28,672 numbers at 34 bytes each 32, three norms of 256 bytes, a head of 12,288,
    a row of 68; KV of 256 bytes a token, 100 that are read and one that is written.
    """
    write_gguf(home / "small.gguf")
    assert run(["limit", "small.gguf", *STATED, "--context", "100", "--json", "-"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["model"]["name"] == "Small"
    assert told["token"]["bytes"] == 2 * (30_464 + 256) + 256 + 12_288 + 68 + 101 * 256
    assert told["token"]["kind"] == "int8"


def test_a_model_that_is_not_here(capsys: Captured) -> None:
    assert run(["limit", "owner/model", *STATED]) == 2
    assert "there is no such file or folder" in capsys.readouterr().err


def test_streams_acceptance_and_context(capsys: Captured) -> None:
    options = ["--streams", "8,2,2", "--acceptance", "0.8", "--draft-tokens", "4", "--context", "0"]
    assert run(["limit", "tiny.gguf", *STATED, *options, "--json", "-"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["streams"] for one in told["streams"]] == [2, 8]
    assert [one["drafted"] for one in told["streams_with_speculation"]] == [4, 4]
    assert told["streams_with_speculation"][0]["tokens_a_step"] == pytest.approx(3.3616)
    assert told["token"]["kv_bytes"] == 0
    assert {one["drafted"] for one in told["speculation"]} == {4}


def test_json_goes_to_a_file_beside_the_text(home: Path, capsys: Captured) -> None:
    assert run(["limit", "tiny.gguf", *STATED, "--json", "limit.json"]) == 0
    told = capsys.readouterr()
    assert json.loads((home / "limit.json").read_text())["schema"] == "paceline.limit/1"
    assert "STREAMS" in told.out
    assert "wrote limit.json" in told.err


def test_a_stored_run_beside_the_limit(home: Path, capsys: Captured) -> None:
    """50 tok/s where 20 GB/s over 7.9 MB are the limit: 2 %, and the rest of 20 ms is the engine's."""
    stored = store(home, [stream(n, 310.0 * n) for n in range(20)], load=ONE)
    assert run(["limit", "tiny.gguf", *STATED, "--run", stored.id]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"Run {stored.id}: 50.0 tok/s" in text
    assert "one stream, about 306 tokens of context, 20 answers" in text
    assert "of its limit 2% (2% to 2%)" in text
    assert "TTFT 100 ms, at least" in text
    assert "Held back by: neither memory nor arithmetic. A step took 20.0 ms" in text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--bandwidth", "20"], "is no rate"),
        (["--bandwidth", "20GB/s", "--arithmetic", "990"], "is no rate"),
        (["--arithmetic", "990TFLOP/s"], "--arithmetic needs --bandwidth"),
        (["--bandwidth", "20GB/s", "--again"], "--again measures this machine"),
        (["--device", "tpu"], "tpu"),
        ([*STATED, "--streams", "none"], "is not a count"),
        ([*STATED, "--streams", "2M"], "are too many"),
        ([*STATED, "--kv-type", "q99"], "--kv-type"),
        ([*STATED, "--set", "a=b"], "--engine"),
        ([*STATED, "--run", "no-such-run"], "there are no runs"),
        ([*STATED, "--engine", "llama.cpp", "--tier", "best"], "no tier"),
        ([*STATED, "--json", "there/is/no/folder.json"], "no directory"),
    ],
)
def test_what_cannot_be_is_refused(options: list[str], said: str, capsys: Captured) -> None:
    assert run(["limit", "tiny.gguf", *options]) == 2
    told = capsys.readouterr()
    assert said in told.err
    assert told.out == ""


def test_a_run_of_single_tokens_cannot_be_held_against_it(home: Path, capsys: Captured) -> None:
    rows = [{**stream(n, 310.0 * n), "completion_tokens": None} for n in range(20)]
    stored = store(home, rows, load=ONE)
    assert run(["limit", "tiny.gguf", *STATED, "--run", stored.id]) == 2
    assert "nobody counted its tokens" in capsys.readouterr().err


def test_an_engine_is_started_measured_and_stopped(
    home: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference engine in an engine's place: a token each 2 ms, 500 tok/s."""
    asked: list[Asked] = []
    ended: list[bool] = []

    def plan(one: Asked, **_: Any) -> Any:
        asked.append(one)
        return SimpleNamespace(
            command=SimpleNamespace(shown=lambda: "sim"),
            adapter=SimpleNamespace(name="llama.cpp"),
            served_name="truth",
        )

    @contextmanager
    def running(*_: Any, **__: Any) -> Iterator[Any]:
        arguments = ["--model", "truth", "--ttft", "1ms", "--itl", "2ms", "--output-tokens", "128"]
        with SimProcess(arguments) as engine:
            yield SimpleNamespace(endpoint=f"http://{engine.address}/v1")
        ended.append(True)

    monkeypatch.setattr(planning, "plan_launch", plan)
    monkeypatch.setattr(engine_run, "running", running)
    options = ["--engine", "auto", "--set", "spec-type=ngram-simple", "--set", "ctx-size=4096"]
    assert run(["limit", "tiny.gguf", *STATED, *options, "--json", "limit.json"]) == 0
    told = capsys.readouterr()
    text = " ".join(told.out.split())
    assert ended == [True]
    assert asked[0].bare
    assert asked[0].settings == {"spec-type": "ngram-simple", "ctx-size": 4096}
    assert "one stream, about" in text
    assert "8 answers" in text
    measured = json.loads((home / "limit.json").read_text())["runs"][0]
    # It never sends before a token is due; how late it may be is the machine's affair.
    assert measured["step_ms"] > 1.95
    assert measured["least_step_ms"] == pytest.approx(0.38, abs=0.01)
    assert "starting sim" in told.err
    assert (home / "limits" / "runs").is_dir()
    assert not (home / "runs").exists()


def test_a_drafting_model_goes_to_the_engine_beneath_the_users_own_settings(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And an engine that does not come up is a failure, said in its words."""
    started: list[Any] = []
    base = SimpleNamespace(
        command=SimpleNamespace(shown=lambda: "engine"),
        adapter=SimpleNamespace(name="llama.cpp"),
        settings={"spec-type": "ngram-simple", "draft-max": 4},
    )

    def running(plan: Any, **_: Any) -> Any:
        started.append(plan.settings)
        raise EngineError(Failure("it ended at once", "look at its log", lasting=True))

    def settled(plan: Any, settings: Any) -> Any:
        return SimpleNamespace(**vars(plan) | {"settings": settings})

    monkeypatch.setattr(planning, "plan_launch", lambda *_, **__: base)
    monkeypatch.setattr(planning, "with_settings", settled)
    monkeypatch.setattr(draft, "draft_settings", lambda *_: {"spec-type": None, "model-draft": "d.gguf"})
    monkeypatch.setattr(engine_run, "running", running)
    options = ["--engine", "llama.cpp", "--draft-model", "tiny.gguf", "--set", "draft-max=4"]
    assert run(["limit", "tiny.gguf", *STATED, *options]) == 1
    assert started == [{"spec-type": None, "draft-max": 4, "model-draft": "d.gguf"}]
    assert "error: it ended at once" in capsys.readouterr().err
