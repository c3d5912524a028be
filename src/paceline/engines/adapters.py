"""The engines that Paceline knows, and which of them is to serve a model."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from paceline.config import choice_hint
from paceline.engines.engine import ENGINES, Adapter, EngineName, Installed
from paceline.engines.llama_cpp import LlamaCpp
from paceline.engines.machine import Machine
from paceline.engines.sglang import SgLang
from paceline.engines.tilert import TileRt
from paceline.engines.vllm import Vllm
from paceline.errors import ConfigError
from paceline.store.paths import home as usual_home
from paceline.weights.model import ModelFacts

ADAPTERS: Mapping[EngineName, Adapter] = MappingProxyType(
    {"llama.cpp": LlamaCpp(), "vllm": Vllm(), "sglang": SgLang(), "tilert": TileRt()}
)


def adapter(name: str) -> Adapter:
    """The adapter of an engine. Raises ConfigError for a name that there is not."""
    for known in ENGINES:
        if known == name:
            return ADAPTERS[known]
    raise ConfigError(f"there is no engine {name!r}", choice_hint(name, "engines", ("auto", *ENGINES)))


def find_engine(
    name: str,
    binary: Path | None,
    model: str,
    facts: ModelFacts | None,
    *,
    machine: Machine,
    home: Path | None = None,
) -> tuple[Adapter, Installed]:
    """The engine that is to serve a model, as it is installed here.

    name: an engine, or `auto`: the first that is installed of those that can serve the model, by its format.
    With a binary `auto` takes the engine that it is. Raises ConfigError where there is none, with how to
    install each that could serve, and for a binary that cannot be run or is another engine's.
    """
    place = home or usual_home()
    if name == "auto":
        fitting = [ADAPTERS[one] for one in _serving(model, facts, machine, named=binary is not None)]
    else:
        one = adapter(name)
        _check_format(one, model, facts)
        fitting = [one]
    if binary is not None:
        return _by_binary(fitting, binary, place)
    reasons = []
    for one in fitting:
        found = one.find(None, place)
        if isinstance(found, Installed):
            return one, found
        reasons.append(f"{one.name}: {found}")
    ways = [f"install {one.name}: {'; or '.join(one.install)}" for one in fitting]
    raise ConfigError(
        f"no engine that can serve {model} is installed ({'; '.join(reasons)})", ". Or ".join(ways)
    )


def _by_binary(fitting: list[Adapter], binary: Path, home: Path) -> tuple[Adapter, Installed]:
    reasons = []
    for one in fitting:
        found = one.find(binary, home)
        if isinstance(found, Installed):
            return one, found
        reasons.append(found)
    raise ConfigError(
        "; ".join(dict.fromkeys(reasons)),
        "give the path of a program of "
        f"{' or '.join(one.name for one in fitting)} that runs on this machine, or leave --binary out",
    )


def _serving(
    model: str, facts: ModelFacts | None, machine: Machine, *, named: bool
) -> tuple[EngineName, ...]:
    """Engines that can serve a model, the best first; named: all, since a binary says which it is to be."""
    if facts is not None and facts.format == "gguf":
        return ("llama.cpp",)
    if facts is None and "gguf" in model.lower():
        # A hub's name that says of itself that its files are GGUF.
        return ("llama.cpp",)
    if named:
        return ("vllm", "sglang", "tilert")
    return ("vllm", "sglang") if machine.gpus else ("vllm",)


def _check_format(one: Adapter, model: str, facts: ModelFacts | None) -> None:
    if facts is None:
        return
    if facts.format == "safetensors" and one.name == "llama.cpp":
        raise ConfigError(
            f"{model} is a folder of safetensors, and llama.cpp reads GGUF",
            "convert it (convert_hf_to_gguf.py of llama.cpp), or serve it with --engine vllm",
        )
    if facts.format == "gguf" and one.name in ("sglang", "tilert"):
        raise ConfigError(
            f"{model} is a GGUF file, which {one.name} does not serve", "serve it with --engine llama.cpp"
        )
