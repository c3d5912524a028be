"""The command of a llama-server: the user's settings are checked and spelt, and nothing else gets in."""

from pathlib import Path

import pytest

from paceline.engines.engine import Address, Installed, Settings
from paceline.engines.llama_cpp import LlamaCpp
from paceline.errors import ConfigError
from tests.engines.test_llama_cpp_options import HELP

ADAPTER = LlamaCpp()
ADDRESS = Address("127.0.0.1", 20001)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """A build that answers `--help` as the real one, for the options that the help names."""
    binary = tmp_path_factory.mktemp("engine") / "llama-server"
    binary.write_text(f"#!/bin/sh\ncat {HELP}\n")
    binary.chmod(0o755)
    return Installed("llama.cpp", (str(binary),), "given")


def argv(installed: Installed, settings: Settings, model: str = "org/model-GGUF:Q4_K_M") -> list[str]:
    command = ADAPTER.command(installed, model, "name", ADDRESS, settings)
    assert command.argv[0] == installed.argv[0]
    return list(command.argv[1:])


def test_the_whole_command(installed: Installed, tmp_path: Path) -> None:
    model = tmp_path / "model.gguf"
    model.write_bytes(b"GGUF")
    settings: Settings = {
        "parallel": 2,
        "metrics": True,
        "perf": False,
        "ctx-size": None,
        "spec-type": "ngram-mod",
    }
    start = ["--model", str(model), "--alias", "name", "--host", "127.0.0.1", "--port", "20001"]
    assert argv(installed, settings, str(model)) == [
        *start,
        *("--parallel", "2", "--metrics", "--spec-type", "ngram-mod"),
    ]


def test_a_name_is_one_of_a_hub(installed: Installed) -> None:
    assert argv(installed, {})[:2] == ["--hf-repo", "org/model-GGUF:Q4_K_M"]


def test_the_users_settings_are_spelt_by_the_first_long_name(installed: Installed) -> None:
    given: Settings = {"--ngl": 9, "np": 2, "n-gpu-layers": 9, "cache-type-k": "q8_0"}
    assert ADAPTER.checked(installed, given) == {"gpu-layers": 9, "parallel": 2, "cache-type-k": "q8_0"}


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"kv-unified": True}, {"kv-unified": True, "no-kv-unified": None}),
        ({"kv-unified": False}, {"kv-unified": None, "no-kv-unified": True}),
        ({"no-kv-unified": True}, {"kv-unified": None, "no-kv-unified": True}),
        ({"no-kv-unified": False}, {"kv-unified": True, "no-kv-unified": None}),
        ({"kvu": None}, {"kv-unified": None, "no-kv-unified": None}),
    ],
)
def test_of_a_pair_only_one_stands(installed: Installed, given: Settings, made: Settings) -> None:
    assert ADAPTER.checked(installed, given) == made


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("model", "own argument"),
        ("m", "own argument"),
        ("hf-repo", "own argument"),
        ("port", "--port"),
        ("a", "--name"),
        ("api-key", "LLAMA_API_KEY"),
        ("hf-token", "HF_TOKEN"),
        ("version", "serves no model"),
    ],
)
def test_what_is_not_the_users(installed: Installed, name: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ADAPTER.checked(installed, {name: "secret-value"})
    assert hint in (caught.value.hint or "")
    assert "secret-value" not in caught.value.message + (caught.value.hint or "")


@pytest.mark.parametrize("name", ["api-key", "model", "port", "m", "a", "hft", "mu"])
def test_it_does_not_get_into_a_command_by_another_way(installed: Installed, name: str) -> None:
    with pytest.raises(ConfigError):
        argv(installed, {name: "x"})


def test_an_option_that_there_is_not(installed: Installed) -> None:
    with pytest.raises(ConfigError) as caught:
        ADAPTER.checked(installed, {"paralel": 2})
    assert caught.value.message == "this llama-server has no option --paralel"
    assert caught.value.hint == "did you mean parallel?"
    with pytest.raises(ConfigError):
        argv(installed, {"paralel": 2})


@pytest.mark.parametrize("given", ["ctx-size", "c"])
def test_an_option_that_takes_a_value_is_not_given_without_one(installed: Installed, given: str) -> None:
    with pytest.raises(ConfigError, match=f"{given} takes a value") as caught:
        ADAPTER.checked(installed, {given: True})
    assert caught.value.hint == f"write it as {given}=N"


def test_an_option_that_there_was(installed: Installed) -> None:
    with pytest.raises(ConfigError) as caught:
        ADAPTER.checked(installed, {"draft-max": 2})
    assert "any more" in caught.value.message
    assert "--spec-draft-n-max" in (caught.value.hint or "")


def test_a_build_that_tells_of_no_options_is_not_second_guessed(tmp_path: Path) -> None:
    binary = tmp_path / "llama-server"
    binary.write_text("#!/bin/sh\nexit 1\n")
    binary.chmod(0o755)
    silent = Installed("llama.cpp", (str(binary),), "given")
    assert ADAPTER.checked(silent, {"brand-new": 2}) == {"brand-new": 2}
    assert argv(silent, {"brand-new": 2})[-2:] == ["--brand-new", "2"]
    with pytest.raises(ConfigError):
        ADAPTER.checked(silent, {"model": "x"})


def test_every_way_to_install_is_one_line() -> None:
    assert ADAPTER.install
    assert all("\n" not in way and way.strip() for way in ADAPTER.install)
