"""The running gateway: a data plane that is kept up, a config that is watched, a ledger that is followed."""

import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Protocol, Self

from paceline.control.addresses import Addresses, look_up
from paceline.control.compile import Spent
from paceline.control.config import GatewayConfig
from paceline.control.force import Force, Source, changes
from paceline.control.keeper import Keeper
from paceline.control.lock import GatewayLock
from paceline.control.plane import COMMAND, PlaneGoneError, PlaneRefusedError
from paceline.control.problems import GatewayConfigError
from paceline.control.watch import Watch
from paceline.control.words import problem_lines
from paceline.errors import PacelineError, UsageError
from paceline.units import parse_duration_ns

_LOOK_S = 1.0
_DNS_S = 60.0
# Names that have no address yet are asked for more often.
_DNS_MISSING_S = 5.0
# Beyond the time to drain: for the last lines of the ledger.
_GRACE_S = 5.0

Say = Callable[[str], None]


class Follower(Protocol):
    """Brings what the ledger has into the store."""

    def step(self) -> object:
        """What has come since the last step. Raises PacelineError."""

    def close(self) -> object:
        """The last step, and the end."""


@dataclass(frozen=True)
class Parts:
    """What a gateway is put together from. Tests put in their own.

    follower: for a home. spent: USD by key and period, by the ledger of a home.
    """

    follower: Callable[[Path], Follower]
    spent: Callable[[Path], Spent]
    command: Sequence[str] = COMMAND
    look_up: Callable[..., Addresses] = look_up


def run_gateway(
    file: Path,
    options: Mapping[str, Any],
    home: Path,
    *,
    parts: Parts,
    say: Say,
    announce: Callable[[Force, dict[str, str | None]], None],
    with_parent: bool = False,
) -> None:
    """Serve until SIGINT or SIGTERM, then drain. A second signal ends it at once.

    `announce` is called once, when clients can come. `with_parent`: the end of stdin ends it, too. Raises
    GatewayConfigError and UsageError before it listens, RunError when the data plane cannot be kept up.
    """
    source = Source(file, options, home, parts.look_up)
    force = source.first()
    with _Signals() as signals:
        lock = GatewayLock(home)
        try:
            _check_ports(force.prepared.file.config.gateway)
            _Running(source, force, parts, say, lock.handle).serve(signals, announce, with_parent)
        finally:
            lock.release()


class _Running:
    def __init__(self, source: Source, force: Force, parts: Parts, say: Say, lock: int) -> None:
        self._source = source
        self._force = force
        self._parts = parts
        self._say = say
        self._keeper = Keeper(self._documents, say, command=parts.command, held=(lock,))
        self._watch = Watch(source.watched(force))
        self._resolver = _Resolver(parts.look_up)
        # What was refused last: it is not said each second.
        self._refused = ""

    def _documents(self) -> tuple[dict[str, Any], dict[str, Any]]:
        spent = self._parts.spent(self._source.home)
        return self._source.settings(self._force), self._force.table(spent)

    def serve(
        self,
        signals: "_Signals",
        announce: Callable[[Force, dict[str, str | None]], None],
        with_parent: bool,
    ) -> None:
        follower = _Following(self._parts.follower(self._source.home), self._say)
        try:
            try:
                self._keeper.start()
            except PlaneRefusedError as error:
                raise UsageError(error.message, _start_hint(error.message)) from None
            announce(self._force, self._keeper.addresses)
            follower.start()
            while not signals.ended:
                signals.wait(_LOOK_S, with_parent=with_parent)
                if not signals.ended:
                    self._look(asked=signals.take_reload())
            self._drain(signals)
        finally:
            self._keeper.close()
            follower.end()

    def _look(self, *, asked: bool) -> None:
        self._keeper.look()
        if self._watch.changed(self._source.watched(self._force)) or asked:
            self._reload(asked=asked)
        resolved = self._resolver.look(self._force)
        if resolved is not None:
            self._take(self._source.with_addresses(self._force, resolved), quiet=True)

    def _reload(self, *, asked: bool) -> None:
        try:
            then = self._source.next(self._force)
        except GatewayConfigError as error:
            self._refuse(problem_lines(error.problems, error.file, "error"), asked=asked)
            return
        except PacelineError as error:
            self._refuse([f"error: {error.message}"], asked=asked)
            return
        if then.prepared.tls != self._force.prepared.tls:
            self._say("the certificate has changed: it is used from the next start on")
        self._take(then, quiet=not asked)

    def _take(self, then: Force, *, quiet: bool) -> None:
        now = self._force
        if then.version == now.version:
            self._force = then
            if self._refused or not quiet:
                self._say(f"config is as it was (version {now.version})")
            self._refused = ""
            return
        plane = self._keeper.plane
        if plane is not None:
            try:
                plane.swap(then.table())
            except PlaneRefusedError as error:
                self._refuse([f"error: {error.message}"], asked=True)
                return
            except PlaneGoneError as error:
                # The next one starts with the new table.
                self._keeper.lost(error.message)
        self._force = then
        self._refused = ""
        self._say(f"config applied (version {then.version}): {changes(now, then)}")
        before = set(now.warnings())
        fresh = [one for one in then.warnings() if one not in before]
        for line in problem_lines(fresh, self._source.file, "warning"):
            self._say(line)

    def _refuse(self, lines: list[str], *, asked: bool) -> None:
        said = "\n".join(lines)
        if said != self._refused or asked:
            self._refused = said
            self._say(f"config refused; version {self._force.version} stays in force")
            for line in lines:
                self._say(line)

    def _drain(self, signals: "_Signals") -> None:
        plane = self._keeper.plane
        if plane is None:
            return
        drain_s = parse_duration_ns(self._force.prepared.file.config.gateway.drain) / 1e9
        self._say(f"draining: what is in flight has {drain_s:g} s; again to end at once")
        until = time.monotonic() + drain_s + _GRACE_S
        with suppress(PlaneGoneError, PlaneRefusedError):
            plane.drain()
            while plane.ended() is None and time.monotonic() < until and signals.count < 2:
                signals.wait(0.05, with_parent=False)
            if plane.ended() is None:
                plane.ask({"do": "stop"})
                plane.wait(_GRACE_S)
        self._say("the gateway has ended" if plane.ended() == 0 else "the data plane was ended by force")


