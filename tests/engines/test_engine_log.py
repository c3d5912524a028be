import errno
import os
import resource
import shutil
from pathlib import Path

import pytest

from paceline.engines.engine_log import HIDDEN, TAIL_BYTES, EngineLog, Masker, secrets_of


class Clock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def masked(text: bytes, secrets: list[str], sizes: int) -> bytes:
    masker = Masker(secrets)
    pieces = [masker.feed(text[place : place + sizes]) for place in range(0, len(text), sizes)]
    return b"".join(pieces) + masker.flush()


@pytest.mark.parametrize("sizes", range(1, 12))
def test_secrets_are_hidden_however_the_stream_is_cut(sizes: int) -> None:
    text = b"key=sk-12345 and sk-1 sk-12345sk-12345; token hf_abcd\nsk-123"
    hidden = b"key=[redacted] and sk-1 [redacted][redacted]; token [redacted]\nsk-123"
    assert masked(text, ["sk-12345", "hf_abcd"], sizes) == hidden


def test_of_two_secrets_that_begin_alike_the_longer_goes_whole() -> None:
    assert masked(b"a secret-long b secret c", ["secret", "secret-long"], 100) == (
        b"a [redacted] b [redacted] c"
    )


def test_what_is_too_short_to_be_a_secret_is_left() -> None:
    assert masked(b"an abc", ["abc", ""], 2) == b"an abc"


def test_a_log_goes_on_at_once_where_no_secret_can_begin() -> None:
    masker = Masker(["sk-12345"])
    assert masker.feed(b"loading 50%") == b"loading 50%"
    assert masker.feed(b"ask") == b"a"
    assert masker.feed(b"ing") == b"sking"


def test_secrets_are_known_by_the_names_of_variables() -> None:
    environment = {"HF_TOKEN": "a", "VLLM_API_KEY": "b", "db_password": "c", "PATH": "d", "TOKENIZERS": "e"}
    assert secrets_of(environment) == ("a", "b", "c")


def test_all_that_is_said_lies_in_the_file_and_at_the_end_of_the_tail(tmp_path: Path) -> None:
    log = EngineLog(tmp_path / "engine.log", ["hidden-key"])
    for piece in (b"one\ntwo hidden", b"-key\n", b"\xff\xfe\n"):
        log.write(piece)
    log.close()
    log.close()
    assert (tmp_path / "engine.log").read_bytes() == b"one\ntwo " + HIDDEN + b"\n\xff\xfe\n"
    assert log.tail == "one\ntwo [redacted]\n\ufffd\ufffd\n"
    # Who runs models says things in it that are nobody else's.
    assert (tmp_path / "engine.log").stat().st_mode & 0o077 == 0


def test_the_tail_is_bounded(tmp_path: Path) -> None:
    log = EngineLog(tmp_path / "engine.log")
    for number in range(40):
        log.write(bytes([65 + number % 26]) * 10_000)
    assert len(log.tail) == TAIL_BYTES
    assert log.tail.endswith("N" * 10_000)


def test_a_log_is_bounded_and_one_old_one_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "engine.log"
    log = EngineLog(path, most_bytes=1_000)
    lines = [b"%09d\n" % number for number in range(350)]
    for line in lines:
        log.write(line)
    assert {one.name for one in tmp_path.iterdir()} == {"engine.log", "engine.log.1"}
    assert path.with_name("engine.log.1").read_bytes() == b"".join(lines[200:300])
    assert path.read_bytes() == b"".join(lines[300:])


def test_a_log_that_cannot_be_turned_is_emptied(tmp_path: Path) -> None:
    path = tmp_path / "engine.log"
    (tmp_path / "engine.log.1" / "in the way").mkdir(parents=True)
    log = EngineLog(path, most_bytes=100)
    for _ in range(25):
        log.write(b"x" * 9 + b"\n")
    assert path.stat().st_size == 50
    assert log.dropped_bytes == 0


def test_a_full_disk_drops_and_counts_and_is_said_once_and_ends(tmp_path: Path) -> None:
    path, said, clock = tmp_path / "engine.log", list[str](), Clock()
    path.symlink_to("/dev/full")
    log = EngineLog(path, tell=said.append, clock=clock)
    for _ in range(5):
        log.write(b"0123456789")
        clock.now_s += 0.6
    assert log.dropped_bytes == 50
    assert len(said) == 1
    assert os.strerror(errno.ENOSPC) in said[0]
    assert log.tail == "0123456789" * 5
    path.unlink()
    clock.now_s += 1.0
    log.write(b"room again\n")
    assert path.read_text() == "\n[paceline: 50 bytes were dropped here]\nroom again\n"
    assert len(said) == 2
    assert "50 bytes were dropped" in said[1]


def test_bytes_before_a_limit_of_size_are_kept_and_only_the_others_count(tmp_path: Path) -> None:
    path, said = tmp_path / "engine.log", list[str]()
    log = EngineLog(path, tell=said.append, clock=Clock())
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, before[1]))
    try:
        log.write(b"x" * 700)
        log.write(b"y" * 700)
        log.write(b"z" * 700)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_bytes() == b"x" * 700 + b"y" * 300
    assert log.dropped_bytes == 1_100
    assert len(said) == 1


def test_a_folder_that_vanishes_and_comes_back(tmp_path: Path) -> None:
    folder, said, clock = tmp_path / "logs", list[str](), Clock()
    folder.mkdir()
    log = EngineLog(folder / "engine.log", tell=said.append, clock=clock)
    log.write(b"before\n")
    shutil.rmtree(folder)
    clock.now_s += 2.0
    log.write(b"gone\n")
    folder.mkdir()
    clock.now_s += 2.0
    log.write(b"after\n")
    assert (folder / "engine.log").read_text() == "\n[paceline: 5 bytes were dropped here]\nafter\n"
    assert len(said) == 2


def test_a_file_that_somebody_moves_is_begun_again(tmp_path: Path) -> None:
    path, clock = tmp_path / "engine.log", Clock()
    log = EngineLog(path, clock=clock)
    log.write(b"before\n")
    path.rename(tmp_path / "moved")
    clock.now_s += 2.0
    log.write(b"after\n")
    assert path.read_text() == "after\n"


def test_a_pipe_that_nobody_reads_does_not_stop_it(tmp_path: Path) -> None:
    said: list[str] = []
    os.mkfifo(tmp_path / "engine.log")
    log = EngineLog(tmp_path / "engine.log", tell=said.append, clock=Clock())
    log.write(b"0123456789")
    assert (log.dropped_bytes, len(said)) == (10, 1)


def test_it_adds_to_what_an_earlier_start_said(tmp_path: Path) -> None:
    path = tmp_path / "engine.log"
    for number in (1, 2):
        log = EngineLog(path, most_bytes=1_000)
        log.write(b"start %d\n" % number)
        log.close()
    assert path.read_text() == "start 1\nstart 2\n"
