"""The adapter of TileRT's router."""

from pathlib import Path

import pytest

from paceline.engines.engine import Address, Installed, Settings
from paceline.engines.tilert import OPTIONS, TileRt
from paceline.errors import ConfigError
from tests.support.big_models import machine, model
from tests.support.python_engines import tilert_environment

HERE = Address("127.0.0.1", 28001)
FOUND = Installed("tilert", ("/env/bin/python", "-m", "tilert.pd_vllm.pd_router"), "given", "0.1.6.post3")
NODES = {"vllm-url": "http://a:8000", "decode": "b:5556:5557"}


def test_found_in_an_environment_and_never_run(tmp_path: Path) -> None:
    python = tilert_environment(tmp_path)
    found = TileRt().find(python, tmp_path)
    assert found == Installed(
        "tilert", (str(python), "-m", "tilert.pd_vllm.pd_router"), "given", "0.1.6.post3"
    )


def test_a_release_without_a_server_says_so(tmp_path: Path) -> None:
    reason = TileRt().find(tilert_environment(tmp_path, "0.1.3", server=False), tmp_path)
    assert isinstance(reason, str)
    assert "TileRT 0.1.3" in reason
    assert "has no server" in reason
    assert "0.1.5 and later have one" in reason


def test_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert TileRt().find(None, tmp_path) == "no Python here has the package tilert"
    assert TileRt().find(tmp_path / "none", tmp_path) == f"{tmp_path / 'none'} does not exist"


def test_the_whole_command_with_several_nodes() -> None:
    settings: Settings = {
        "vllm-url": "http://a:8000",
        "decode": "b:5556:5557, c:5556:5557",
        "queue-timeout": 0,
    }
    assert TileRt().command(FOUND, "/models/glm", "glm", HERE, settings).shown() == (
        "/env/bin/python -m tilert.pd_vllm.pd_router --model-path /models/glm --host 127.0.0.1 --port 28001"
        " --vllm-url http://a:8000 --decode b:5556:5557 c:5556:5557 --queue-timeout 0"
    )


def test_nodes_have_to_be_named() -> None:
    with pytest.raises(ConfigError, match="TileRT's router needs its nodes: decode not set") as error:
        TileRt().command(FOUND, "m", "m", HERE, {"vllm-url": "http://a:8000"})
    assert "tilert.pd_vllm.decode_server" in str(error.value.hint)


@pytest.mark.parametrize(
    ("architecture", "name", "family"),
    [
        ("DeepseekV32ForCausalLM", "DeepSeek-V3.2", "dsv32"),
        ("deepseek_v32", "x", "dsv32"),
        ("GlmMoeDsaForCausalLM", "GLM-5", "glm5"),
        ("glm_moe_dsa", "GLM-5.2", "glm5_2"),
    ],
)
def test_models_that_it_serves(architecture: str, name: str, family: str) -> None:
    one = model(10**9, architecture=architecture, name=name)
    values = TileRt().tier("fast", one, machine(0), FOUND).values
    assert values == {"model": family, "queue-timeout": 10}


def test_models_that_it_does_not_serve() -> None:
    with pytest.raises(ConfigError, match=r"TileRT does not serve big \(llama\): it serves DeepSeek-V3.2"):
        TileRt().tier("fast", model(10**9), machine(8), FOUND)


def test_tiers_differ_by_how_long_a_request_waits() -> None:
    waits = [TileRt().tier(tier, None, machine(0), FOUND).values for tier in ("standard", "fast", "ultra")]
    assert waits == [{"queue-timeout": 60}, {"queue-timeout": 10}, {"queue-timeout": 0}]
    assert TileRt().space("fast", None, machine(8), FOUND) == ()


def test_options_of_the_release() -> None:
    assert TileRt().checked(FOUND, {**NODES, "--parser": "none"}) == {**NODES, "parser": "none"}
    with pytest.raises(ConfigError, match="TileRT's router has no option --queue-timout") as error:
        TileRt().checked(FOUND, {"queue-timout": 1})
    assert error.value.hint == "did you mean queue-timeout?"
    for name in ("host", "port", "model-path"):
        with pytest.raises(ConfigError, match="is not yours to set"):
            TileRt().checked(FOUND, {name: "x"})
    assert len(OPTIONS) == 16
