"""Read `paceline.toml` for the gateway: all that is wrong with it is found at once."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from paceline.config import closest
from paceline.control.config import Config, GatewayConfig, ModelConfig, OfferConfig
from paceline.control.problems import GatewayConfigError
from paceline.settings import Settings
from paceline.toml_file import Problem, TomlFileError, dotted, problems_of, read_toml
from paceline.toml_lines import Path as KeyPath
from paceline.toml_lines import line_of

_PARTS = ("gateway", "model", "offer")
_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(frozen=True)
class ConfigFile:
    """A config that was read, and where in its file each thing stands.

    `config` is whole only where there are no `problems`: what is wrong is left out of it. `model_places` and
    `offer_places` say which of the file's tables its models and offers are.
    """

    path: Path
    config: Config
    lines: dict[KeyPath, int]
    ids: dict[str, list[str]]
    model_places: tuple[int, ...]
    offer_places: tuple[int, ...]
    problems: tuple[Problem, ...] = ()

    def problem(self, path: KeyPath, message: str, hint: str | None = None) -> Problem:
        """Something that is wrong at a key, as ("offer", 2, "price")."""
        return Problem(_where(path, self.ids), message, hint, line_of(self.lines, path))


def read_config(path: Path, *, needs_offers: bool = True) -> ConfigFile:
    """The config, with each problem that the file alone shows. `needs_offers`: to have none is one.

    Raises GatewayConfigError where there is no file, or it is not TOML.
    """
    data, lines = _parsed(path)
    return _Reader(path, data, lines).read(needs_offers=needs_offers)


def _parsed(path: Path) -> tuple[dict[str, Any], dict[KeyPath, int]]:
    try:
        return read_toml(path, "check the path, or write an example: paceline gateway init")
    except TomlFileError as error:
        raise GatewayConfigError(path, [error.problem]) from None


class _Reader:
    def __init__(self, path: Path, data: dict[str, Any], lines: dict[KeyPath, int]) -> None:
        self._path = path
        self._data = data
        self._lines = lines
        self._problems: list[Problem] = []
        self._ids = {part: _ids(data.get(part)) for part in ("model", "offer")}

    def read(self, *, needs_offers: bool) -> ConfigFile:
        self._rest()
        gateway = self._one(GatewayConfig, self._data.get("gateway", {}), ("gateway",))
        models = self._many(ModelConfig, "model")
        offers = self._many(OfferConfig, "offer")
        self._duplicates()
        self._fallbacks(models)
        if needs_offers and not self._data.get("offer"):
            self._note(
                (),
                "there is no [[offer]]",
                "add one with id, model and base_url; paceline gateway init shows how",
            )
        config = Config(
            gateway=gateway or GatewayConfig(),
            models=tuple(one for one in models if one is not None),
            offers=tuple(one for one in offers if one is not None),
        )
        return ConfigFile(
            self._path,
            config,
            self._lines,
            self._ids,
            tuple(place for place, one in enumerate(models) if one is not None),
            tuple(place for place, one in enumerate(offers) if one is not None),
            tuple(self._problems),
        )

    def _rest(self) -> None:
        """What other commands read of the file."""
        self._one(Settings, {key: value for key, value in self._data.items() if key not in _PARTS}, ())

    def _many(self, model: type[_Model], part: str) -> list[_Model | None]:
        items = self._data.get(part, [])
        if not isinstance(items, list):
            self._note((part,), f"it is a table, and must be a list of tables: write [[{part}]]")
            return []
        return [self._one(model, item, (part, place)) for place, item in enumerate(items)]

    def _one(self, model: type[_Model], data: Any, path: KeyPath) -> _Model | None:
        if not isinstance(data, dict):
            self._note(path, "it must be a table")
            return None
        try:
            return model.model_validate(data)
        except ValidationError as error:
            for inner, message, hint in problems_of(model, error):
                self._note((*path, *inner), message, hint)
        return None

    def _duplicates(self) -> None:
        for offer_id, count in Counter(one for one in self._ids["offer"] if one).items():
            if count > 1:
                last = len(self._ids["offer"]) - 1 - self._ids["offer"][::-1].index(offer_id)
                self._note(("offer", last, "id"), "another offer has this id", "give each its own")
        seen: set[str] = set()
        for place, names in enumerate(self._names_of_models()):
            for name in names:
                if name in seen:
                    self._note(
                        ("model", place),
                        f"another model is called {_quoted(name)} too",
                        "give each name to one model",
                    )
                seen.add(name)

    def _names_of_models(self) -> list[list[str]]:
        items = self._data.get("model", [])
        if not isinstance(items, list):
            return []
        tables = [item if isinstance(item, dict) else {} for item in items]
        aliases = [item.get("aliases") for item in tables]
        return [
            [
                name
                for name in [item.get("id"), *(more if isinstance(more, list) else [])]
                if isinstance(name, str)
            ]
            for item, more in zip(tables, aliases, strict=True)
        ]

    def _fallbacks(self, models: list[ModelConfig | None]) -> None:
        of_offers = (
            [item.get("model") for item in self._data.get("offer", []) if isinstance(item, dict)]
            if isinstance(self._data.get("offer", []), list)
            else []
        )
        known = [name for names in self._names_of_models() for name in names]
        known += [name for name in of_offers if isinstance(name, str)]
        for place, model in enumerate(models):
            for at, name in enumerate(model.fallbacks if model else ()):
                if name not in known:
                    near = closest(name, known)
                    hint = (
                        f"did you mean {_quoted(near)}?" if near else "add it as [[model]], or with an offer"
                    )
                    self._note(("model", place, "fallbacks", at), "there is no such model", hint)

    def _note(self, path: KeyPath, message: str, hint: str | None = None) -> None:
        where = _where(path, self._ids)
        self._problems.append(Problem(where, message, hint, line_of(self._lines, path)))


def _ids(items: Any) -> list[str]:
    if not isinstance(items, list):
        return []
    found = [item.get("id") if isinstance(item, dict) else None for item in items]
    return [one if isinstance(one, str) else "" for one in found]


def _where(path: KeyPath, ids: dict[str, list[str]]) -> str:
    """`offer "local-a": price.ref`; `gateway.listen`."""
    if len(path) < 2 or not isinstance(path[1], int):
        return dotted(path)
    part, place = str(path[0]), path[1]
    names = ids.get(str(part), [])
    name = _quoted(names[place]) if place < len(names) and names[place] else f"number {place + 1}"
    return f"{part} {name}" + (f": {dotted(path[2:])}" if path[2:] else "")


def _quoted(name: str) -> str:
    return f'"{name[:80]}"'
