import hashlib
import re
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from paceline.control.keys import KeyLimits, KeyStore, keys_file
from paceline.errors import StoreError, UsageError

LIMITS = KeyLimits(
    models=("demo", "b"),
    requests_per_min=60,
    tokens_per_min=10_000,
    budgets_usd=(("day", 5.0), ("total", 50.5)),
    expires_unix_s=2_000_000_000,
)


def test_a_key_is_shown_once_and_its_hash_alone_is_kept(tmp_path: Path) -> None:
    store = KeyStore(tmp_path)
    key, secret = store.create("team", LIMITS)
    assert re.fullmatch(r"pk-pl-[A-Za-z0-9_-]{43}", secret)
    assert key.sha256 == hashlib.sha256(secret.encode()).hexdigest()
    assert secret.encode() not in keys_file(tmp_path).read_bytes()
    assert store.all() == [key]
    assert dict(key.budgets_usd) == {"day": 5.0, "total": 50.5}
    assert keys_file(tmp_path).stat().st_mode & 0o777 == 0o600
    assert store.create("other", KeyLimits())[1] != secret


def test_a_revoked_key_stays_known_and_leaves_its_name(tmp_path: Path) -> None:
    store = KeyStore(tmp_path)
    first, _ = store.create("team", KeyLimits())
    with pytest.raises(UsageError, match="is called 'team' already"):
        store.create("team", KeyLimits())
    assert store.revoke("team").id == first.id
    with pytest.raises(UsageError, match="revoked already"):
        store.revoke(first.id)
    second, _ = store.create("team", KeyLimits())
    assert [key.state(0) for key in store.all()] == ["revoked", "active"]
    assert store.in_use() == [second]
    assert store.revoke(second.id).id == second.id
    with pytest.raises(UsageError, match="there is no key 'taem'") as caught:
        store.revoke("taem")
    assert "'team'" in (caught.value.hint or "")


def test_other_limits_leave_the_key_what_it_is(tmp_path: Path) -> None:
    store = KeyStore(tmp_path)
    other, _ = store.create("other", LIMITS)
    key, _ = store.create("team", LIMITS)
    assert key.limits == LIMITS
    changed = store.change(
        "team", lambda now: replace(now, requests_per_min=None, budgets_usd=(("day", 7.0),))
    )
    assert changed == replace(key, requests_per_min=None, budgets_usd={"day": 7.0})
    assert store.all() == [other, changed]
    assert store.change(key.id, lambda _: KeyLimits()).limits == KeyLimits()
    store.revoke("team")
    with pytest.raises(UsageError, match="revoked already"):
        store.change(key.id, lambda _: LIMITS)


def test_a_key_comes_to_its_end(tmp_path: Path) -> None:
    key, _ = KeyStore(tmp_path).create("team", LIMITS)
    assert [key.state(now) for now in (1_999_999_999, 2_000_000_000)] == ["active", "expired"]


def test_looking_makes_no_file(tmp_path: Path) -> None:
    assert KeyStore(tmp_path).all() == []
    assert not keys_file(tmp_path).exists()


@pytest.mark.parametrize("name", ["", " ", "x" * 101, "a\nb", "pk-pl-abc"])
def test_names_that_are_none(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="the key's name"):
        KeyStore(tmp_path).create(name, KeyLimits())


def test_a_damaged_file_is_said_and_left_alone(tmp_path: Path) -> None:
    file = keys_file(tmp_path)
    file.parent.mkdir(parents=True)
    file.write_bytes(b"not a database at all, but long enough to be looked at" * 20)
    with pytest.raises(StoreError, match="cannot be used"):
        KeyStore(tmp_path).all()
    assert file.read_bytes().startswith(b"not a database")


def test_a_file_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    KeyStore(tmp_path).create("team", KeyLimits())
    with sqlite3.connect(keys_file(tmp_path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match="newer Paceline"):
        KeyStore(tmp_path).all()


def test_a_file_that_others_may_read_is_not_left_so(tmp_path: Path) -> None:
    store = KeyStore(tmp_path)
    store.create("team", KeyLimits())
    store.file.chmod(0o644)
    assert [key.name for key in store.all()] == ["team"]
    assert store.file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("column", ["budgets_usd = 'x'", "models = '3'", "budgets_usd = '[]', models = '{'"])
def test_a_damaged_row_is_said(tmp_path: Path, column: str) -> None:
    store = KeyStore(tmp_path)
    store.create("team", KeyLimits())
    with sqlite3.connect(store.file) as connection:
        connection.execute(f"UPDATE keys SET {column}")
    connection.close()
    with pytest.raises(StoreError, match="cannot be used"):
        store.all()
