import os
import random
import signal
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from paceline.control.follow import Followed, Follower
from paceline.errors import StoreError
from paceline.store.ledger_entry import Unread
from paceline.store.paths import traffic_folder
from paceline.store.runs import list_runs, open_run
from paceline.store.spent import spent_usd
from paceline.store.traffic import Traffic, read_traffic
from paceline.store.traffic_parts import UnreadLines, list_parts, read_part
from tests.support.ledger import NOON, append, attempt, entry, line
from tests.support.ledger import ledger as ledger_of

ROOT = Path(__file__).parents[2]


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def ids(home: Path, *, in_parts: bool = False) -> list[int]:
    def numbers(found: Traffic) -> list[int]:
        tables = [read_part(part, ["id"]) for part in found.parts]
        tables += [] if in_parts else [found.rest.select(["id"])]
        return sorted(int(str(id_)[4:]) for table in tables for id_ in table["id"].to_pylist())

    return read_traffic(numbers, at=home)


def requests(*numbers: int) -> list[dict[str, Any]]:
    return [entry(number, at=NOON + timedelta(milliseconds=number)) for number in numbers]


def test_a_step_takes_in_what_is_new(tmp_path: Path) -> None:
    append(tmp_path, *requests(0, 1), b"{\n", line(entry(2))[:30])
    n_bytes = (ledger_of(tmp_path) / "00000001.jsonl").stat().st_size - 30
    with Follower(tmp_path) as follower:
        offset = sum(len(line(document)) for document in requests(0, 1))
        unread = UnreadLines(1, (Unread(1, offset, "it is not JSON"),))
        assert follower.step() == Followed(lines=3, bytes=n_bytes, unread=unread)
        assert follower.step() == Followed()
        append(tmp_path, line(entry(2))[30:])
        assert follower.step().lines == 1
    assert ids(tmp_path, in_parts=True) == [0, 1, 2]
    assert open_run("gateway:local-a:chat", at=tmp_path).rows().num_rows == 3
    assert read_traffic(lambda found: found.unread.n, at=tmp_path) == 1


def test_parts_are_written_when_they_are_due(tmp_path: Path) -> None:
    clock = Clock()
    with Follower(tmp_path, part_every_s=5.0, part_rows=3, clock=clock) as follower:
        append(tmp_path, *requests(0, 1))
        follower.step()
        assert ids(tmp_path, in_parts=True) == []
        assert ids(tmp_path) == [0, 1]
        append(tmp_path, *requests(2))
        follower.step()
        assert ids(tmp_path, in_parts=True) == [0, 1, 2]
        append(tmp_path, *requests(3))
        clock.now = 4.9
        follower.step()
        assert ids(tmp_path, in_parts=True) == [0, 1, 2]
        clock.now = 5.0
        follower.step()
        assert ids(tmp_path, in_parts=True) == [0, 1, 2, 3]
        clock.now = 50.0
        follower.step()
    assert len(list_parts(traffic_folder(tmp_path))) == 2


