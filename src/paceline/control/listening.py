"""Where a running gateway listens: `$PACELINE_HOME/gateway/listening.json`, for whoever wants to watch it."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from paceline.errors import StoreError
from paceline.store.atomic import write_text

LISTENING_NAME = "listening.json"
SCHEMA = "paceline.listening/1"


@dataclass(frozen=True)
class Listening:
    """Host and port of clients and of operators; None: operators have none."""

    listen: str
    admin: str | None


def write_listening(home: Path, addresses: Mapping[str, str | None]) -> None:
    """Say where. That nobody can read it stops no gateway: it never fails."""
    document = {
        "schema": SCHEMA,
        "listen": addresses.get("listen"),
        "admin_listen": addresses.get("admin"),
    }
    with suppress(StoreError, OSError):
        write_text(_file(home), json.dumps(document) + "\n")


def forget_listening(home: Path) -> None:
    """The gateway ends."""
    with suppress(OSError):
        _file(home).unlink()


def read_listening(home: Path) -> Listening | None:
    """What was said last; whether it still runs is another question (`paceline.control.lock`)."""
    try:
        found = json.loads(_file(home).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        return None
    listen, admin = found.get("listen"), found.get("admin_listen")
    if not isinstance(listen, str) or not isinstance(admin, str | None):
        return None
    return Listening(listen, admin)


def _file(home: Path) -> Path:
    return home / "gateway" / LISTENING_NAME
