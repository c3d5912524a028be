"""What is being served on this machine: one small file a server, and a lock that tells whether it lives.

The lock is held by the serving process and let go by the kernel when that ends, however it ends. The process
id says whom to signal, and is believed only while the lock is held.
"""

import json
import os
import re
import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from pydantic import TypeAdapter, ValidationError

from paceline.config import choice_hint
from paceline.engines.processes import process
from paceline.errors import ConfigError, StoreError
from paceline.store.atomic import make_folder, store_error, sweep, write_text
from paceline.store.lock import is_held, take_within
from paceline.store.paths import home as usual_home
from paceline.whole_file import read_whole

SCHEMA = "paceline.served/1"
ServedState = Literal["starting", "ready", "restarting", "gave up"]
# What it comes to when the process that serves is gone: not in the file, since that is told by the lock.
ENDED = "ended"
_MOST_BYTES = 1_000_000
_MOST_OF_A_NAME = 80
_FOLDER_WAIT_S = 10.0
_PAUSE_S = 0.02
_NO_PID = 1 << 31


@dataclass(frozen=True, slots=True)
class Served:
    """One server. `paceline.served/1` (docs/reference/profile.md).

    pid: of the serving Paceline; pid_started: its start in clock ticks since boot, against an id that was
    used again; None where the system does not tell. command: as it was started, for a shell. registered: the
    gateway's config that has its offer. restarts: since it was started.
    """

    name: str
    endpoint: str
    engine: str
    engine_version: str | None
    model: str
    served_name: str
    tier: str
    command: str
    log: str
    pid: int
    pid_started: int | None
    started_at: datetime
    state: ServedState = "starting"
    restarts: int = 0
    registered: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A server as it is found. alive: whether its process lives."""

    served: Served
    alive: bool

    @property
    def state(self) -> str:
        """What it says of itself while it lives; then `gave up` or `ended`."""
        return self.served.state if self.alive or self.served.state == "gave up" else ENDED

    def to_dict(self) -> dict[str, Any]:
        """As the file has it, with the state that is true now."""
        return {**document(self.served), "state": self.state, "alive": self.alive}


_READER = TypeAdapter(Served)


def served_folder(home: Path | None = None) -> Path:
    """Where the files lie; `home`: another than the usual."""
    return (home or usual_home()) / "served"


def server_name(wanted: str) -> str:
    """A name for a server that is also one for a file."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", wanted).strip("-.")[:_MOST_OF_A_NAME] or "model"


def document(served: Served) -> dict[str, Any]:
    """`paceline.served/1`."""
    started_at = served.started_at.astimezone(UTC).isoformat(timespec="seconds")
    return {"schema": SCHEMA, **asdict(served), "started_at": started_at}


class Serving:
    """The right to a name, held from `claim` to `release` or to the end of the process."""

    def __init__(self, served: Served, folder: Path, handle: int) -> None:
        self.served = served
        self._folder = folder
        self._handle: int | None = handle

    @classmethod
    def claim(cls, served: Served, *, home: Path | None = None) -> Self:
        """Take the name of `served`, or with `-2`, `-3`... where living servers have it.

        Raises StoreError where nothing can be written there.
        """
        folder = served_folder(home)
        make_folder(folder)
        with _folder_lock(folder):
            sweep(folder)
            number = 1
            while True:
                name = served.name if number == 1 else f"{served.name}-{number}"
                handle = _taken(folder, name)
                if handle is not None:
                    break
                number += 1
            own = replace(served, name=name, pid=os.getpid(), pid_started=started_ticks(os.getpid()))
            try:
                _write(folder, own)
            except BaseException:
                os.close(handle)
                raise
        return cls(own, folder, handle)

    @property
    def log(self) -> Path:
        """Where its engine's words go, unless told otherwise."""
        return self._folder / f"{self.served.name}.log"

    def update(self, **changes: Any) -> None:
        """Say what has changed. A disk without room ends nothing, and leaves the file as it was."""
        self.served = replace(self.served, **changes)
        if self._handle is not None:
            with suppress(StoreError):
                _write(self._folder, self.served)

    def release(self) -> None:
        """Let go. The file goes too, unless it says that the server gave up. Harmless when called again."""
        if self._handle is None:
            return
        with suppress(StoreError, OSError), _folder_lock(self._folder):
            if self.served.state != "gave up":
                _forget(self._folder, self.served.name)
        os.close(self._handle)
        self._handle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def servers(home: Path | None = None) -> list[Entry]:
    """All that are served, or were and are not cleaned up, by name. Raises StoreError."""
    folder = served_folder(home)
    if not folder.is_dir():
        return []
    with _folder_lock(folder):
        found = [_read(path) for path in sorted(folder.glob("[!.]*.json"), key=lambda path: path.stem)]
        return [Entry(one, is_held(_lock_file(folder, one.name))) for one in found if one is not None]


