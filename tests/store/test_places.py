import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from paceline.errors import StoreError
from paceline.store import places
from paceline.store.lock import WriterLock
from paceline.store.manifest import read_manifest
from paceline.store.places import DELETED_PREFIX, NEW_PREFIX, place
from paceline.store.runs import list_runs
from tests.store.samples import manifest

_KILLED = """
import os
from paceline.store import places
from paceline.store.writer import RunWriter
from tests.store.samples import manifest
places.reserve = lambda folder: os.kill(os.getpid(), 9)
RunWriter.create(manifest())
"""


def test_a_writer_killed_before_the_manifest_leaves_no_run(home: Path) -> None:
    child = subprocess.run(
        [sys.executable, "-c", _KILLED],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(["src", "."])},
    )
    assert child.returncode == -signal.SIGKILL, child.stderr
    [left] = (home / "runs").iterdir()
    assert left.name.startswith(NEW_PREFIX)
    assert list_runs() == []


def test_the_folder_has_its_manifest_and_is_locked(tmp_path: Path) -> None:
    made, lock = place(manifest(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [made.id]
    assert read_manifest(tmp_path / made.id) == made
    with pytest.raises(StoreError, match="being written"):
        WriterLock(tmp_path / made.id)
    lock.release()


def test_an_id_that_is_taken_meanwhile_gets_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, lock = place(manifest(), tmp_path)
    lock.release()
    # The other process names its folder between our look and our renaming.
    monkeypatch.setattr(Path, "exists", lambda self: False)
    second, lock = place(manifest(id=first.id), tmp_path)
    lock.release()
    assert second.id != first.id
    assert read_manifest(tmp_path / second.id).id == second.id


def test_leftovers_are_swept_when_old_and_nobody_writes_them(tmp_path: Path) -> None:
    names = [NEW_PREFIX + "old", NEW_PREFIX + "young", NEW_PREFIX + "locked", DELETED_PREFIX + "old", "run"]
    for name in names:
        (tmp_path / name).mkdir()
    lock = WriterLock(tmp_path / f"{NEW_PREFIX}locked")
    long_ago = time.time() - 2 * places._OLD_S
    for name in names:
        if not name.endswith("young"):
            os.utime(tmp_path / name, (long_ago, long_ago))
    places.sweep_runs(tmp_path)
    lock.release()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [
            NEW_PREFIX + "young",
            NEW_PREFIX + "locked",
            "run",
        ]
    )
