import os
from pathlib import Path

import pytest

from paceline.errors import StoreError
from paceline.store.lock import WriterLock, is_locked


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    assert not is_locked(tmp_path)
    lock = WriterLock(tmp_path)
    assert is_locked(tmp_path)
    with pytest.raises(StoreError, match=rf"being written by another process \(process {os.getpid()}\)"):
        WriterLock(tmp_path)
    lock.release()
    lock.release()
    assert not is_locked(tmp_path)
    WriterLock(tmp_path).release()
