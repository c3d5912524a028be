"""TileRT: the router of release 0.1.6.post3, in front of decode nodes and a vLLM that reads prompts.

TileRT decodes one request at a time on eight GPUs of one node (B200), models of two families, and has no
server before 0.1.5 (docs/reference/engines.md). Since then three kinds of process serve together: vLLM reads
prompts and sends their KV over, decode nodes write the answers (`python -m tilert.pd_vllm.decode_server`), a
router speaks to clients. The nodes hold their GPUs for long and lie on several machines: their owner starts
them. What this adapter starts is the router.
"""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from paceline.config import closest
from paceline.engines.binary import unusable
from paceline.engines.command_line import IS_THE_ADDRESS, IS_THE_MODEL, address_argv, argv_of, refuse
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
from paceline.engines.gathered import Gathered
from paceline.engines.machine import Machine
from paceline.engines.python_failure import Known, read_failure
from paceline.engines.space import Choice
from paceline.errors import ConfigError
from paceline.weights.model import ModelFacts

RELEASE = "0.1.6.post3"
ROUTER = "tilert.pd_vllm.pd_router"
PREFILL = "vllm-url"
DECODE = "decode"
# Long options of the router at RELEASE.
OPTIONS = (
    *("vllm-url", "decode", "host", "port", "model-path", "parser", "model", "generation-config"),
    *("default-temperature", "default-top-p", "default-top-k", "default-repetition-penalty", "queue-timeout"),
    *("force-include-usage", "chat-template", "default-chat-template-kwargs"),
)
_QUEUE_S = {"standard": 60, "fast": 10, "ultra": 0}
_REFUSED = {
    "model-path": IS_THE_MODEL,
    **dict.fromkeys(("host", "port"), IS_THE_ADDRESS),
    "help": "with it nothing is served",
}
# By what a model's configuration calls itself: the router's name of the family.
_FAMILIES = {"deepseekv32": "dsv32", "glmmoedsa": "glm5", "glm5": "glm5"}
_NODES = (
    "start these first: `vllm serve` with TileRT's connector for the prompts, and on each node of eight B200 "
    "`python -m tilert.pd_vllm.decode_server --engine tilert --with-mtp --model-weights-dir ...`; then "
    f"--set {PREFILL}=http://HOST:PORT --set {DECODE}=HOST:5556:5557"
)
_KNOWN: tuple[Known, ...] = (
    (
        r"HTTPConnectionPool\(host='(?P<host>[^']+)', port=(?P<port>\d+)\)",
        "its node {host}:{port} does not answer",
        "start that node, or name another; see its own log",
        False,
    ),
    (
        r"cannot serve with these sampling defaults:\s*(?P<why>.+)",
        "the model's own sampling cannot be done by TileRT: {why}",
        "set generation-config=vllm, or the default-... that it names",
        True,
    ),
    (
        r"--parser requires --model-path",
        "the router needs the model's tokenizer",
        "give the folder of the model, or set parser=none",
        True,
    ),
    (
        r"unknown model profile '?(?P<name>[^';]+)'?",
        "it knows no model that is called {name}",
        "set model=dsv32, glm5 or glm5_2",
        True,
    ),
)


