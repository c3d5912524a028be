import os
import stat
from pathlib import Path

import pytest

from paceline.cli.output import STDOUT, check_outputs, clipped, talk, wrapped, write_output, write_outputs
from paceline.errors import ConfigError, RunError


def test_what_steers_a_terminal_is_not_said(capsys: pytest.CaptureFixture[str]) -> None:
    talk("größe\n  \x1b]0;title\x07 \u202e \x9b2J\r.")
    assert capsys.readouterr().err == "größe\n  \ufffd]0;title\ufffd \ufffd \ufffd2J\ufffd.\n"


def test_a_file_is_replaced_whole_with_usual_permissions(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    target.write_text("old")
    write_output(target, "new")
    assert target.read_text() == "new"
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(target.stat().st_mode) == 0o666 & ~mask
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_each_result_goes_where_it_was_asked_for_and_stdout_is_data_alone(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    paths = {"--json": STDOUT, "--csv": tmp_path / "x.csv", "--html": None}
    write_outputs(paths, lambda option: f"result of {option}\n")
    assert (tmp_path / "x.csv").read_text() == "result of --csv\n"
    said = capfd.readouterr()
    assert said.out == "result of --json\n"
    assert said.err == f"wrote {tmp_path / 'x.csv'}\n"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "real.json"
    real.write_text("old")
    link = tmp_path / "link.json"
    link.symlink_to(real)
    write_output(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"


def test_a_device_is_written_to(tmp_path: Path) -> None:
    check_outputs({"--json": Path("/dev/null")})
    write_output(Path("/dev/null"), "gone")


def test_stdout_gets_bytes_as_they_are(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    write_output(STDOUT, "größe\n")
    assert capfdbinary.readouterr().out == "größe\n".encode()


def test_what_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no-such"):
        write_output(tmp_path / "no-such" / "x", "data")
    assert list(tmp_path.iterdir()) == []


def test_paths_are_checked_before(tmp_path: Path) -> None:
    check_outputs({"--json": tmp_path / "a", "--html": None, "--csv": STDOUT})
    assert list(tmp_path.iterdir()) == []
    for paths, words in (
        ({"--json": tmp_path}, "directory"),
        ({"--json": tmp_path / "no" / "a"}, "no directory"),
        ({"--json": tmp_path / "a", "--csv": tmp_path / "." / "a"}, "--csv"),
        ({"--json": STDOUT, "--csv": STDOUT}, "--csv"),
    ):
        with pytest.raises(ConfigError, match=words):
            check_outputs(paths)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_may_not_be_written_is_refused(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.write_text("x")
    locked.chmod(0o400)
    with pytest.raises(ConfigError, match="permission denied"):
        check_outputs({"--json": locked})


def test_long_text_is_broken_between_words_or_cut() -> None:
    assert wrapped("one two-three four\nfive", 10) == "one\ntwo-three\nfour\nfive"
    assert (clipped("12345678", 8), clipped("123456789", 8)) == ("12345678", "12345...")
