"""What an engine says: to a file of bounded size, with secrets hidden, whatever happens to the disk.

The guardian runs this: nothing but the standard library is imported.
"""

import os
import re
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

MOST_BYTES = 32 * 1024 * 1024
TAIL_BYTES = 64 * 1024
HIDDEN = b"[redacted]"
# Shorter ones are no secrets, and would be found in any text.
SHORTEST_SECRET = 4
# A disk that refuses is asked again after so long, and so often it is looked whether the file is there still.
_RETRY_S = 1.0
_SECRET_NAME = re.compile(r"(?:^|_)(?:TOKEN|KEY|APIKEY|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)


def secrets_of(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Values of variables whose names say that they are secret (`HF_TOKEN`, `VLLM_API_KEY`)."""
    return tuple(value for name, value in environment.items() if _SECRET_NAME.search(name))


class Masker:
    """Hides secrets in a stream of bytes, however it is cut into pieces."""

    def __init__(self, secrets: Sequence[str]) -> None:
        encoded = {one.encode(errors="surrogateescape") for one in secrets if len(one) >= SHORTEST_SECRET}
        # The longest first, where one begins another.
        self._secrets = sorted(encoded, key=len, reverse=True)
        self._pattern = re.compile(b"|".join(map(re.escape, self._secrets))) if self._secrets else None
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """What may be shown now. What may be the beginning of a secret is held back."""
        if self._pattern is None:
            return data
        data = self._held + data
        shown: list[bytes] = []
        place = 0
        for match in self._pattern.finditer(data):
            shown += [data[place : match.start()], HIDDEN]
            place = match.end()
        rest = data[place:]
        held = self._beginning(rest)
        self._held = rest[len(rest) - held :]
        return b"".join([*shown, rest[: len(rest) - held]])

    def flush(self) -> bytes:
        """What was held back: nothing follows."""
        held, self._held = self._held, b""
        return held

    def _beginning(self, text: bytes) -> int:
        """How many bytes at the end may be the beginning of a secret."""
        longest = min(len(text), max(map(len, self._secrets)) - 1)
        for size in range(longest, 0, -1):
            if any(secret.startswith(text[-size:]) for secret in self._secrets):
                return size
        return 0


class EngineLog:
    """Takes all that an engine says, and never fails.

    tell: is told, once each time, that the file cannot be written, and that it can be again. At most
    `most_bytes` lie in the file and as many in the one before it, `NAME.1`.
    """

    def __init__(
        self,
        path: Path,
        secrets: Sequence[str] = (),
        tell: Callable[[str], None] = lambda _: None,
        *,
        most_bytes: int = MOST_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = path
        self._masker = Masker(secrets)
        self._tell = tell
        self._most_bytes = most_bytes
        self._clock = clock
        self._file: int | None = None
        # Of the file, and of all files by now.
        self._bytes = 0
        self._written_bytes = 0
        self._tail = bytearray()
        self._looked_s = float("-inf")
        self._failed_s: float | None = None
        # Since the file could last be written; said in the file when it can be again.
        self._lost_bytes = 0
        self.dropped_bytes = 0

    @property
    def tail(self) -> str:
        """The last that was said, secrets hidden."""
        return bytes(self._tail[-TAIL_BYTES:]).decode(errors="replace")

    def write(self, data: bytes) -> None:
        """Take some bytes, wherever they were cut."""
        self._put(self._masker.feed(data))

    def close(self) -> None:
        """Nothing follows."""
        self._put(self._masker.flush())
        self._let_go()

    def _put(self, data: bytes) -> None:
        if not data:
            return
        self._tail += data
        if len(self._tail) > 2 * TAIL_BYTES:
            del self._tail[:-TAIL_BYTES]
        now_s = self._clock()
        if self._failed_s is not None and now_s - self._failed_s < _RETRY_S:
            self._drop(len(data))
            return
        try:
            self._ready(now_s)
            if self._failed_s is not None:
                self._write_whole(self._lost_words())
                self._recovered()
        except OSError as error:
            self._failed(error, now_s, len(data))
            return
        before = self._written_bytes
        try:
            self._write_whole(data)
        except OSError as error:
            self._failed(error, now_s, len(data) - (self._written_bytes - before))

    def _ready(self, now_s: float) -> None:
        """Open the file where it is not, or no longer under its name, or full."""
        if self._file is not None and now_s - self._looked_s >= _RETRY_S:
            self._looked_s = now_s
            if not self._still_there(self._file):
                self._let_go()
        if self._file is not None and self._bytes >= self._most_bytes:
            self._turn(self._file)
        if self._file is None:
            self._open(now_s)

    def _open(self, now_s: float) -> None:
        # Not blocking: a pipe that nobody reads must not stop the engine.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC
        self._file = os.open(self._path, flags, 0o600)
        self._looked_s = now_s
        there = os.fstat(self._file)
        self._bytes = there.st_size if stat.S_ISREG(there.st_mode) else 0

    def _still_there(self, file: int) -> bool:
        try:
            named = self._path.stat()
        except OSError:
            return False
        return os.path.samestat(named, os.fstat(file))

    def _turn(self, file: int) -> None:
        """Begin another file; where the old one cannot be kept, it is emptied."""
        if not stat.S_ISREG(os.fstat(file).st_mode):
            self._bytes = 0
            return
        try:
            self._path.replace(self._path.with_name(f"{self._path.name}.1"))
        except OSError:
            os.ftruncate(file, 0)
            self._bytes = 0
            return
        self._let_go()

    def _write_whole(self, data: bytes) -> None:
        """Raises OSError; what was written by then is counted."""
        if self._file is None:
            return
        view = memoryview(data)
        while view:
            written = os.write(self._file, view)
            self._bytes += written
            self._written_bytes += written
            view = view[written:]

    def _drop(self, count: int) -> None:
        self._lost_bytes += count
        self.dropped_bytes += count

    def _failed(self, error: OSError, now_s: float, count: int) -> None:
        self._let_go()
        self._drop(count)
        if self._failed_s is None:
            why = error.strerror or str(error)
            self._tell(f"cannot write {self._path}: {why}; what the engine says is dropped until it can be")
        self._failed_s = now_s

    def _recovered(self) -> None:
        self._tell(f"{self._path} can be written again; {self._lost_bytes:,} bytes were dropped")
        self._failed_s = None
        self._lost_bytes = 0

    def _lost_words(self) -> bytes:
        return f"\n[paceline: {self._lost_bytes:,} bytes were dropped here]\n".encode()

    def _let_go(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                os.close(self._file)
            self._file = None