class TileRt:
    """The adapter. Its settings are long options of TileRT's router."""

    name: EngineName = "tilert"
    base_path = "/v1"
    health_path = "/health"
    # A router loads a tokenizer, no weights.
    ready_timeout_s = 600.0
    install: tuple[str, ...] = (
        'pip install "tilert[pd]>=0.1.5" with Python 3.12 (decode nodes: 8 x B200, DeepSeek-V3.2 or GLM-5), '
        "then --binary ENVIRONMENT/bin/python",
    )

    def find(self, given: Path | None, home: Path) -> Installed | str:  # noqa: ARG002
        """A Python that has TileRT: the given one, else Paceline's, else one on the PATH; not run."""
        if given is not None:
            return _in_environment(given.expanduser(), "given")
        reasons = []
        for python, found in _pythons():
            one = _in_environment(python, found)
            if isinstance(one, Installed):
                return one
            if "has no server" in one:
                reasons.append(one)
        return "; ".join(dict.fromkeys(reasons)) or "no Python here has the package tilert"

    def checked(self, installed: Installed, settings: Settings) -> Settings:
        """The user's own settings, as they are; see `Adapter.checked`."""
        own: dict[str, Value] = {}
        for given, value in settings.items():
            name = given.lstrip("-")
            refuse(name, _REFUSED)
            if installed.version == RELEASE and name not in OPTIONS:
                near = closest(name, list(OPTIONS))
                raise ConfigError(
                    f"TileRT's router has no option --{name}",
                    f"did you mean {near}?" if near else f"it has: {', '.join(OPTIONS)}",
                )
            own[name] = value
        return own

    def tier(
        self, tier: Tier, model: ModelFacts | None, machine: Machine, installed: Installed
    ) -> TierSettings:
        """Settings of a tier. Raises ConfigError for a model that TileRT does not serve."""
        del machine, installed
        made = Gathered()
        family = _family(model)
        if family is not None:
            made.add("model", family, "which sampling the decode nodes can do")
        waits = {
            "standard": "a decode node writes one answer at a time: further requests wait so many seconds",
            "fast": "a request that waits longer is better refused, and sent elsewhere",
            "ultra": "a request is served at once or refused at once",
        }
        made.add("queue-timeout", _QUEUE_S[tier], waits[tier])
        return made.settings()

    def space(
        self, tier: Tier, model: ModelFacts | None, machine: Machine, installed: Installed
    ) -> tuple[Choice, ...]:
        """Nothing: what makes it fast is set on the decode nodes."""
        del tier, model, machine, installed
        return ()

    def command(
        self, installed: Installed, model: str, served_name: str, address: Address, settings: Settings
    ) -> Command:
        """The router's command. Clients call the model as the vLLM behind it does, whatever `served_name` is.

        Raises ConfigError where the nodes are not named.
        """
        del served_name
        missing = [name for name in (PREFILL, DECODE) if not settings.get(name)]
        if missing:
            raise ConfigError(f"TileRT's router needs its nodes: {' and '.join(missing)} not set", _NODES)
        for name in settings:
            refuse(name, _REFUSED)
        argv = [*installed.argv, "--model-path", model, *address_argv(address)]
        for name, value in settings.items():
            words = argv_of({name: value})
            # Several decode nodes stand beside each other.
            argv += words if name != DECODE else " ".join(words).replace(",", " ").split()
        return Command(tuple(argv), installed.environment)

    def failure(self, log_tail: str, exit_code: int | None) -> Failure | None:
        """What the end of the log tells; None: nothing that is known."""
        return read_failure(log_tail, exit_code, _KNOWN, "give the router more memory")


def _pythons() -> Iterator[tuple[Path, str]]:
    yield Path(sys.executable), "beside Paceline"
    for name in ("python3.12", "python3"):
        on_path = shutil.which(name)
        if on_path is not None:
            yield Path(on_path), "with the Python on the PATH"


def _in_environment(python: Path, found: str) -> Installed | str:
    reason = unusable(python)
    if reason is not None:
        return f"{python} {reason}"
    # Not resolved: in an environment `python` is a link to the one that it was made with.
    for libraries in sorted(python.absolute().parent.parent.glob("lib/python3*/*-packages")):
        for folder in libraries.glob("tilert-*.dist-info"):
            version = folder.name.removeprefix("tilert-").removesuffix(".dist-info")
            if (libraries / "tilert" / "pd_vllm" / "pd_router.py").exists():
                return Installed("tilert", (str(python.absolute()), "-m", ROUTER), found, version)
            return (
                f"TileRT {version} of {python} has no server: it writes to a terminal from Python only; "
                "0.1.5 and later have one (Python 3.12)"
            )
    return f"{python} is not a Python that has the package tilert"


def _family(model: ModelFacts | None) -> str | None:
    if model is None:
        return None
    plain = "".join(letter for letter in model.architecture.lower() if letter.isalnum())
    for mark, family in _FAMILIES.items():
        if mark in plain:
            later = family == "glm5" and any(
                one in model.name.lower() for one in ("5.2", "5.3", "5_2", "5_3")
            )
            return "glm5_2" if later else family
    raise ConfigError(
        f"TileRT does not serve {model.name} ({model.architecture}): it serves DeepSeek-V3.2 and GLM-5 only",
        "serve it with --engine vllm or --engine sglang",
    )