def test_a_restart_goes_on_where_the_last_part_ends(tmp_path: Path) -> None:
    for number in range(4):
        append(tmp_path, *requests(number), segment=1 + number // 2)
        with Follower(tmp_path) as follower:
            assert follower.step().lines == 1
    assert ids(tmp_path, in_parts=True) == [0, 1, 2, 3]
    assert open_run("gateway:local-a:chat", at=tmp_path).rows().num_rows == 4


def test_there_is_one_follower(tmp_path: Path) -> None:
    with Follower(tmp_path), pytest.raises(StoreError, match="another process"):
        Follower(tmp_path)


def test_what_cannot_be_written_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append(tmp_path, *requests(0, 1), b"{\n")
    follower = Follower(tmp_path, part_every_s=0.0)

    def full(*_: object, **__: object) -> None:
        raise StoreError("cannot write: No space left on device")

    with monkeypatch.context() as patched:
        for where in ("paceline.store.traffic.write_part", "paceline.store.writer.write_table"):
            patched.setattr(where, full)
            with pytest.raises(StoreError):
                follower.step()
    append(tmp_path, *requests(2))
    # Nobody was told of it at the step that failed.
    assert [one.why for one in follower.step().unread.named] == ["it is not JSON"]
    append(tmp_path, b"[]\n")
    assert [one.why for one in follower.close().unread.named] == ["the line is no object"]
    assert ids(tmp_path, in_parts=True) == [0, 1, 2]
    assert read_traffic(lambda found: found.unread.n, at=tmp_path) == 2
    assert open_run("gateway:local-a:chat", at=tmp_path).rows().num_rows == 3


def test_old_segments_that_were_followed_are_deleted(tmp_path: Path) -> None:
    clock = Clock()
    append(tmp_path, *requests(0), segment=1)
    append(tmp_path, *requests(1), b"{\n", segment=2)
    append(tmp_path, *requests(2), segment=3)
    append(tmp_path, *requests(3), segment=4)
    now = datetime.now(UTC)
    old = (now - timedelta(days=2)).timestamp()
    for segment in (1, 2, 4):
        os.utime(ledger_of(tmp_path) / f"{segment:08d}.jsonl", (old, old))
    with Follower(tmp_path, clock=clock, now=lambda: now) as follower:
        for _ in range(3):
            follower.step()
            clock.now += 400.0
        follower.step()
        # 2 holds a line that nobody could read, 3 is young, 4 is the newest.
        left = sorted(path.name for path in ledger_of(tmp_path).iterdir())
        assert left == ["00000002.jsonl", "00000003.jsonl", "00000004.jsonl"]
        append(tmp_path, *requests(4), segment=4)
    assert ids(tmp_path) == [0, 1, 2, 3, 4]


def test_an_empty_home_is_followed(tmp_path: Path) -> None:
    with Follower(tmp_path) as follower:
        assert follower.step() == Followed()
        follower.flush()
    assert list_parts(traffic_folder(tmp_path)) == []


def test_what_waits_does_not_grow_while_nothing_comes(tmp_path: Path) -> None:
    with Follower(tmp_path) as follower:
        for _ in range(10):
            follower.step()
        assert follower._pending.tables == []
        append(tmp_path, *requests(0))
        for _ in range(10):
            follower.step()
        assert len(follower._pending.tables) == 1
    assert ids(tmp_path, in_parts=True) == [0]


def test_a_request_of_no_day_does_not_stop_the_rest(tmp_path: Path) -> None:
    append(tmp_path, requests(0)[0], requests(1)[0] | {"received_unix_ns": 10**21}, requests(2)[0])
    with Follower(tmp_path) as follower:
        assert [one.why for one in follower.step().unread.named] == [
            "received_unix_ns is in no year of the calendar"
        ]
    assert ids(tmp_path, in_parts=True) == [0, 2]


def drawn(draw: random.Random, number: int) -> dict[str, Any]:
    """A request of one of three keys, answered by one or two of three offers."""
    offers = draw.sample(["a", "b", "c"], draw.choice([1, 1, 2]))
    tried = [
        attempt(offer, cost_usd=draw.randint(0, 1_000) / 1_000, served=offer == offers[-1])
        for offer in offers
    ]
    at = NOON + timedelta(seconds=draw.randint(0, 3 * 86_400))
    return entry(number, at=at, attempts=tried, key=f"key_{number % 3}")


def test_a_follower_that_is_killed_at_any_instant_loses_and_doubles_nothing(tmp_path: Path) -> None:
    draw = random.Random(4)
    total, written = 450, 0
    documents = [drawn(draw, number) for number in range(total)]
    kills = 0
    while written < total:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.followed", str(tmp_path)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdout is not None
        try:
            process.stdout.readline()
            # Between its steps and within them: how far it comes with each burst is left to chance.
            for _ in range(draw.randint(3, 12)):
                burst = min(draw.randint(1, 25), total - written)
                append(tmp_path, *documents[written : written + burst], segment=1 + written // 150)
                written += burst
                for _ in range(draw.randint(0, 3)):
                    process.stdout.readline()
        finally:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            process.stdout.close()
        kills += 1
        # Right at every instant, whoever was killed.
        assert ids(tmp_path) == list(range(written))
    assert kills >= 4

    clock = Clock()
    with Follower(tmp_path, clock=clock, now=lambda: NOON + timedelta(days=9)) as follower:
        follower.step()
        # Those that a killed process left, and nothing came for since, are ended now.
        clock.now = 100.0
        follower.step()
    assert ids(tmp_path, in_parts=True) == list(range(total))
    expected = Counter(one["offer"] for document in documents for one in document["attempts"])
    stored: Counter[str] = Counter()
    indices: list[int] = []
    for run in list_runs(at=tmp_path):
        opened = open_run(run.id, at=tmp_path)
        assert opened.state == "complete"
        stored[str(run.name).removeprefix("gateway:").removesuffix(":chat")] += opened.rows().num_rows
        indices += opened.rows(["request_index"])["request_index"].to_numpy().tolist()
    assert stored == expected
    assert len(set(indices)) == len(indices)
    days = {document["received_unix_ns"] // (86_400 * 10**9) for document in documents}
    assert len(list_runs(at=tmp_path)) == 3 * len(days)
    spent = spent_usd(tmp_path, NOON)
    for key in range(3):
        exact = sum(
            round(one["cost_usd"] * 1_000) for document in documents[key::3] for one in document["attempts"]
        )
        assert spent[f"key_{key}"]["total"] == pytest.approx(exact / 1_000, abs=1e-9)
    assert all(pq.read_metadata(part.path).num_rows for part in list_parts(traffic_folder(tmp_path)))
