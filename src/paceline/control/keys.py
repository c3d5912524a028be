"""Clients' keys: `$PACELINE_HOME/gateway/keys.sqlite`. A key itself is shown once and never stored."""

import hashlib
import json
import os
import secrets
import shlex
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from dataclasses import fields as dataclass_fields
from pathlib import Path
from typing import TypeVar

from paceline.config import closest
from paceline.errors import StoreError, UsageError
from paceline.store.atomic import make_folder, store_error

PREFIX = "pk-pl-"
PERIODS = ("day", "week", "month", "total")
_SECRET_BYTES = 32  # 43 letters of base64
_WAIT_S = 5.0
_LONGEST_NAME = 100
_Result = TypeVar("_Result")

# A step that was released is never changed: add another.
_SCHEMA = (
    """
    CREATE TABLE keys (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        sha256 TEXT NOT NULL UNIQUE,
        models TEXT,
        requests_per_min INTEGER,
        tokens_per_min INTEGER,
        budgets_usd TEXT NOT NULL,
        expires_unix_s INTEGER,
        created_unix_s INTEGER NOT NULL,
        revoked_unix_s INTEGER
    );
    CREATE UNIQUE INDEX keys_in_use ON keys (name) WHERE revoked_unix_s IS NULL;
    """,
)
_COLUMNS = (
    "id, name, sha256, models, requests_per_min, tokens_per_min, budgets_usd, expires_unix_s, "
    "created_unix_s, revoked_unix_s"
)


@dataclass(frozen=True)
class KeyLimits:
    """What a key may do. None: no bound. budgets_usd: period and USD. expires_unix_s: its end."""

    models: tuple[str, ...] | None = None
    requests_per_min: int | None = None
    tokens_per_min: int | None = None
    budgets_usd: tuple[tuple[str, float], ...] = ()
    expires_unix_s: int | None = None


@dataclass(frozen=True)
class StoredKey:
    """A key as it is kept: its hash, and what it may do."""

    id: str
    name: str
    sha256: str
    models: tuple[str, ...] | None
    requests_per_min: int | None
    tokens_per_min: int | None
    budgets_usd: Mapping[str, float]
    expires_unix_s: int | None
    created_unix_s: int
    revoked_unix_s: int | None

    @property
    def limits(self) -> KeyLimits:
        """What it may do, as it was made or changed."""
        return KeyLimits(
            models=self.models,
            requests_per_min=self.requests_per_min,
            tokens_per_min=self.tokens_per_min,
            budgets_usd=tuple(self.budgets_usd.items()),
            expires_unix_s=self.expires_unix_s,
        )

    def state(self, unix_s: float) -> str:
        """`active`, `revoked` or `expired`."""
        if self.revoked_unix_s is not None:
            return "revoked"
        expired = self.expires_unix_s is not None and self.expires_unix_s <= unix_s
        return "expired" if expired else "active"


def keys_file(home: Path) -> Path:
    """The file of a home's keys."""
    return home / "gateway" / "keys.sqlite"


