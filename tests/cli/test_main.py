import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from paceline.cli import main as module
from paceline.errors import ConfigError, RunError
from paceline.measure.interrupts import Interrupts

# Typer itself takes in pydantic where it has options to check.
HEAVY = (
    "numpy", "pyarrow", "scipy", "httpx", "altair", "vl_convert", "jinja2", "tokenizers", "rich.live",
    "paceline._core", "paceline.measure.driver", "paceline.store.runs", "genai_prices", "sqlite3",
)  # fmt: skip


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["measure", "--help"], ["runs", "--help"], ["gateway", "--help"], ["--version"]],
)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import json, sys\n"
        "from paceline.cli.main import run\n"
        f"code = run({arguments!r})\n"
        "print('MODULES', json.dumps([code, sorted(sys.modules)]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    exit_code, modules = json.loads(done.stdout.rpartition("MODULES ")[2])
    assert exit_code == 0
    assert [name for name in HEAVY if name in modules] == []


@pytest.mark.parametrize(
    ("error", "code"),
    [(ConfigError("the thing is wrong", "make it right"), 2), (RunError("the thing failed", "try again"), 1)],
)
def test_an_error_is_one_line_and_a_hint(
    error: Exception, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "app", failing(error))
    assert module.run([]) == code
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("error: the thing")
    assert lines[1].startswith("hint: ")
    assert len(lines) == 2


def test_an_error_is_short_and_steers_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = f"key 'a\x1b[2J\u202e\x9b1m'\nerror: another {'x' * 1_000_000}"
    monkeypatch.setattr(module, "app", failing(ConfigError(wrong, wrong)))
    assert module.run([]) == 2
    said = capsys.readouterr().err
    assert len(said) < 10_000
    assert [line.partition(" ")[0] for line in said.split("\n")] == ["error:", "hint:", ""]
    assert said.replace("\n", "").isprintable()


def test_a_full_disk_is_said_in_words() -> None:
    """In a process of its own: Python writes what is left when it ends."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "paceline", "workload", "show", "chat"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "error: cannot write the output: No space left on device",
        "hint: make room there, or write elsewhere",
    ]


def test_stdout_may_be_closed() -> None:
    command = 'exec "$0" -m paceline workload show chat >&-'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable], stderr=subprocess.PIPE, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_an_unexpected_error_leaves_its_traceback_in_a_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(module, "app", failing(ZeroDivisionError("by nought")))
    assert module.run([]) == 1
    said = capsys.readouterr().err
    assert "error: unexpected: ZeroDivisionError: by nought" in said
    assert "Traceback" not in said
    (kept,) = tmp_path.iterdir()
    assert str(kept) in said
    assert "Traceback" in kept.read_text()


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")

    def format_message(self) -> str:
        raise ValueError("no words")


@pytest.mark.parametrize(
    ("error", "code"), [(UnspeakableError(), 1), (ConfigError("x"), 2), (RunError("x"), 1)]
)
def test_where_it_cannot_be_said_there_is_a_line_and_no_traceback(
    error: Exception, code: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(_: str) -> None:
        raise OSError("no stderr")

    monkeypatch.setattr(module, "app", failing(error))
    monkeypatch.setattr(module, "talk", broken)
    assert module.run(["measure"]) == code
    assert capfd.readouterr().err == f"error: unexpected: {type(error).__name__}\n"


@pytest.mark.parametrize("stderr", ["/dev/full", "closed pipe"])
def test_a_stderr_that_takes_nothing(stderr: str) -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "paceline", "runs", "show", "--nope"]
    with open(stderr, "w") if stderr != "closed pipe" else os.fdopen(write, "w") as broken:  # noqa: PTH123
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=broken, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")


def test_ctrl_c_before_load_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Interrupts, "began", False)
    monkeypatch.setattr("paceline.cli.defaults.settings", interrupted)
    assert module.run(["measure", "http://127.0.0.1:1/v1"]) == 130
    assert capsys.readouterr().err == "interrupted before the first request; nothing was stored\n"
    monkeypatch.setattr(Interrupts, "began", True)
    assert module.run(["measure", "http://127.0.0.1:1/v1"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_the_help_says_that_there_is_a_gateway(capsys: pytest.CaptureFixture[str]) -> None:
    assert module.run(["--help"]) == 0
    said = " ".join(capsys.readouterr().out.partition("Options")[0].split())
    assert "Measure the speed of any AI inference endpoint truthfully" in said
    assert "a gateway that routes live traffic" in said


def test_no_command_is_help_and_no_empty_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert module.run([]) == 2
    said = capsys.readouterr()
    assert "Usage: paceline" in said.out
    assert said.err == ""


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["measure", "http://127.0.0.1:1", "--rate"], "paceline measure"),
        (["runs", "show", "--nope"], "paceline runs show"),
        (["--nope"], "paceline"),
    ],
)
def test_the_hint_names_the_command(
    arguments: list[str], command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert module.run(arguments) == 2
    assert capsys.readouterr().err.splitlines()[1] == f"hint: {command} --help lists what there is"


def failing(error: BaseException) -> object:
    def app(**_: object) -> None:
        raise error

    return app
