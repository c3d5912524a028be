"""The reference engine: run here until told to end, or as a process of its own under a `with`."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol, Self

from paceline.errors import ConfigError, RunError

START_S = 30.0
STOP_S = 10.0


class Engine(Protocol):
    """`paceline._core.Sim`."""

    def start(self) -> str:
        """Listen; returns `host:port`."""

    def stop(self) -> None:
        """Stop, and complete the truth log."""

    def stats(self) -> str:
        """Counters as JSON."""


def core_engine(config_json: str) -> Engine:
    """The real engine. Raises ConfigError for a configuration that it refuses."""
    from paceline import _core

    try:
        return _core.Sim(config_json)
    except ValueError as error:
        raise ConfigError(str(error), "paceline sim --help lists what there is") from None


def serve(
    config: dict[str, Any],
    announce: Callable[[str], None],
    *,
    with_parent: bool = False,
    engine: Callable[[str], Engine] = core_engine,
) -> dict[str, Any]:
    """Serve until SIGINT or SIGTERM; returns the engine's counters.

    `announce` is called once with `host:port`. `with_parent` also ends it when stdin does, which is when the
    process that holds the other end of the pipe is gone, however it went.
    """
    ended = _EndSignals()
    served = engine(json.dumps(config))
    with ended:
        try:
            address = served.start()
        except (ValueError, RuntimeError) as error:
            raise ConfigError(str(error), _start_hint(str(error))) from None
        try:
            announce(address)
            ended.wait(with_parent=with_parent)
            counters: dict[str, Any] = json.loads(served.stats())
        finally:
            served.stop()
    return counters


def _start_hint(problem: str) -> str:
    if not problem.startswith("cannot listen"):
        return "give another path, or check this one's permissions"
    if "in use" in problem or "denied" in problem:
        return "give another --port, or --port 0 for a free one"
    return "give an address of this machine: --host 127.0.0.1"


class _EndSignals:
    """Waits for SIGINT or SIGTERM without waking up in between."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._former: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._former[number] = signal.signal(number, lambda *_: None)
        signal.set_wakeup_fd(self._write)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.set_wakeup_fd(-1)
        for number, former in self._former.items():
            signal.signal(number, former)
        os.close(self._read)
        os.close(self._write)

    def wait(self, *, with_parent: bool) -> None:
        watched = [self._read, 0] if with_parent else [self._read]
        while True:
            ready, _, _ = select.select(watched, [], [])
            if self._read in ready or not os.read(0, 4_096):
                return


class SimProcess:
    """`paceline sim` as a child, which ends with the block and never outlives this process.

    Raises RunError when it does not come up.
    """

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        self._arguments = list(arguments)
        self._process: subprocess.Popen[bytes] | None = None
        self.address = ""

    @property
    def url(self) -> str:
        """The base URL."""
        scheme = "https" if "--tls-cert" in self._arguments else "http"
        return f"{scheme}://{self.address}/v1"

    @property
    def pid(self) -> int:
        """The child's process id."""
        if self._process is None:
            raise RunError("the reference engine is not running")
        return self._process.pid

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "paceline", "sim", "--port", "0", "--json", "--with-parent"]
        self._process = subprocess.Popen(
            [*command, *self._arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # Ctrl-C is for the process that measures; the engine ends when that process lets go of it.
            start_new_session=True,
        )
        line = _first_line(self._process.stdout)
        if not line:
            self._end()
            talk = _rest(self._process.stderr).strip().removeprefix("error: ")
            raise RunError(f"the reference engine did not start: {talk or 'it said nothing'}")
        self.address = json.loads(line)["address"]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def stop(self) -> None:
        """End it before the block does, so that its truth log is complete."""
        self._end()

    def _end(self) -> None:
        process = self._process
        if process is None or process.poll() is not None:
            return
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _first_line(pipe: IO[bytes] | None) -> bytes:
    if pipe is None or not select.select([pipe], [], [], START_S)[0]:
        return b""
    return pipe.readline()


def _rest(pipe: IO[bytes] | None) -> str:
    return "" if pipe is None else pipe.read().decode(errors="replace")


def read_truth(path: Path) -> list[dict[str, Any]]:
    """The requests of a truth log, `paceline.truth/1`, of an engine that has ended.

    Raises RunError for what is no truth log.
    """
    with path.open("rb") as lines:
        head = json.loads(lines.readline() or b"{}")
        if head.get("schema") != "paceline.truth/1":
            raise RunError(f"{path} is not a paceline.truth/1 file")
        return [json.loads(line) for line in lines if line.strip()]