def forget(name: str, *, home: Path | None = None) -> bool:
    """Clean up after a server whose process is gone; False: it lives. Raises StoreError."""
    folder = served_folder(home)
    with _folder_lock(folder):
        if is_held(_lock_file(folder, name)):
            return False
        try:
            _forget(folder, name)
        except OSError as error:
            raise store_error(f"cannot remove {error.filename}", error) from error
        return True


def find_server(name: str, *, home: Path | None = None) -> Entry:
    """A server by its name. Raises ConfigError with the closest name there is."""
    entries = servers(home)
    for one in entries:
        if one.served.name == name:
            return one
    living = [one.served.name for one in entries if one.alive]
    hint = choice_hint(name, "servers", living) if living else "nothing is being served"
    raise ConfigError(f"there is no server {name!r}", hint)


def stop_server(served: Served, *, wait_s: float, home: Path | None = None) -> bool:
    """Tell a serving process to end (SIGTERM) and wait until it has; False: it has not within `wait_s`.

    One that is gone already has ended. Raises ConfigError where its process is out of reach from here.
    """
    lock_file = _lock_file(served_folder(home), served.name)
    process = _handle_of(served.pid)
    try:
        # From here on the handle means one process, whatever becomes of its id.
        if not is_held(lock_file):
            return True
        if served.pid_started != started_ticks(served.pid):
            raise ConfigError(
                f"{served.name} runs where its process cannot be seen from here, as in another container",
                "stop it there",
            )
        try:
            _end(process, served.pid)
        except ProcessLookupError:
            return True
        except PermissionError:
            raise ConfigError(
                f"{served.name} is another user's (process {served.pid})", "ask that user to stop it"
            ) from None
        return _wait(process, lock_file, wait_s)
    finally:
        if process is not None:
            os.close(process)


def _handle_of(pid: int) -> int | None:
    """A handle on a process; None where it is gone, or the kernel has no such handles (Linux before 5.3)."""
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def _end(process: int | None, pid: int) -> None:
    if process is not None:
        signal.pidfd_send_signal(process, signal.SIGTERM)
    else:
        os.kill(pid, signal.SIGTERM)


def _wait(process: int | None, lock_file: Path, wait_s: float) -> bool:
    if process is not None:
        return bool(select.select([process], [], [], wait_s)[0])
    until = time.monotonic() + wait_s
    while is_held(lock_file):
        if time.monotonic() > until:
            return False
        time.sleep(_PAUSE_S)
    return True


def started_ticks(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None where that is not told."""
    found = process(pid)
    return None if found is None else found.started


def _lock_file(folder: Path, name: str) -> Path:
    return folder / f"{name}.lock"


def _taken(folder: Path, name: str) -> int | None:
    """A handle that holds the lock of a name; None where another has it."""
    path = _lock_file(folder, name)
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise store_error(f"cannot write {path}", error) from error
    if take_within(handle, 0.0):
        return handle
    os.close(handle)
    return None


@contextmanager
def _folder_lock(folder: Path) -> Iterator[None]:
    """Names are taken, looked at and cleaned up by one process at a time."""
    path = folder / ".lock"
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise store_error(f"cannot write {path}", error) from error
    try:
        if not take_within(handle, _FOLDER_WAIT_S):
            raise StoreError(
                f"another process works in {folder} and does not end",
                f"see which one holds {path}: fuser {path}",
            )
        yield
    finally:
        os.close(handle)


def _write(folder: Path, served: Served) -> None:
    write_text(folder / f"{served.name}.json", json.dumps(document(served), indent=2) + "\n")


def _read(path: Path) -> Served | None:
    """What a file says; None for one that is no server's: nothing writes half of one."""
    try:
        if not path.is_file():
            # To open a pipe would wait for whoever writes to it, with the folder locked.
            return None
        data = json.loads(read_whole(path, _MOST_BYTES).decode("utf-8"))
        if not isinstance(data, dict) or data.get("schema") != SCHEMA or data.get("name") != path.stem:
            return None
        found = _READER.validate_python(data)
        # Other ids are groups of processes, and all there are.
        return found if 0 < found.pid < _NO_PID else None
    except (OSError, ValueError, RecursionError, ValidationError):
        return None


def _forget(folder: Path, name: str) -> None:
    for path in (folder / f"{name}.json", _lock_file(folder, name)):
        path.unlink(missing_ok=True)
