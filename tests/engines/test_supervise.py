import os
import signal
import socket
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from paceline.engines.engine import Command
from paceline.engines.plan import LaunchPlan
from paceline.engines.processes import process
from paceline.engines.restarts import Restarts
from paceline.engines.run import status
from paceline.engines.supervise import Event, Supervisor, Times
from paceline.errors import UsageError
from tests.support.standin import is_free, living, plan, said_pids, until


class Seen:
    """Events of a supervisor, and what is done at each kind."""

    def __init__(self, **at: Callable[[Event], None]) -> None:
        self.events: list[Event] = []
        self._at = {kind.replace("_", " "): do for kind, do in at.items()}

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        if event.kind in self._at:
            self._at[event.kind](event)

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.events if event.kind != "progress"]

    def only(self, kind: str) -> Event:
        (found,) = (event for event in self.events if event.kind == kind)
        return found


def supervised(asked: LaunchPlan, log: Path, seen: Seen, *, most: int = 5, times: Times | None = None) -> int:
    pauses = Restarts(most, first_pause_s=0.01, longest_pause_s=0.02)
    return Supervisor(asked, log, events=seen, times=times, pauses=pauses).run()


def end(_: Event) -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def kill_engine(event: Event) -> None:
    assert event.pid is not None
    os.kill(event.pid, signal.SIGKILL)


def first_then(*acts: Callable[[Event], None]) -> Callable[[Event], None]:
    """At the first event the first act, and so on; the last for all others."""
    left = list(acts)

    def act(event: Event) -> None:
        (left.pop(0) if len(left) > 1 else left[0])(event)

    return act


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_it_is_told_to_stop(tmp_path: Path, number: signal.Signals) -> None:
    asked = plan("--far-children", "1")
    answers: list[int | None] = []

    def ready(event: Event) -> None:
        answers.append(status(asked.health_url, 10.0))
        os.kill(os.getpid(), number)

    seen = Seen(ready=ready)
    before = signal.getsignal(number)
    assert supervised(asked, tmp_path / "log", seen) == 0
    assert seen.kinds == ["starting", "ready", "stopping", "stopped"]
    assert answers == [200]
    assert asked.endpoint in seen.only("ready").text
    pids = [seen.only("ready").pid or 0, *said_pids(tmp_path / "log", "far child")]
    assert living(pids) == []
    assert is_free(asked.address.port)
    assert signal.getsignal(number) == before


def test_one_that_dies_is_started_again_on_the_same_port(tmp_path: Path) -> None:
    asked = plan("--far-children", "1")
    seen = Seen(ready=first_then(kill_engine, kill_engine, end))
    assert supervised(asked, tmp_path / "log", seen) == 0
    again = ["died", "restarting", "starting", "ready"]
    assert seen.kinds == ["starting", "ready", *again, *again, "stopping", "stopped"]
    died = next(event for event in seen.events if event.kind == "died")
    assert died.text.startswith("llama.cpp has ended (killed by SIGKILL)")
    assert [event.pause_s for event in seen.events if event.kind == "restarting"] == [0.01, 0.02]
    # The orphans of each start went with it.
    children = said_pids(tmp_path / "log", "far child")
    assert len(children) == 3
    assert living(children) == []


def test_it_gives_up_after_so_many_deaths(tmp_path: Path) -> None:
    seen = Seen(ready=kill_engine)
    assert supervised(plan(), tmp_path / "log", seen, most=2) == 1
    assert seen.kinds.count("ready") == 3
    assert seen.kinds[-1] == "gave up"
    last = seen.only("gave up")
    assert last.failure is not None
    assert "killed by SIGKILL" in last.failure.message
    assert last.text.endswith("; it died 3 times in 10 minutes")


def test_a_lasting_failure_is_not_tried_again(tmp_path: Path) -> None:
    asked = plan("--say", "no such model", "--fail-at-load", "1")
    seen = Seen()
    assert supervised(asked, tmp_path / "log", seen) == 1
    assert seen.kinds == ["starting", "gave up"]
    assert seen.only("gave up").text == "the model is not there"


def test_nor_is_one_that_nobody_knows_where_it_never_answered(tmp_path: Path) -> None:
    seen = Seen()
    assert supervised(plan("--fail-at-load", "3"), tmp_path / "log", seen) == 1
    assert seen.kinds == ["starting", "gave up"]
    assert "exit code 3" in seen.only("gave up").text


def test_one_that_may_pass_is_tried_again_though_it_never_answered(tmp_path: Path) -> None:
    asked = plan("--say", "memory is short", "--fail-at-load", "1")
    seen = Seen()
    assert supervised(asked, tmp_path / "log", seen, most=1) == 1
    assert seen.kinds == ["starting", "died", "restarting", "starting", "gave up"]


def test_a_program_that_is_not_there_is_not_tried_again(tmp_path: Path) -> None:
    asked = replace(plan(), command=Command((str(tmp_path / "nowhere"),)))
    seen = Seen()
    assert supervised(asked, tmp_path / "log", seen) == 1
    assert seen.kinds == ["gave up"]


def test_a_port_that_is_taken_is_said_before_anything(tmp_path: Path) -> None:
    asked = plan()

    def second(_: Event) -> None:
        with pytest.raises(UsageError, match="is taken"):
            supervised(asked, tmp_path / "other", Seen())
        os.kill(os.getpid(), signal.SIGTERM)

    assert supervised(asked, tmp_path / "log", Seen(ready=second)) == 0


