"""What is in force: config, keys and addresses that the data plane works by, and their changes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from paceline.control.addresses import Addresses, look_up
from paceline.control.compile import Spent, routes_document, settings_document, table_warnings
from paceline.control.config import GatewayConfig, overridden
from paceline.control.keys import KeyStore, StoredKey, keys_file
from paceline.control.prepare import Prepared, prepare
from paceline.control.problems import GatewayConfigError
from paceline.control.read import read_config
from paceline.toml_file import Problem

# Of [gateway]: what a data plane can take while it runs.
_LIVE = frozenset({"require_key", "policy", "hedging", "probing"})
LookUp = Callable[..., Addresses]


@dataclass(frozen=True)
class Force:
    """One state of it. Nothing here changes: a change is another."""

    prepared: Prepared
    keys: list[StoredKey]
    addresses: Addresses
    version: int

    def table(self, spent: Spent | None = None, now: datetime | None = None) -> dict[str, Any]:
        """`paceline.routes/1`, secret. spent: for a data plane that starts with it, as of `now`."""
        return routes_document(
            self.prepared,
            self.addresses,
            self.keys,
            version=self.version,
            spent=spent or {},
            as_of_unix_s=int((now or datetime.now(UTC)).timestamp()),
        )

    @cached_property
    def timeless(self) -> dict[str, Any]:
        """The table without what differs whenever it is written, to be compared. Secret."""
        table = self.table(now=datetime.fromtimestamp(0, UTC))
        return {name: value for name, value in table.items() if name != "version"}

    def warnings(self) -> list[Problem]:
        """All that is amiss and does not stop it, in the order of the file."""
        found = [*self.prepared.warnings, *table_warnings(self.prepared, self.addresses, self.keys)]
        return sorted(found, key=lambda one: one.line or 0)


class Source:
    """Where it comes from: a file, options over it, and a home. `first` and `next` read it anew.

    options: `listen` and `admin_listen` of the command line.
    """

    def __init__(self, file: Path, options: Mapping[str, Any], home: Path, resolve: LookUp = look_up) -> None:
        self.file = file
        self.home = home
        self._options = options
        self._look_up = resolve

    def first(self) -> Force:
        """What a gateway starts with. Raises GatewayConfigError, StoreError."""
        prepared = self._prepared()
        return Force(prepared, self._keys(), self._look_up(prepared.targets(), Addresses()), 1)

    def next(self, now: Force) -> Force:
        """What is in force next; `now` itself where nothing is another.

        Raises GatewayConfigError, also for what cannot change while the gateway runs; StoreError.
        """
        prepared = self._prepared()
        fixed = changed_fixed_keys(now.prepared.file.config.gateway, prepared.file.config.gateway)
        if fixed:
            raise GatewayConfigError(
                self.file,
                [
                    prepared.file.problem(
                        ("gateway", *name.split(".")),
                        "it cannot change while the gateway runs",
                        "put it back, or restart the gateway",
                    )
                    for name in fixed
                ],
            )
        addresses = self._look_up(prepared.targets(), now.addresses)
        return _unless_same(now, replace(now, prepared=prepared, keys=self._keys(), addresses=addresses))

    def with_addresses(self, now: Force, addresses: Addresses) -> Force:
        """What is in force with other addresses; with the same ones, `now` but for what was not resolved."""
        return _unless_same(now, replace(now, addresses=addresses))

    def settings(self, force: Force) -> dict[str, Any]:
        """`paceline.gateway/1`, secret."""
        return settings_document(force.prepared, self.home)

    def watched(self, force: Force) -> list[Path]:
        """Files whose change may change what is in force."""
        return [*force.prepared.watched(), keys_file(self.home)]

    def _prepared(self) -> Prepared:
        file = read_config(self.file)
        return prepare(replace(file, config=overridden(file.config, self._options)))

    def _keys(self) -> list[StoredKey]:
        return KeyStore(self.home).in_use()


def changed_fixed_keys(now: GatewayConfig, then: GatewayConfig) -> list[str]:
    """Keys of `[gateway]` that differ and cannot be changed while it runs, as `clients.requests`."""
    found = []
    for name in GatewayConfig.model_fields:
        before, after = getattr(now, name), getattr(then, name)
        if name in _LIVE or before == after:
            continue
        fields = getattr(type(after), "model_fields", None)
        if fields and type(before) is type(after):
            found += [f"{name}.{key}" for key in fields if getattr(before, key) != getattr(after, key)]
        else:
            found.append(name)
    return found


def changes(before: Force, after: Force) -> str:
    """What has changed, in a few words without secrets: `offer a added; 2 keys revoked`."""
    old, new = before.timeless, after.timeless
    said = []
    for part, word in (("model", "model"), ("offer", "offer"), ("key", "key")):
        name = "name" if part == "key" else "id"
        was = {one["id"]: one for one in old[f"{part}s"]}
        now = {one["id"]: one for one in new[f"{part}s"]}
        for verb, entries in (
            ("added", [one for key, one in now.items() if key not in was]),
            ("gone", [one for key, one in was.items() if key not in now]),
            ("changed", [one for key, one in now.items() if key in was and was[key] != one]),
        ):
            if entries:
                said.append(f"{_counted(word, [one[name] for one in entries])} {verb}")
    if old["require_key"] != new["require_key"]:
        said.append("keys are required" if new["require_key"] else "keys are not required")
    if old["policy"] != new["policy"]:
        said.append("policy changed")
    return "; ".join(said) or "nothing that counts has changed"


def _counted(word: str, names: list[str]) -> str:
    return (
        f"{word} {names[0]}"
        if len(names) == 1
        else f"{len(names)} {word}s ({', '.join(names[:5])}" + (", ...)" if len(names) > 5 else ")")
    )


def _unless_same(now: Force, then: Force) -> Force:
    if now.timeless == then.timeless:
        # Warnings and what is watched may differ all the same.
        return then
    return replace(then, version=now.version + 1)
