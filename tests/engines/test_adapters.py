"""Which engine serves a model, and what is said where none does."""

from pathlib import Path

import pytest

from paceline.engines import adapters
from paceline.engines.adapters import ADAPTERS, adapter, find_engine
from paceline.engines.engine import ENGINES, EngineName, Installed
from paceline.engines.machine import Gpu, Machine
from paceline.errors import ConfigError
from paceline.weights.model import ModelFacts
from paceline.weights.read import read_model
from tests.support.models import write_gguf, write_safetensors

PLAIN = Machine(2, 1 << 34, 1 << 34)
ACCELERATED = Machine(2, 1 << 34, 1 << 34, (Gpu("H200", 1 << 37, 1 << 37),))


class Known:
    """The part of an adapter that finding needs."""

    def __init__(self, name: EngineName, *, installed: bool, own: str = "") -> None:
        self.name = name
        self.install = (f"get {name}",)
        self._installed = installed
        self._own = own

    def find(self, given: Path | None, home: Path) -> Installed | str:
        if given is not None:
            is_it = given.name == self._own
            return Installed(self.name, (str(given),), "given") if is_it else f"{given} is no {self.name}"
        return Installed(self.name, (self.name,), f"in {home}") if self._installed else "not there"


def only(monkeypatch: pytest.MonkeyPatch, *installed: str) -> None:
    known = {name: Known(name, installed=name in installed, own=name) for name in ENGINES}
    monkeypatch.setattr(adapters, "ADAPTERS", known)


def chosen(name: str, model: str, facts: ModelFacts | None = None, machine: Machine = PLAIN) -> str:
    one, installed = find_engine(name, None, model, facts, machine=machine, home=Path("home"))
    assert installed.engine == one.name
    assert installed.found == "in home"
    return one.name


@pytest.fixture
def gguf(tmp_path: Path) -> ModelFacts:
    return read_model(write_gguf(tmp_path / "model.gguf"))


@pytest.fixture
def folder(tmp_path: Path) -> ModelFacts:
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": 96,
        "max_position_embeddings": 2048,
    }
    tensors = {
        "model.embed_tokens.weight": ("BF16", (96, 64)),
        "model.layers.0.self_attn.q_proj.weight": ("BF16", (64, 64)),
        "lm_head.weight": ("BF16", (96, 64)),
    }
    return read_model(write_safetensors(tmp_path / "folder", config, tensors))


def test_there_is_an_adapter_of_each_engine() -> None:
    assert set(ADAPTERS) == set(ENGINES)
    assert all(one.name == name for name, one in ADAPTERS.items())
    assert adapter("llama.cpp") is ADAPTERS["llama.cpp"]


def test_an_engine_that_there_is_not() -> None:
    with pytest.raises(ConfigError) as caught:
        adapter("llamacpp")
    assert caught.value.hint == "did you mean llama.cpp?"


def test_auto_goes_by_the_format(
    monkeypatch: pytest.MonkeyPatch, gguf: ModelFacts, folder: ModelFacts
) -> None:
    only(monkeypatch, "llama.cpp", "vllm", "sglang")
    assert chosen("auto", "model.gguf", gguf) == "llama.cpp"
    assert chosen("auto", "folder", folder) == "vllm"
    assert chosen("auto", "org/model") == "vllm"
    assert chosen("auto", "org/model-GGUF") == "llama.cpp"


def test_auto_takes_what_is_installed(monkeypatch: pytest.MonkeyPatch, folder: ModelFacts) -> None:
    only(monkeypatch, "llama.cpp", "sglang")
    assert chosen("auto", "folder", folder, ACCELERATED) == "sglang"
    # It serves on GPUs only.
    with pytest.raises(ConfigError):
        chosen("auto", "folder", folder)


def test_none_is_installed(monkeypatch: pytest.MonkeyPatch, folder: ModelFacts) -> None:
    only(monkeypatch)
    with pytest.raises(ConfigError) as caught:
        chosen("auto", "folder", folder, ACCELERATED)
    assert caught.value.message == (
        "no engine that can serve folder is installed (vllm: not there; sglang: not there)"
    )
    assert caught.value.hint == "install vllm: get vllm. Or install sglang: get sglang"


def test_a_binary_says_which_engine_auto_is(monkeypatch: pytest.MonkeyPatch, folder: ModelFacts) -> None:
    only(monkeypatch)
    one, _ = find_engine("auto", Path("sglang"), "folder", folder, machine=PLAIN)
    assert one.name == "sglang"


def test_a_binary_of_another_engine(monkeypatch: pytest.MonkeyPatch, gguf: ModelFacts) -> None:
    only(monkeypatch, "llama.cpp")
    with pytest.raises(ConfigError) as caught:
        find_engine("auto", Path("vllm"), "model.gguf", gguf, machine=PLAIN)
    assert caught.value.message == "vllm is no llama.cpp"
    assert "--binary" in (caught.value.hint or "")


def test_a_format_that_an_engine_does_not_read(
    monkeypatch: pytest.MonkeyPatch, gguf: ModelFacts, folder: ModelFacts
) -> None:
    only(monkeypatch, *ENGINES)
    with pytest.raises(ConfigError) as caught:
        chosen("llama.cpp", "folder", folder)
    assert "convert" in (caught.value.hint or "")
    with pytest.raises(ConfigError):
        chosen("sglang", "model.gguf", gguf)
