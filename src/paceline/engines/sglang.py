"""SGLang: `sglang serve`. Options and words are those of release 0.5.23 (docs/reference/engines.md)."""

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
from paceline.engines.python_package import Package, find_program
from paceline.engines.sglang_failure import KNOWN, MEMORY_HINT
from paceline.engines.sglang_tiers import search_space, spell_speculation, tier_settings
from paceline.engines.space import Choice
from paceline.weights.model import ModelFacts

PACKAGE = Package("sglang", "sglang", ("sglang",), "sglang.launch_server")
# Asked for `/health`, SGLang has a token generated and waits a second for it: a load on what is measured.
# With this it only says whether the start is over. It stands in the command, so that that can be copied.
_HEALTH = ("env", "SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION=false")
_KEY = "a command shows in lists of processes, and SGLang takes keys in no other way: leave keys to a gateway"
_OTHER = "Paceline would not find the server there: leave it to a gateway"
_MACHINES = "engines over several machines are started by their own tools: give `paceline measure` the URL"
_REFUSED = {
    **dict.fromkeys(("model-path", "model", "config"), IS_THE_MODEL),
    **dict.fromkeys(("host", "port"), IS_THE_ADDRESS),
    "served-model-name": IS_THE_NAME,
    **dict.fromkeys(("api-key", "admin-api-key"), _KEY),
    **dict.fromkeys(
        ("ssl-keyfile", "ssl-certfile", "fastapi-root-path", "smg-grpc-mode", "grpc-mode"), _OTHER
    ),
    **dict.fromkeys(("nnodes", "node-rank", "dist-init-addr"), _MACHINES),
    **dict.fromkeys(("encoder-only", "is-embedding", "help"), "with it SGLang writes no text"),
}


class SgLang:
    """The adapter. Its settings are long options of `sglang serve`."""

    name: EngineName = "sglang"
    base_path = "/v1"
    health_path = "/health"
    # Weights from a slow disk or a hub, kernels built on first use, CUDA graphs.
    ready_timeout_s = 3600.0
    install: tuple[str, ...] = (
        "uv tool install sglang (NVIDIA GPUs; Linux)",
        "pip install sglang in an environment of its own, and --binary ENVIRONMENT/bin/sglang",
    )

    def find(self, given: Path | None, home: Path) -> Installed | str:  # noqa: ARG002
        """The program that was given, else `sglang` on the PATH, else the package beside Paceline."""
        program = find_program(PACKAGE, given)
        if isinstance(program, str):
            return program
        # `python -m sglang.launch_server` is the command that has no word for serving.
        verb = () if "-m" in program.argv else ("serve",)
        return Installed("sglang", (*_HEALTH, *program.argv, *verb), program.found, program.version)

    def checked(self, installed: Installed, settings: Settings) -> Settings:
        """The user's own settings by main names; see `Adapter.checked`.

        An option that is not known is refused where the release is the one that the list was read from.
        """
        options = options_of("sglang")
        own: dict[str, Value] = {}
        for given, value in settings.items():
            name = given.lstrip("-")
            refuse(name, _REFUSED)
            own.update(options.spell(name, value, strict=installed.version == options.release))
        return spell_speculation(own)

    def tier(
        self, tier: Tier, model: ModelFacts | None, machine: Machine, installed: Installed
    ) -> TierSettings:
        """Settings of a tier. Raises ConfigError where no GPU can hold the model."""
        del installed
        return tier_settings(tier, model, machine)

    def space(
        self, tier: Tier, model: ModelFacts | None, machine: Machine, installed: Installed
    ) -> tuple[Choice, ...]:
        """What the tuner may turn."""
        del installed
        return search_space(tier, model, machine)

    def command(
        self, installed: Installed, model: str, served_name: str, address: Address, settings: Settings
    ) -> Command:
        """`sglang serve --model-path MODEL --host ... --port ... --served-model-name ...`, then settings."""
        for name in settings:
            refuse(name, _REFUSED)
        argv = [*installed.argv, "--model-path", model]
        argv += address_argv(address)
        argv += ["--served-model-name", served_name, *argv_of(settings)]
        return Command(tuple(argv), installed.environment)

    def failure(self, log_tail: str, exit_code: int | None) -> Failure | None:
        """What the end of the log tells; None: nothing that is known."""
        return read_failure(log_tail, exit_code, KNOWN, MEMORY_HINT)
