"""The adapter of SGLang."""

import sys
from pathlib import Path

import pytest

from paceline.engines.engine import Address, Installed
from paceline.engines.sglang import SgLang
from paceline.errors import ConfigError
from tests.support.python_engines import installed

HERE = Address("127.0.0.1", 28001)
HEALTH = ("env", "SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION=false")
FOUND = Installed("sglang", (*HEALTH, "/env/bin/sglang", "serve"), "given", "0.5.23")


def test_found_with_its_release_and_never_run(tmp_path: Path) -> None:
    script = installed(tmp_path, "sglang")
    found = SgLang().find(script, tmp_path)
    assert found == Installed("sglang", (*HEALTH, str(script), "serve"), "given", "0.5.23")


def test_beside_paceline_it_is_started_as_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sglang").mkdir()
    (tmp_path / "sglang" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    found = SgLang().find(None, tmp_path)
    assert isinstance(found, Installed)
    assert found.argv == (*HEALTH, sys.executable, "-m", "sglang.launch_server")


def test_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert SgLang().find(None, tmp_path) == "no sglang on the PATH, and no Python package sglang"


def test_the_whole_command() -> None:
    command = SgLang().command(FOUND, "/models/big", "big", HERE, {"tp-size": 2, "enable-metrics": True})
    assert command.shown() == (
        "env SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION=false /env/bin/sglang serve --model-path /models/big"
        " --host 127.0.0.1 --port 28001 --served-model-name big --tp-size 2 --enable-metrics"
    )


@pytest.mark.parametrize(
    "name", ["model", "model-path", "host", "port", "api-key", "admin-api-key", "nnodes"]
)
def test_what_is_not_the_users(name: str) -> None:
    for act in (
        lambda: SgLang().checked(FOUND, {name: "sk-secret"}),
        lambda: SgLang().command(FOUND, "m", "m", HERE, {name: "sk-secret"}),
    ):
        with pytest.raises(ConfigError, match="is not yours to set") as error:
            act()
        assert "sk-secret" not in error.value.message + str(error.value.hint)


def test_other_names_become_the_main_ones() -> None:
    assert SgLang().checked(FOUND, {"tensor-parallel-size": 2}) == {"tp-size": 2}


def test_unknown_options_are_refused_at_the_release_that_is_known() -> None:
    with pytest.raises(ConfigError, match="has no option --max-runing-requests") as error:
        SgLang().checked(FOUND, {"max-runing-requests": 4})
    assert error.value.hint == "did you mean max-running-requests?"
    other = Installed("sglang", FOUND.argv, "given", "0.6.0")
    assert SgLang().checked(other, {"max-runing-requests": 4}) == {"max-runing-requests": 4}
