"""The problems of a probe: a pure function of the library's version, the families and the seed."""

import dataclasses
import hashlib
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from paceline.errors import ConfigError
from paceline.workloads.capability.answer import tidied
from paceline.workloads.capability.families import FAMILIES
from paceline.workloads.capability.spec import MOST_ITEMS, ProbeSpec

LIBRARY = "reasoning-gym"
INSTALL = "pip install 'paceline[capability]'"
PROMPT_END = (
    "Think it through if you need to. Then end with one line that has nothing but your final answer, "
    "in this form:\nAnswer: <your final answer>"
)


class Dataset(Protocol):
    """A family of reasoning-gym with its settings and seed."""

    config: Any

    def __getitem__(self, place: int) -> dict[str, Any]:
        """Problem number `place`: `question`, `answer`, `metadata`."""

    def score_answer(self, answer: str | None, entry: dict[str, Any]) -> float:
        """0 to 1."""


@dataclass(frozen=True)
class Item:
    """One problem: what is asked, and the library's own entry, by which it is scored."""

    family: str
    prompt: str
    entry: dict[str, Any]


def library_version() -> str:
    """As in `reasoning-gym 0.1.25`. Raises ConfigError where it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"{LIBRARY} {version(LIBRARY)}"
    except PackageNotFoundError:
        raise ConfigError(
            f"the capability probe needs {LIBRARY}, which is not installed", f"install it: {INSTALL}"
        ) from None


class Items:
    """The problems of a probe, in the order in which they are asked.

    A probe without a seed gets a fresh one, which `pinned` has. Raises ConfigError without the library, and
    with another one than the probe was begun with.
    """

    def __init__(self, spec: ProbeSpec) -> None:
        seed = secrets.randbits(62) if spec.seed is None else spec.seed
        self.spec = spec.model_copy(update={"seed": seed})
        self.library = library_version()
        if spec.library not in (None, self.library):
            raise ConfigError(
                f"the probe was begun with {spec.library}, and {self.library} is installed, "
                "which may make other problems",
                f"install it again: pip install '{str(spec.library).replace(' ', '==')}'",
            )
        self._made: dict[int, Item] = {}
        self.datasets = {name: _dataset(name, seed) for name in spec.families}
        if spec.config_sha256 not in (None, self.config_sha256):
            raise ConfigError(
                "the probe was begun by a Paceline that asks its problems otherwise",
                "go on with the Paceline that began it, or begin a new one",
            )

    def __len__(self) -> int:
        return self.spec.items

    @cached_property
    def config_sha256(self) -> str:
        """Of all that the problems depend on beside library and seed: settings of families, the prompt."""
        settings = {name: _settings(one) for name, one in self.datasets.items()}
        text = json.dumps([PROMPT_END, settings], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def pinned(self) -> ProbeSpec:
        """The spec with what made its problems."""
        return self.spec.model_copy(update={"library": self.library, "config_sha256": self.config_sha256})

    def item(self, index: int) -> Item:
        """Problem `index`, from 0. Families take turns, so that a probe that is cut has as many of each."""
        if index not in self._made:
            families: Sequence[str] = self.spec.families
            name = families[index % len(families)]
            entry = self.datasets[name][index // len(families)]
            prompt = f"{str(entry['question']).strip()}\n\n{PROMPT_END}"
            self._made[index] = Item(name, prompt, entry)
        return self._made[index]

    def score(self, item: Item, answer: str) -> float:
        """What the family gives for an answer as it was written, 0 to 1."""
        form = FAMILIES[item.family].form
        try:
            return float(self.datasets[item.family].score_answer(tidied(answer, form), item.entry))
        except Exception:
            # The library's rules were not made for every text; one that they fall over is no answer.
            return 0.0


def _dataset(name: str, seed: int) -> Dataset:
    try:
        from reasoning_gym import create_dataset
    except ImportError as error:
        raise ConfigError(f"{LIBRARY} cannot be used: {error}", f"install it: {INSTALL}") from None
    # The library's seed of problem k is seed + k: seeds that lie near each other would share problems.
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    own_seed = int.from_bytes(digest[:7], "big")
    made: Dataset = create_dataset(name, seed=own_seed, size=MOST_ITEMS, **FAMILIES[name].settings)
    return made


def _settings(dataset: Dataset) -> dict[str, Any]:
    """The whole configuration of a family, without what is of one probe."""
    given = dataclasses.asdict(dataset.config)
    return {key: value for key, value in given.items() if key not in ("seed", "size")}
