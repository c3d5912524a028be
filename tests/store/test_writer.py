import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from paceline.errors import RunError, StoreError
from paceline.store import atomic, parts, writer
from paceline.store.paths import runs_folder
from paceline.store.runs import list_runs, open_run
from paceline.store.writer import RunWriter
from tests.store.conftest import Clock
from tests.store.samples import batch, manifest, progress

Write = Callable[..., RunWriter]


def test_a_whole_run(write: Write) -> None:
    run = write(name="first")
    run.append(batch([2, 1]))
    run.append_plan(pa.table({"request_index": pa.array([1, 2], pa.uint64()), "prompt_tokens_asked": [7, 8]}))
    run.append_progress(progress())
    run.update(notes=["a note"])
    run.finish("complete")
    stored = open_run(run.id)
    assert stored.state == "complete"
    assert stored.manifest.finished_at is not None
    assert stored.manifest.notes == ["a note"]
    assert stored.rows()["request_index"].to_pylist() == [1, 2]
    assert stored.plan()["prompt_tokens_asked"].to_pylist() == [7, 8]
    assert stored.progress().to_pylist() == [
        {
            "t_ns": 1_000_000_000,
            "segment": 0,
            "in_flight": 2,
            "started": 5,
            "finished": 3,
            "token_events": 40,
            "cpu_ns": 1_000_000,
        }
    ]
    assert stored.origins() == {0: 1_000_000}


def test_parts_are_flushed_by_time_and_by_rows(
    write: Write, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "FLUSH_ROWS", 3)
    run = write(clock)
    run.append(batch([1]))
    assert open_run(run.id).rows().num_rows == 0
    clock.now = 1.0
    run.append(batch([2]))
    assert open_run(run.id).rows().num_rows == 2
    run.append(batch([3, 4]))
    assert open_run(run.id).rows().num_rows == 2
    run.append(batch([5]))
    assert open_run(run.id).rows().num_rows == 5
    assert run._rows.tables == []


def test_a_long_run_ends_in_few_parts(write: Write, clock: Clock) -> None:
    run = write(clock)
    for index in range(1, 31):
        clock.now += 1.0
        run.append(batch([index]))
    assert len(parts.part_paths(run.folder, "requests")) == 30
    run.finish("complete")
    assert len(parts.part_paths(run.folder, "requests")) == 1
    assert open_run(run.id).rows()["request_index"].to_pylist() == list(range(1, 31))


def test_progress_is_rewritten_ever_more_rarely_and_is_whole_in_the_end(
    write: Write, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atomic, "_sync_file", lambda path: None)
    monkeypatch.setattr(writer, "PROGRESS_ROWS_PER_WRITE", 10)
    run = write(clock)
    seen = set()
    for second in range(1, 101):
        clock.now += 1.0
        run.append_progress(progress(elapsed_s=second))
        seen.add(open_run(run.id).progress().num_rows)
    assert 20 < len(seen) < 50
    run.finish("complete")
    assert open_run(run.id).progress()["t_ns"].to_pylist() == [s * 1_000_000_000 for s in range(1, 101)]


_KILLED = """
import os, sys
from paceline.store.writer import RunWriter
from tests.store.samples import batch, manifest, progress
clock = [0.0]
run = RunWriter.create(manifest(name="killed"), clock=lambda: clock[0])
run.append(batch([1, 2, 3]))
run.append(batch([4], outcome="cancelled"))
run.append_progress(progress())
clock[0] = 1.0
run.append_progress(progress(elapsed_s=2.0))
run.append(batch([5]))
os.makedirs(run.folder, exist_ok=True)
(run.folder / ".requests-00001.parquet.ab.part-written").write_bytes(b"half")
print(run.id, flush=True)
os.kill(os.getpid(), 9)
"""


def test_a_killed_run_is_interrupted_readable_and_can_be_resumed(home: Path) -> None:
    child = subprocess.run(
        [sys.executable, "-c", _KILLED],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(["src", "."])},
    )
    assert child.returncode == -signal.SIGKILL, child.stderr
    run_id = child.stdout.strip()
    stored = open_run("killed")
    assert stored.state == "interrupted"
    assert [entry.state for entry in list_runs()] == ["interrupted"]
    assert stored.rows()["request_index"].to_pylist() == [1, 2, 3, 4]
    assert stored.origins() == {0: 1_000_000}
    assert stored.progress().num_rows == 2

    again = RunWriter.reopen(run_id)
    assert open_run(run_id).state == "running"
    assert again.finished_indices().tolist() == [1, 2, 3]
    assert again.next_segment == 1
    assert not list(again.folder.glob(".*.part-written"))
    again.append(batch([5, 4], segment=1))
    again.append_progress(progress(segment=1, elapsed_s=1.0))
    again.finish("complete")
    resumed = open_run(run_id)
    assert resumed.state == "complete"
    assert resumed.rows()["request_index"].to_pylist() == [1, 2, 3, 4, 5]
    assert resumed.rows()["outcome"].to_pylist() == ["ok"] * 5
    assert resumed.rows()["segment"].to_pylist() == [0, 0, 0, 1, 1]
    assert resumed.progress()["segment"].to_pylist() == [0, 0, 1]
    assert resumed.origins() == {0: 1_000_000, 1: 2_000_000}