@pytest.mark.parametrize("options", [("--load-s", "600"), ("--load-s", "600", "--ignore-term")])
def test_told_to_stop_while_it_loads(tmp_path: Path, options: tuple[str, ...]) -> None:
    seen = Seen(starting=end)
    asked = plan(*options)
    assert supervised(asked, tmp_path / "log", seen, times=Times(loading_grace_s=0.2)) == 0
    assert seen.kinds == ["starting", "stopping", "stopped"]
    assert living([seen.only("starting").pid or 0]) == []


def test_told_to_stop_between_two_starts(tmp_path: Path) -> None:
    seen = Seen(ready=kill_engine, restarting=end)
    pauses = Restarts(first_pause_s=1_000.0)
    assert Supervisor(plan(), tmp_path / "log", events=seen, pauses=pauses).run() == 0
    assert seen.kinds == ["starting", "ready", "died", "restarting", "stopped"]


def test_a_second_signal_ends_at_once(tmp_path: Path) -> None:
    seen = Seen(ready=end, stopping=end)
    asked = plan("--ignore-term", "--far-children", "1")
    assert supervised(asked, tmp_path / "log", seen, times=Times(grace_s=1_000.0)) == 0
    assert seen.kinds == ["starting", "ready", "stopping", "stopped"]
    assert living([seen.only("ready").pid or 0, *said_pids(tmp_path / "log", "far child")]) == []


def test_one_that_does_not_heed_a_stop_is_killed_after_the_grace(tmp_path: Path) -> None:
    seen = Seen(ready=end)
    assert supervised(plan("--ignore-term"), tmp_path / "log", seen, times=Times(grace_s=0.2)) == 0
    assert living([seen.only("ready").pid or 0]) == []


def stop_process(event: Event) -> None:
    assert event.pid is not None
    os.kill(event.pid, signal.SIGSTOP)


def test_one_that_hangs_is_started_again_where_that_was_asked_for(tmp_path: Path) -> None:
    seen = Seen(ready=first_then(stop_process, end))
    assert supervised(plan(), tmp_path / "log", seen, times=Times(hung_after_s=0.3)) == 0
    assert seen.kinds == [
        *("starting", "ready", "died", "restarting"),
        *("starting", "ready", "stopping", "stopped"),
    ]
    assert "has not answered for 0.3 s" in seen.only("died").text


def test_one_that_answers_is_never_taken_for_hung(tmp_path: Path) -> None:
    """Its health URL is asked again and again; it dies in the end, and of that alone."""
    log = tmp_path / "log"

    def kill_it_later(event: Event) -> None:
        def kill_it() -> None:
            until(lambda: log.read_text().count("GET /health") > 3, "it is not asked")
            kill_engine(event)

        threading.Thread(target=kill_it).start()

    seen = Seen(ready=kill_it_later, died=end)
    assert supervised(plan(), log, seen, times=Times(hung_after_s=1_000.0, look_s=0.02)) == 0
    assert "killed by SIGKILL" in seen.only("died").text


def test_a_port_that_another_took_meanwhile_is_waited_for(tmp_path: Path) -> None:
    asked = plan()
    stranger: list[socket.socket] = []

    def take_the_port(_: Event) -> None:
        stranger.append(socket.socket())
        stranger[0].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        stranger[0].bind(("127.0.0.1", asked.address.port))
        stranger[0].listen()

    restarting = first_then(take_the_port, lambda _: stranger[0].close())
    seen = Seen(ready=first_then(kill_engine, end), restarting=restarting)
    assert supervised(asked, tmp_path / "log", seen) == 0
    again = ["died", "restarting"]
    assert seen.kinds == ["starting", "ready", *again, *again, "starting", "ready", "stopping", "stopped"]
    assert "is taken: process" in [event.text for event in seen.events if event.kind == "died"][1]


def test_a_guardian_that_is_killed_counts_as_a_death(tmp_path: Path) -> None:
    def kill_guardian(event: Event) -> None:
        found = process(event.pid or 0)
        assert found is not None
        os.kill(found.parent, signal.SIGKILL)

    seen = Seen(ready=first_then(kill_guardian, end))
    assert supervised(plan("--far-children", "1"), tmp_path / "log", seen) == 0
    assert "the process that guards it was killed" in seen.only("died").text
    assert living(said_pids(tmp_path / "log", "far child")) == []


def test_whatever_the_caller_raises_nothing_is_left(tmp_path: Path) -> None:
    def broken(_: Event) -> None:
        raise BrokenPipeError

    seen = Seen(ready=broken)
    with pytest.raises(BrokenPipeError):
        supervised(plan("--far-children", "1"), tmp_path / "log", seen)
    assert living([seen.only("ready").pid or 0, *said_pids(tmp_path / "log", "far child")]) == []


def test_troubles_of_the_log_are_told(tmp_path: Path) -> None:
    (tmp_path / "log").symlink_to("/dev/full")
    seen = Seen(ready=end)
    assert supervised(plan("--flood-bytes", "300000"), tmp_path / "log", seen) == 0
    told = [event.text for event in seen.events if event.kind == "progress"]
    assert len([text for text in told if "No space left on device" in text]) == 1
