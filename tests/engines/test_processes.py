import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from paceline.engines.processes import (
    MARK,
    Process,
    bears,
    belonging,
    command_name,
    descendants,
    end_all,
    kill,
    process,
    processes,
)

SLEEP = [sys.executable, "-I", "-S", "-c", "import signal\nprint('up', flush=True)\nsignal.pause()"]


def started(**options: object) -> "subprocess.Popen[bytes]":
    """A process that waits, and has begun."""
    child = subprocess.Popen(SLEEP, stdout=subprocess.PIPE, **options)  # type: ignore[call-overload]
    assert child.stdout.readline() == b"up\n"
    child.stdout.close()
    return child  # type: ignore[no-any-return]


def test_this_process_and_one_that_is_not() -> None:
    own = process(os.getpid())
    assert own is not None
    assert (own.pid, own.parent) == (os.getpid(), os.getppid())
    assert (own.group, own.session) == (os.getpgrp(), os.getsid(0))
    assert not own.ended
    assert own in processes()
    assert process(2**22 + 1) is None


def test_a_name_may_hold_anything(tmp_path: Path) -> None:
    program = tmp_path / "a) Z (b"
    program.symlink_to(sys.executable)
    child = subprocess.Popen([str(program), *SLEEP[1:]], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.read(3)
    found = process(child.pid)
    assert found is not None
    assert (found.parent, found.ended) == (os.getpid(), False)
    assert command_name(child.pid) == "a) Z (b"
    child.kill()
    child.communicate()


def test_one_that_has_ended_and_was_not_looked_at() -> None:
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    found = process(child.pid)
    assert found is not None
    assert found.ended
    child.wait()


def test_descendants_are_of_every_depth_and_none_else() -> None:
    parents = {2: 1, 3: 1, 4: 2, 5: 4, 6: 9, 9: 8}
    among = [Process(pid, parent, 1, 1, 0, "S") for pid, parent in parents.items()]
    assert {one.pid for one in descendants([1], among)} == {2, 3, 4, 5}
    assert {one.pid for one in descendants([4, 9], among)} == {5, 6}
    assert descendants([5], among) == []


def test_the_mark_is_inherited_and_only_the_whole_of_it_counts() -> None:
    child = started(env={**os.environ, MARK: "abc123"})
    try:
        assert bears(child.pid, "abc123")
        assert not bears(child.pid, "abc12")
        assert not bears(os.getpid(), "abc123")
    finally:
        child.kill()
        child.wait()
    assert not bears(child.pid, "abc123")


def test_what_belongs_is_found_by_mark_by_session_and_by_being_known() -> None:
    one = started(env={**os.environ, MARK: "m1"}, start_new_session=True)
    other = started(env={}, start_new_session=True)
    third = started(env={}, start_new_session=True)
    try:
        known = process(third.pid)
        assert known is not None
        found = belonging("m1", [other.pid], [known])
        assert {each.pid for each in found} == {one.pid, other.pid, third.pid}
        # One with its id that began at another time is another process.
        stale = replace(known, started=known.started - 1)
        assert {each.pid for each in belonging("m1", [], [stale])} == {one.pid}
    finally:
        for child in (one, other, third):
            child.kill()
            child.wait()


def test_no_process_is_killed_that_has_the_id_by_now() -> None:
    child = started()
    found = process(child.pid)
    assert found is not None
    kill(replace(found, started=found.started - 1))
    assert child.poll() is None
    # Its group is that of the tests, which goes on.
    kill(found)
    assert child.wait() == -signal.SIGKILL
    kill(found)


# Each starts the next and ends: nobody who lists processes is fast enough. It ends by itself in the end.
RUNNER = """
import os, time
print("up", flush=True)
for _ in range(20_000):
    if os.fork():
        time.sleep(0.005)
        os._exit(0)
"""


def test_all_are_ended_and_what_they_start_meanwhile() -> None:
    child = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", RUNNER],
        stdout=subprocess.PIPE,
        env={MARK: "runner"},
        start_new_session=True,
    )
    assert child.stdout is not None
    child.stdout.readline()
    assert end_all(lambda: belonging("runner", [child.pid]), 30.0) == []
    # Whoever is left would hold the pipe open.
    child.communicate(timeout=30)


def test_what_withstands_is_named() -> None:
    ghost = Process(2**22 + 1, 1, 1, 1, 0, "D")
    assert end_all(lambda: [ghost], 0.0) == [ghost]