def test_a_run_being_written_cannot_be_resumed(write: Write) -> None:
    run = write()
    with pytest.raises(StoreError, match="being written"):
        RunWriter.reopen(run.id)


def test_a_complete_run_cannot_be_resumed(write: Write) -> None:
    run = write()
    run.finish("complete")
    with pytest.raises(StoreError, match="nothing to resume"):
        RunWriter.reopen(run.id)
    run = RunWriter.create(manifest())
    run.finish("interrupted")
    RunWriter.reopen(run.id).finish("complete")


def test_the_block_says_how_it_ended(home: Path) -> None:
    with pytest.raises(KeyboardInterrupt), RunWriter.create(manifest()) as run:
        raise KeyboardInterrupt
    assert open_run(run.id).state == "interrupted"
    with pytest.raises(KeyError), RunWriter.create(manifest()) as run:
        raise KeyError
    assert open_run(run.id).state == "failed"
    with RunWriter.create(manifest()) as run:
        run.finish("complete")
    assert open_run(run.id).state == "complete"


def test_a_full_disk_leaves_what_was_written_before(
    write: Write, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write(clock)
    run.append(batch([1, 2]))
    run.append_progress(progress())
    run.flush()

    def full(path: Path) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(atomic, "_sync_file", full)
        clock.now = 1.0
        with pytest.raises(StoreError) as caught:
            run.append(batch([3]))
        assert caught.value.hint is not None
        with pytest.raises(StoreError):
            run.finish("failed")
    stored = open_run(run.id)
    assert stored.state == "interrupted"
    assert stored.rows()["request_index"].to_pylist() == [1, 2]
    assert not list(run.folder.glob(".*.part-written"))


def test_an_unwritable_home_leaves_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home.mkdir()
    (home / "runs").write_text("in the way")
    with pytest.raises(StoreError) as caught:
        RunWriter.create(manifest())
    assert caught.value.hint is not None
    (home / "runs").unlink()

    def full(path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic, "_sync_file", full)
    with pytest.raises(StoreError):
        RunWriter.create(manifest())
    assert list(runs_folder(home).iterdir()) == []


def test_two_runs_of_one_second_get_two_ids(write: Write) -> None:
    first = write(id="20261130-071502-k3f9")
    second = write(id="20261130-071502-k3f9")
    assert first.id != second.id
    assert len(list_runs()) == 2


def test_wrong_columns_and_fields_are_refused(write: Write) -> None:
    run = write()
    with pytest.raises(ValueError, match="other columns"):
        run.append(pa.record_batch({"request_index": pa.array([1], pa.uint64())}))
    with pytest.raises(ValueError, match="request_index"):
        run.append_plan(pa.table({"prompt": [1]}))
    with pytest.raises(ValueError, match="colour"):
        run.update(colour="red")


def test_a_run_removed_while_it_is_written_has_failed(write: Write) -> None:
    run = write()
    run.append(batch([1]))
    shutil.rmtree(run.folder)
    with pytest.raises(StoreError, match="cannot write"):
        run.flush()
    with pytest.raises(RunError, match="was removed from") as caught:
        run.finish("complete")
    assert caught.value.exit_code == 1
    assert not run.folder.exists()


def test_a_disk_that_takes_no_rows_still_takes_the_last_word(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write()
    run.append(batch([1, 2]))
    run.flush()
    run.append(batch([3]))

    def full(path: Path, table: pa.Table) -> None:
        raise StoreError("no room for rows")

    monkeypatch.setattr(writer, "write_table", full)
    with pytest.raises(StoreError, match="no room for rows"):
        run.finish("complete")
    stored = open_run(run.id)
    assert stored.state == "failed"
    assert stored.manifest.notes == ["not all was stored: no room for rows"]
    assert stored.rows()["request_index"].to_pylist() == [1, 2]


def test_room_for_the_last_word_is_held_while_a_run_is_written(write: Write) -> None:
    run = write()
    held = run.folder / atomic.RESERVE_NAME
    assert held.stat().st_size == atomic.RESERVE_BYTES
    run.finish("interrupted")
    assert not held.exists()
    again = RunWriter.reopen(run.id)
    assert held.stat().st_size == atomic.RESERVE_BYTES
    again.finish("complete")
    assert not held.exists()
