"""CSV as spreadsheets write it: quotes, line breaks in values, delimiters, marks; and CSV that is wrong."""

import csv
from pathlib import Path

import pytest

from paceline.errors import ConfigError
from tests.workloads.datasets.support import skipped, source, texts

HARD = ['He said "no", twice.', "two\nlines", "two\r\nlines", " spaces ", "é€🎈", "a,b;c\td"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_values_come_back_as_they_were_written(tmp_path: Path, delimiter: str, end: str, mark: str) -> None:
    path = tmp_path / "a.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        file.write(mark)
        writer = csv.writer(file, delimiter=delimiter, lineterminator=end)
        writer.writerows([["id", "prompt", "note"], *([i, text, "n"] for i, text in enumerate(HARD))])
    found = source(path)
    assert texts(found) == HARD
    # And in any order.
    assert [found.job(i) for i in (5, 0, 3)] == [source(path).job(i) for i in (5, 0, 3)]
    assert "rows are prompts, in column `prompt`" in found.report.said


def test_wrong_rows_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'id,prompt\n1,a\n2\n3,b,c\n4,\xff\n5,"x"y\n6,\n7,n\x00\n\n8,"two\nlines"\n9,z')
    found = source(path)
    assert texts(found) == ["a", "two\nlines", "z"]
    assert skipped(found) == {
        "another number of values than the header has": 2,
        "not UTF-8": 1,
        "not CSV": 1,
        "`prompt` is empty": 1,
        "not text: has NUL bytes": 1,
    }
    tally = found.report.skipped["another number of values than the header has"]
    assert tally.examples == ["line 3: 1 instead of 2", "line 4: 3 instead of 2"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('id,prompt\n1,a\n2,"open\n3,b\n4,c\n', "line 3 opens a quote that is not closed"),
        ("prompt,prompt\n1,a\n", "the header names prompt twice"),
        (",,\n1,2,3\n", "the header names  twice"),
        ('"a"b\n1\n', "the header cannot be read"),
        ("id,prompt\n", "none of its 0 rows can be used: it has no rows"),
    ],
)
def test_a_file_that_is_wrong_as_a_whole(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(ConfigError, match=told):
        source(path)


def test_a_value_may_be_longer_than_the_librarys_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    long = "word " * 100_000
    path.write_text(f'prompt,tokens\n"{long}",7\n')
    found = source(path, output_column="tokens")
    assert texts(found) == [long]
    job = found.job(0)
    assert job is not None
    assert (job.calls[0].prompt_tokens, job.calls[0].output_tokens) == (100_000, 7)


def test_a_header_of_very_many_columns(tmp_path: Path) -> None:
    """Compared each with each they would take an hour."""
    path = tmp_path / "a.csv"
    names = ["prompt", *(f"c{n}" for n in range(200_000))]
    path.write_text(",".join(names) + "\n" + ",".join("x" for _ in names) + "\n")
    assert texts(source(path)) == ["x"]
