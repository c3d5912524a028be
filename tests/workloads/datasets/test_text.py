from pathlib import Path

import pytest

from paceline.workloads.datasets import text
from tests.workloads.datasets.support import skipped, source, texts


def test_a_prompt_a_line(tmp_path: Path) -> None:
    path = tmp_path / "p.txt"
    path.write_bytes(b"\xef\xbb\xbfOne two.\r\n\r\n  Three \xe2\x82\xac \n\nbad \xff\nbad \x00\nlast")
    found = source(path)
    assert texts(found) == ["One two.", "  Three € ", "last"]
    assert skipped(found) == {"not UTF-8": 1, "not text: has NUL bytes": 1}
    assert found.report.skipped["not UTF-8"].examples == ["line 5: byte 5 of the row"]
    assert "read as text, a prompt a line" in found.report.said


def test_blocks_parted_by_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "p.txt"
    path.write_bytes(b"\n\nOne\r\ntwo.\r\n \t\r\nThree\n\n\nbad \xff\nmore\n\nlast")
    found = source(path, format="blocks")
    assert texts(found) == ["One\ntwo.", "Three", "last"]
    assert skipped(found) == {"not UTF-8": 1}
    assert found.report.skipped["not UTF-8"].examples == ["line 9: byte 5 of the row"]
    assert "read as text, prompts parted by blank lines" in found.report.said


def test_a_block_that_is_too_long_costs_itself_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "MAX_ROW_BYTES", 12)
    path = tmp_path / "p.txt"
    path.write_text("one\ntwo\nfour\n\none\ntwo\nthree\n\n" + "x\n" * 50 + "\nlast")
    found = source(path, format="blocks")
    assert texts(found) == ["one\ntwo\nfour", "last"]
    assert found.report.n_skipped == 2