class _Following:
    """The ledger's way into the store, in a thread of its own. What goes wrong is said, and tried again."""

    def __init__(self, follower: Follower, say: Say) -> None:
        self._follower = follower
        self._say = say
        self._end = threading.Event()
        self._said = ""
        self._thread = threading.Thread(target=self._run, name="paceline-follow", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        while not self._end.wait(_LOOK_S):
            self._try(self._follower.step)

    def end(self) -> None:
        """The last step; the data plane has ended, so that the ledger is whole."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()
        self._try(self._follower.close)

    def _try(self, step: Callable[[], object]) -> None:
        try:
            step()
            self._said = ""
        except (PacelineError, OSError) as error:
            words = f"the ledger cannot be followed: {error}; it is tried again"
            if words != self._said:
                self._say(words)
            self._said = words


class _Resolver:
    """Looks names up again now and then, in a thread, so that nothing else waits for it."""

    def __init__(self, resolve: Callable[..., Addresses]) -> None:
        self._resolve = resolve
        self._thread: threading.Thread | None = None
        self._found: Addresses | None = None
        self._asked_s = time.monotonic()

    def look(self, force: Force) -> Addresses | None:
        """What was found since the last look, if it was."""
        if self._thread is not None:
            if self._thread.is_alive():
                return None
            self._thread = None
            return self._found
        missing = bool(force.addresses.problems)
        if time.monotonic() - self._asked_s < (_DNS_MISSING_S if missing else _DNS_S):
            return None
        self._asked_s = time.monotonic()
        self._found = None
        self._thread = threading.Thread(target=self._ask, args=(force,), name="paceline-names", daemon=True)
        self._thread.start()
        return None

    def _ask(self, force: Force) -> None:
        self._found = self._resolve(force.prepared.targets(), force.addresses, again=True)


class _Signals:
    """SIGINT, SIGTERM and SIGHUP, noticed at once without work in a handler."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)
        self._former: dict[int, Any] = {}
        self._reload = False
        self.count = 0

    @property
    def ended(self) -> bool:
        """It was told to end."""
        return self.count > 0

    def take_reload(self) -> bool:
        """Whether a reload was asked for since the last call."""
        asked, self._reload = self._reload, False
        return asked

    def wait(self, seconds: float, *, with_parent: bool) -> None:
        """Until a signal comes, the parent goes, or the time is over."""
        watched = [self._read, 0] if with_parent else [self._read]
        ready, _, _ = select.select(watched, [], [], seconds)
        if self._read in ready:
            with suppress(BlockingIOError):
                os.read(self._read, 4_096)
        if 0 in ready and not os.read(0, 4_096):
            self.count += 1

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            self._reload = True
        else:
            self.count += 1

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._former[number] = signal.signal(number, self._handle)
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.set_wakeup_fd(-1)
        for number, former in self._former.items():
            signal.signal(number, former)
        os.close(self._read)
        os.close(self._write)


def _check_ports(config: GatewayConfig) -> None:
    """Raise UsageError where an address is taken.

    The event loops of a data plane share their port, and would share it with those of another gateway, too.
    """
    for key, address in (("listen", config.listen), ("admin_listen", config.admin_listen)):
        if not isinstance(address, str):
            continue
        host, _, port = address.rpartition(":")
        try:
            found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)[0]
            with socket.socket(found[0], found[1], found[2]) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(found[4])
                probe.listen(1)
        except OSError as error:
            message = f"cannot listen on {address} ({key}): {error.strerror}"
            raise UsageError(message, _start_hint(message)) from None


def _start_hint(message: str) -> str | None:
    if "listen" not in message:
        return None
    if "in use" in message:
        return "another gateway or server has that port (ss -ltnp shows which): stop it, or give another"
    if "denied" in message:
        return "ports below 1024 are root's: give a higher one"
    return "give an address of this machine, as 127.0.0.1:8080 or 0.0.0.0:8080"
