"""The running gateway: a data plane that is kept up, a config that is watched, a ledger that is followed."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from paceline.control.addresses import Addresses, look_up
from paceline.control.alarm import Alarm
from paceline.control.compile import Spent
from paceline.control.following import Follower, Following
from paceline.control.force import Force, Source, changes
from paceline.control.keeper import Keeper, Say
from paceline.control.listening import forget_listening, write_listening
from paceline.control.lock import GatewayLock
from paceline.control.plane import COMMAND, PlaneGoneError, PlaneRefusedError
from paceline.control.ports import check_ports, listen_hint
from paceline.control.problems import GatewayConfigError
from paceline.control.resolver import Resolver
from paceline.control.signals import Signals
from paceline.control.watch import Watch
from paceline.control.words import problem_lines
from paceline.errors import PacelineError, UsageError
from paceline.store.paths import ledger_folder
from paceline.store.traffic import keep_ahead
from paceline.units import parse_duration_ns

_LOOK_S = 1.0
_AGAIN_S = 5.0
# How often the data plane is asked how it is.
_HEAR_S = 5.0
# Beyond the time to drain: for the last lines of the ledger.
_GRACE_S = 5.0


@dataclass(frozen=True)
class Parts:
    """What a gateway is put together from. Tests put in their own.

    follower: for a home. spent: USD by key and period at a moment, by the ledger of a home.
    """

    follower: Callable[[Path], Follower]
    spent: Callable[[Path, datetime], Spent]
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
    with Signals() as signals:
        lock = GatewayLock(home)
        try:
            check_ports(force.prepared.file.config.gateway)
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
        self._resolver = Resolver(parts.look_up)
        # What was refused last, which is not said each time, and when it is tried again.
        self._refused = ""
        self._again_s = math.inf
        ledger = force.prepared.file.config.gateway.ledger
        self._alarm = Alarm(say, ledger_folder(source.home), stops=ledger.on_failure == "stop")
        self._hear_s = 0.0

    def _documents(self) -> tuple[dict[str, Any], dict[str, Any]]:
        # Not after it was added up: what was spent on the day before must not be charged to a day that began.
        now = datetime.now(UTC)
        keep_ahead(self._source.home)
        spent = self._parts.spent(self._source.home, now)
        return self._source.settings(self._force), self._force.table(spent, now)

    def serve(
        self,
        signals: Signals,
        announce: Callable[[Force, dict[str, str | None]], None],
        with_parent: bool,
    ) -> None:
        follower = Following(self._parts.follower(self._source.home), self._say)
        try:
            try:
                self._keeper.start()
            except PlaneRefusedError as error:
                raise UsageError(error.message, listen_hint(error.message)) from None
            write_listening(self._source.home, self._keeper.addresses)
            announce(self._force, self._keeper.addresses)
            follower.start()
            while not signals.ended:
                signals.wait(_LOOK_S, with_parent=with_parent)
                if not signals.ended:
                    self._look(asked=signals.take_reload())
            self._drain(signals)
        finally:
            forget_listening(self._source.home)
            self._keeper.close()
            follower.end()

    def _look(self, *, asked: bool) -> None:
        self._keeper.look()
        self._hear()
        changed = self._watch.changed(self._source.watched(self._force))
        if changed or asked or time.monotonic() >= self._again_s:
            self._reload(asked=asked)
        resolved = self._resolver.look(self._force)
        if resolved is not None:
            self._take(self._source.with_addresses(self._force, resolved), quiet=True)

    def _hear(self) -> None:
        plane = self._keeper.plane
        if plane is None:
            return
        due = time.monotonic() >= self._hear_s
        if due:
            self._hear_s = time.monotonic() + _HEAR_S
        try:
            stats = plane.poll(ask=due)
        except PlaneGoneError as error:
            self._keeper.lost(error.message)
            return
        if stats is not None:
            self._alarm.see(stats, plane.pid)
        elif due:
            self._alarm.silent()

    def _reload(self, *, asked: bool) -> None:
        self._again_s = math.inf
        try:
            then = self._source.next(self._force)
        except GatewayConfigError as error:
            self._refuse(problem_lines(error.problems, error.file, "error"), asked=asked)
            return
        except PacelineError as error:
            self._refuse([f"error: {error.message}"], asked=asked)
            return
        except Exception as error:  # no edit of a file may end a gateway that serves
            self._refuse([f"error: unexpected: {type(error).__name__}"], asked=asked)
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
                self._refuse([f"error: {error.message}"], asked=not quiet)
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
        # What it lacks may be in no file that is watched: keys that were locked, a file that is to come.
        self._again_s = time.monotonic() + _AGAIN_S
        said = "\n".join(lines)
        if said != self._refused or asked:
            self._refused = said
            self._say(f"config refused; version {self._force.version} stays in force")
            for line in lines:
                self._say(line)

    def _drain(self, signals: Signals) -> None:
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
