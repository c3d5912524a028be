import io

import pytest

from paceline.workloads.datasets.lines import Line, checked_text, decoded, lines_of
from paceline.workloads.read_report import RowError


def test_ends_marks_and_places() -> None:
    data = b"\xef\xbb\xbfone\r\n\r\ntw\xc3\xb6\n\rlast\r"
    lines = list(lines_of(io.BytesIO(data)))
    assert [(line.number, line.data) for line in lines] == [
        (1, b"one"),
        (2, b""),
        (3, b"tw\xc3\xb6"),
        (4, b"\rlast"),
    ]
    assert [data[line.at : line.at + line.size] for line in lines] == [line.data for line in lines]


@pytest.mark.parametrize("size", [9, 10, 11, 12, 13, 5000])
def test_a_line_that_is_too_long_costs_itself_only(size: int) -> None:
    lines = list(lines_of(io.BytesIO(b"x" * size + b"\nok\n" + b"y" * size), longest=10))
    kept = b"x" * size if size <= 10 else None
    assert [line.number for line in lines] == [1, 2, 3]
    assert (lines[0].data, lines[1]) == (kept, Line(2, size + 1, 2, b"ok"))
    assert (lines[2].at, lines[2].data) == (size + 4, None if kept is None else b"y" * size)


def test_what_is_no_text() -> None:
    with pytest.raises(RowError, match="not UTF-8: byte 3"):
        decoded(b"ab\xff")
    with pytest.raises(RowError, match="NUL"):
        decoded(b"a\0b")
    with pytest.raises(RowError, match="surrogate"):
        checked_text("a\ud800")
