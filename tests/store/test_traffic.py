from pathlib import Path

import pytest

from paceline.errors import StoreError
from paceline.store.ledger import Line, Place
from paceline.store.paths import traffic_folder
from paceline.store.traffic import Traffic, TrafficWriter, decode, read_traffic
from paceline.store.traffic_parts import UnreadLines, list_parts, read_part, write_part
from tests.support.ledger import append, attempt, entry, line


def ids(home: Path) -> list[int]:
    """The numbers of all requests, sorted."""

    def numbers(found: Traffic) -> list[int]:
        tables = [*(read_part(part, ["id"]) for part in found.parts), found.rest.select(["id"])]
        return sorted(int(str(id_)[4:]) for table in tables for id_ in table["id"].to_pylist())

    return read_traffic(numbers, at=home)


def follow(writer: TrafficWriter, segment: int, start: int, numbers: range) -> None:
    """As if the lines `numbers` were the bytes from `start` on."""
    lines = [Line(Place(segment, start + n), line(entry(number))) for n, number in enumerate(numbers)]
    writer.add(decode(lines).table, Place(segment, start + len(numbers)), UnreadLines())


def test_bad_lines_are_named_and_do_not_stop_the_rest() -> None:
    raws = [line(entry(0)), b"{", line(entry(1, status=70_000)), line(entry(2))]
    lines = [Line(Place(1, 10 * n), raw) for n, raw in enumerate(raws)] + [
        Line(Place(1, 99), b"{}", torn=True)
    ]
    found = decode(lines)
    assert found.table["id"].to_pylist() == [entry(0)["id"], entry(2)["id"]]
    assert [place.offset for place in found.places] == [0, 30]
    assert [(one.offset, one.why) for one in found.unread] == [
        (10, "it is not JSON"),
        (20, "a number in it is out of range"),
        (99, "it was cut off"),
    ]


def test_a_row_that_does_not_hold_what_it_must_is_no_crash() -> None:
    odd = attempt(row={"event_tokens": ["x"] * 4})
    found = decode([Line(Place(1, 0), line(entry(0, attempts=[odd])))])
    assert (found.table.num_rows, len(found.unread)) == (0, 1)
    assert found.unread[0].why == "it does not hold what it must (TypeError)"


def test_requests_are_in_the_parts_or_in_the_rest(tmp_path: Path) -> None:
    append(tmp_path, *(entry(n) for n in range(3)))
    assert ids(tmp_path) == [0, 1, 2]
    size = (tmp_path / "gateway/ledger/00000001.jsonl").stat().st_size
    with TrafficWriter(tmp_path) as writer:
        lines = [Line(Place(1, n), line(entry(n))) for n in range(3)]
        writer.add(decode(lines).table, Place(1, size), UnreadLines())
        assert [part.path.name for part in list_parts(writer.folder)] == [f"00000001-0-{size}.parquet"]
    append(tmp_path, entry(3), line(entry(4))[:40])
    append(tmp_path, entry(5), segment=2)
    assert ids(tmp_path) == [0, 1, 2, 3, 5]
    assert read_traffic(lambda found: found.unread.n, at=tmp_path) == 1


def test_an_empty_home_has_no_requests(tmp_path: Path) -> None:
    assert ids(tmp_path) == []


def test_many_small_parts_become_few(tmp_path: Path) -> None:
    with TrafficWriter(tmp_path) as writer:
        for place in range(100):
            follow(writer, 1 + place // 50, 3 * (place % 50), range(3 * place, 3 * place + 3))
            assert writer.end == Place(1 + place // 50, 3 * (place % 50) + 3)
    assert len(list_parts(traffic_folder(tmp_path))) < 20
    assert ids(tmp_path) == list(range(300))


@pytest.mark.parametrize("error", [StoreError("the disk is full"), FileNotFoundError("gone")])
def test_parts_that_cannot_be_merged_stay_and_nothing_comes_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fails(*_: object) -> None:
        raise error

    with TrafficWriter(tmp_path) as writer:
        with monkeypatch.context() as patched:
            patched.setattr("paceline.store.traffic.merge", fails)
            for place in range(17):
                follow(writer, 1, place, range(place, place + 1))
                assert writer.end == Place(1, place + 1)
        assert len(list_parts(writer.folder)) == 17
        assert ids(tmp_path) == list(range(17))
        with monkeypatch.context() as patched:
            # What it merges cannot be removed.
            patched.setattr("paceline.store.traffic_parts.forget", fails)
            if isinstance(error, StoreError):
                follow(writer, 1, 17, range(17, 18))
                assert ids(tmp_path) == list(range(18))
        follow(writer, 1, writer.end.offset, range(18, 19))
    found = ids(tmp_path)
    assert len(found) == len(set(found))
    with TrafficWriter(tmp_path):
        assert len(list_parts(traffic_folder(tmp_path))) < 5
    assert ids(tmp_path) == found


def test_what_a_crash_left_of_a_merge_is_cleared_and_counts_once(tmp_path: Path) -> None:
    with TrafficWriter(tmp_path) as writer:
        for place in range(16):
            follow(writer, 1, place, range(place, place + 1))
        folder = writer.folder
    merged = list_parts(folder)
    assert len(merged) == 1
    # The pieces are still there, as when the process was killed before it removed them.
    lines = [Line(Place(1, n), line(entry(n))) for n in range(16)]
    for n in (0, 7, 15):
        write_part(folder, decode([lines[n]]).table, Place(1, n), Place(1, n + 1))
    assert ids(tmp_path) == list(range(16))
    with TrafficWriter(tmp_path) as writer:
        assert writer.end == Place(1, 16)
    assert list_parts(folder) == merged


def test_there_is_one_writer(tmp_path: Path) -> None:
    with TrafficWriter(tmp_path), pytest.raises(StoreError, match="the gateway's traffic is being written"):
        TrafficWriter(tmp_path)
    TrafficWriter(tmp_path).close()


def test_a_part_that_was_merged_away_is_looked_for_anew(tmp_path: Path) -> None:
    tries = []

    def use(found: Traffic) -> int:
        tries.append(found)
        if len(tries) < 3:
            raise FileNotFoundError
        return len(tries)

    assert read_traffic(use, at=tmp_path) == 3


def test_segments_with_unread_lines_are_known(tmp_path: Path) -> None:
    with TrafficWriter(tmp_path) as writer:
        found = decode([Line(Place(3, 0), b"{"), Line(Place(5, 0), line(entry(1)))])
        writer.add(found.table, Place(5, 10), UnreadLines.of(found.unread))
        assert writer.unread_segments() == {3}
    with TrafficWriter(tmp_path) as writer:
        assert writer.unread_segments() == {3}