class KeyStore:
    """The keys of a home. Raises StoreError where the file is damaged or the system refuses."""

    def __init__(self, home: Path) -> None:
        self.file = keys_file(home)

    def create(self, name: str, limits: KeyLimits) -> tuple[StoredKey, str]:
        """A new key, and its secret, which is to be had only here. UsageError for a name that is taken."""
        name = _checked_name(name)
        secret = PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
        key = StoredKey(
            id=f"key-{secrets.token_hex(6)}",
            name=name,
            sha256=hashlib.sha256(secret.encode()).hexdigest(),
            models=limits.models,
            requests_per_min=limits.requests_per_min,
            tokens_per_min=limits.tokens_per_min,
            budgets_usd=dict(limits.budgets_usd),
            expires_unix_s=limits.expires_unix_s,
            created_unix_s=int(time.time()),
            revoked_unix_s=None,
        )
        try:
            self._with(
                lambda connection: connection.execute(
                    f"INSERT INTO keys ({_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?)", _row(key)
                )
            )
        except sqlite3.IntegrityError:
            raise UsageError(
                f"a key is called {name!r} already",
                f"give another name, or end that one: paceline keys revoke {shlex.quote(name)}",
            ) from None
        return key, secret

    def all(self) -> list[StoredKey]:
        """All keys, revoked ones too, by their making. None where there is no file; none is made."""
        if not self.file.exists():
            return []
        rows = self._with(
            lambda connection: connection.execute(
                f"SELECT {_COLUMNS} FROM keys ORDER BY created_unix_s, rowid"
            ).fetchall()
        )
        try:
            return [_key(row) for row in rows]
        except (ValueError, TypeError, AttributeError) as error:
            raise self._unusable(type(error).__name__) from None

    def in_use(self) -> list[StoredKey]:
        """The keys that were not revoked."""
        return [key for key in self.all() if key.revoked_unix_s is None]

    def revoke(self, ref: str) -> StoredKey:
        """End a key, by its id or name. UsageError where there is none in use."""
        found = _in_use(self.all(), ref)
        self._with(
            lambda connection: connection.execute(
                "UPDATE keys SET revoked_unix_s = ? WHERE id = ?", (int(time.time()), found.id)
            )
        )
        return found

    def change(self, ref: str, to: Callable[[KeyLimits], KeyLimits]) -> StoredKey:
        """Give a key, by its id or name, other limits, made from those it has; the key as it is then.

        UsageError where there is none in use. Two changes at once come after each other.
        """
        key_id = _in_use(self.all(), ref).id

        def work(connection: sqlite3.Connection) -> StoredKey:
            connection.execute("BEGIN IMMEDIATE")
            rows = connection.execute(f"SELECT {_COLUMNS} FROM keys WHERE id = ?", (key_id,)).fetchall()
            key = _in_use([_key(row) for row in rows], key_id)
            limits = to(key.limits)
            fields = {field.name: getattr(limits, field.name) for field in dataclass_fields(limits)}
            changed = replace(key, **fields | {"budgets_usd": dict(limits.budgets_usd)})
            names = _COLUMNS.replace(" ", "").split(",")
            connection.execute(
                f"UPDATE keys SET {', '.join(f'{name} = ?' for name in names)} WHERE id = ?",
                (*_row(changed), key_id),
            )
            return changed

        return self._with(work)

    def _with(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        make_folder(self.file.parent)
        try:
            # Made here, since SQLite would make it readable for others; one that is so is not left so.
            handle = os.open(self.file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                if os.fstat(handle).st_mode & 0o077:
                    os.fchmod(handle, 0o600)
            finally:
                os.close(handle)
        except OSError as error:
            raise store_error(f"cannot write {self.file}", error) from error
        try:
            with closing(sqlite3.connect(self.file, timeout=_WAIT_S)) as connection:
                self._migrate(connection)
                with connection:
                    return work(connection)
        except sqlite3.IntegrityError:
            raise
        except sqlite3.Error as error:
            raise self._unusable(str(error)) from None

    def _unusable(self, why: str) -> StoreError:
        return StoreError(
            f"the keys in {self.file} cannot be used: {why}",
            "if it is damaged, move it away and make the keys anew",
        )

    def _migrate(self, connection: sqlite3.Connection) -> None:
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if version > len(_SCHEMA):
            raise StoreError(
                f"{self.file} is of a newer Paceline (schema {version}, this one knows {len(_SCHEMA)})",
                "use that Paceline",
            )
        for number, step in enumerate(_SCHEMA[version:], start=version + 1):
            connection.executescript(f"BEGIN IMMEDIATE; {step}; PRAGMA user_version = {number}; COMMIT;")


def _in_use(keys: list[StoredKey], ref: str) -> StoredKey:
    """The key in use that `ref` means. Raises UsageError."""
    found = next((key for key in keys if ref in (key.id, key.name) and key.revoked_unix_s is None), None)
    if found is not None:
        return found
    if any(ref in (key.id, key.name) for key in keys):
        raise UsageError(f"the key {ref!r} is revoked already")
    near = closest(ref, [name for key in keys for name in (key.name, key.id)])
    raise UsageError(
        f"there is no key {ref!r}", f"did you mean {near!r}?" if near else "paceline keys list lists them"
    )


def _checked_name(name: str) -> str:
    name = name.strip()
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise UsageError(
            "the key's name is empty, too long or has letters that cannot be shown",
            f"give it at most {_LONGEST_NAME} letters",
        )
    if name.startswith(PREFIX):
        raise UsageError("the key's name looks like a key itself", "give the name of who is to use it")
    return name


def _row(key: StoredKey) -> tuple[object, ...]:
    return (
        key.id,
        key.name,
        key.sha256,
        None if key.models is None else json.dumps(key.models),
        key.requests_per_min,
        key.tokens_per_min,
        json.dumps(dict(key.budgets_usd)),
        key.expires_unix_s,
        key.created_unix_s,
        key.revoked_unix_s,
    )


def _key(row: tuple[object, ...]) -> StoredKey:
    key_id, name, sha256, models, requests, tokens, budgets, expires, created, revoked = row
    return StoredKey(
        id=str(key_id),
        name=str(name),
        sha256=str(sha256),
        models=None if models is None else tuple(json.loads(str(models))),
        requests_per_min=_number(requests),
        tokens_per_min=_number(tokens),
        budgets_usd=json.loads(str(budgets)),
        expires_unix_s=_number(expires),
        created_unix_s=_number(created) or 0,
        revoked_unix_s=_number(revoked),
    )


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None
