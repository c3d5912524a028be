import os
import subprocess
from pathlib import Path

import pytest

from paceline.control import lock
from paceline.control.lock import GatewayLock
from paceline.errors import UsageError


def test_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "_WAIT_S", 0.0)
    first = GatewayLock(tmp_path)
    assert (tmp_path / "gateway").stat().st_mode & 0o777 == 0o700
    with pytest.raises(UsageError, match=rf"process {os.getpid()}"):
        GatewayLock(tmp_path)
    first.release()
    GatewayLock(tmp_path).release()


def test_a_child_that_lives_on_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "_WAIT_S", 0.0)
    held = GatewayLock(tmp_path)
    child = subprocess.Popen(["sleep", "60"], pass_fds=(held.handle,))
    held.release()
    with pytest.raises(UsageError, match="still in flight"):
        GatewayLock(tmp_path)
    child.kill()
    child.wait()
    GatewayLock(tmp_path).release()
