import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from paceline.engines.engine import Command
from paceline.engines.failure import EngineError
from paceline.engines.run import running, status
from paceline.errors import UsageError
from tests.support.standin import BEGIN, free_port, is_free, living, plan, said_pids, until


def test_an_engine_that_answers_and_ends_with_the_block(tmp_path: Path) -> None:
    log = tmp_path / "new" / "engine.log"
    said: list[str] = []
    asked = plan("--children", "1", "--far-children", "1")
    with running(asked, log=log, watch=said.append) as engine:
        assert status(engine.endpoint + "/v1/models", 10.0) == 200
        assert (engine.alive(), engine.exit_code, engine.failure()) == (True, None, None)
        assert (engine.command, engine.log) == (asked.command, log)
        pids = [engine.pid, *said_pids(log, "child"), *said_pids(log, "far child")]
        assert len(living(pids)) == 3
    assert (engine.alive(), engine.exit_code, engine.failure()) == (False, -signal.SIGTERM, None)
    assert living(pids) == []
    assert is_free(asked.address.port)
    assert [one.split(" (")[0].split(" after")[0] for one in said] == [
        "llama.cpp is starting",
        "llama.cpp is ready",
    ]


def test_only_status_200_is_ready(tmp_path: Path) -> None:
    asked = plan("--load-s", "0.3", "--loading-status", "503")
    with running(asked, log=tmp_path / "log") as engine:
        lines = (tmp_path / "log").read_text()
        assert '"GET /health HTTP/1.1" 503' in lines
        assert engine.alive()


def test_no_proxy_stands_between(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with running(plan(), log=tmp_path / "log") as engine:
        assert engine.alive()


def test_it_may_be_stopped_before_the_block_ends(tmp_path: Path) -> None:
    with running(plan(), log=tmp_path / "log") as engine:
        engine.stop()
        engine.stop()
        assert not engine.alive()
        assert engine.failure() is None


def test_one_that_dies_in_the_block_says_why(tmp_path: Path) -> None:
    asked = plan("--die-on", "/die", "--say", "memory is short")
    with running(asked, log=tmp_path / "log") as engine:
        assert status(engine.endpoint + "/die", 10.0) is None
        until(lambda: not engine.alive(), "it lives")
        found = engine.failure()
        assert found is not None
        assert (found.message, found.lasting) == ("memory is short", False)


def test_it_ends_with_whatever_ends_the_block(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), running(plan(), log=tmp_path / "log") as engine:
        _ = 1 / 0
    assert living([engine.pid]) == []


def test_one_that_ends_while_it_loads(tmp_path: Path) -> None:
    log = tmp_path / "log"
    asked = plan("--say", "loading", "--say", "\x1b[31mboom", "--fail-at-load", "3", "--far-children", "1")
    with pytest.raises(EngineError) as caught, running(asked, log=log):
        pass
    assert caught.value.message.startswith(
        "llama.cpp ended before it was ready (exit code 3); it said last:\n  far child "
    )
    assert caught.value.message.endswith("\n  loading\n  boom")
    assert str(log) in (caught.value.hint or "")
    assert (caught.value.engine_exit_code, caught.value.lasting) == (3, False)
    assert caught.value.log_tail.endswith("loading\n\x1b[31mboom\n")
    assert living(said_pids(log, "far child")) == []


def test_a_failure_that_the_adapter_knows(tmp_path: Path) -> None:
    asked = plan("--say", "no such model", "--fail-at-load", "1")
    with pytest.raises(EngineError) as caught, running(asked, log=tmp_path / "log"):
        pass
    assert (caught.value.message, caught.value.hint) == ("the model is not there", "give another")
    assert caught.value.lasting


@pytest.mark.parametrize("options", [("--load-s", "600"), ("--mute",), ("--loading-status", "500")])
def test_one_that_never_answers(tmp_path: Path, options: tuple[str, ...]) -> None:
    asked = plan("--far-children", "1", *options, *(["--load-s", "600"] if "500" in options else []))
    log = tmp_path / "log"
    late = r"did not answer within 0\.3 s"
    with (
        pytest.raises(EngineError, match=late) as caught,
        running(asked, log=log, ready_timeout_s=0.3),
    ):
        pass
    assert caught.value.engine_exit_code is None
    assert living(said_pids(log, "far child")) == []
    assert is_free(asked.address.port)


def test_a_port_that_is_taken_before(tmp_path: Path) -> None:
    with running(plan(), log=tmp_path / "log") as engine:
        port = int(engine.endpoint.rpartition(":")[2])
        taken = rf"port {port} is taken: process {engine.pid} "
        with (
            pytest.raises(UsageError, match=taken) as caught,
            running(plan(port=port), log=tmp_path / "other"),
        ):
            pass
        assert caught.value.exit_code == 2
        assert engine.alive()
    # Nothing was begun.
    assert not (tmp_path / "other").exists()


def test_a_server_that_takes_the_port_meanwhile_does_not_pass_for_the_engine(tmp_path: Path) -> None:
    """Both share the port, as llama-server lets others do; either may answer."""
    port = free_port()
    command = [*BEGIN, "--port", str(port), "--reuse-port"]
    stranger: list[subprocess.Popen[bytes]] = []

    def take_the_port(text: str) -> None:
        if "is starting" in text:
            stranger.append(subprocess.Popen(command, stdout=subprocess.PIPE))
            assert stranger[0].stdout is not None
            assert stranger[0].stdout.readline() == b"ready\n"

    asked = plan("--reuse-port", "--load-s", "0.5", "--far-children", "1", port=port)
    try:
        with pytest.raises(EngineError) as caught, running(asked, log=tmp_path / "log", watch=take_the_port):
            pass
        assert f"port {port} was taken while llama.cpp started: process {stranger[0].pid} (" in str(
            caught.value
        )
        assert caught.value.lasting
        assert stranger[0].poll() is None
        assert living(said_pids(tmp_path / "log", "far child")) == []
    finally:
        stranger[0].kill()
        stranger[0].communicate()


def test_a_log_that_cannot_be_written_is_said_before_the_start(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    for log, why in ((tmp_path, "directory"), (in_the_way / "log", "directory|exists")):
        with pytest.raises(UsageError, match=why), running(plan(), log=log):
            pass


def test_a_full_disk_costs_the_log_and_nothing_else(tmp_path: Path) -> None:
    log, said = tmp_path / "log", list[str]()
    log.symlink_to("/dev/full")
    with running(plan("--flood-bytes", "300000"), log=log, watch=said.append) as engine:
        assert status(engine.endpoint + "/health", 10.0) == 200
    assert len([one for one in said if "No space left on device" in one]) == 1


def test_ctrl_c_while_it_loads(tmp_path: Path) -> None:
    asked = plan("--load-s", "600", "--far-children", "1")
    log = tmp_path / "log"

    def interrupt() -> None:
        until(lambda: bool(said_pids(log, "far child")), "no child")
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt), running(asked, log=log):
        pass
    thread.join()
    assert living(said_pids(log, "far child")) == []
    assert is_free(asked.address.port)


def test_an_engine_that_needs_nothing_of_this_python(tmp_path: Path) -> None:
    """The guardian's own start does not change what the engine sees."""
    code = "import sys, os; print(sorted(k for k in os.environ if k.startswith('PYTHON'))); sys.exit(4)"
    odd = replace(plan(), command=Command((sys.executable, "-c", code)))
    with pytest.raises(EngineError, match="exit code 4"), running(odd, log=tmp_path / "log"):
        pass
    seen = sorted(name for name in os.environ if name.startswith("PYTHON"))
    assert (tmp_path / "log").read_text() == f"{seen}\n"
