"""Lines of traces as the two publishers write them, and lines that are wrong."""

from pathlib import Path

import pytest

from paceline.errors import ConfigError
from paceline.workloads.read_report import ReadReport, RowError
from paceline.workloads.traces.read import instant_ns, read_trace, trace_format
from paceline.workloads.traces.rows import RowsRead
from paceline.workloads.traces.spec import TraceFormat


def read(path: Path, text: str | bytes, kind: TraceFormat | None = None) -> tuple[RowsRead, ReadReport]:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    report = ReadReport("trace", path.name, "0" * 64)
    return read_trace(path, kind or trace_format(path), report), report


HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens\n"


def test_azure_of_2023(tmp_path: Path) -> None:
    rows, report = read(
        tmp_path / "a.csv",
        HEADER + "2023-11-16 18:15:46.6805900,374,44\r\n2023-11-16 18:15:50.9951690,396,109",
    )
    assert list(rows.input_tokens) == [374, 396]
    assert list(rows.output_tokens) == [44, 109]
    assert rows.time_ns[1] - rows.time_ns[0] == 4_314_579_000
    # date -u -d '2023-11-16 18:15:46' +%s
    assert rows.time_ns[0] == 1_700_158_546_680_590_000
    assert (report.rows, report.n_skipped) == (2, 0)


def test_azure_of_2024_has_an_offset(tmp_path: Path) -> None:
    rows, _ = read(tmp_path / "a.csv", HEADER + "2024-05-10 02:00:00.009930+02:00,1,2\n")
    assert (
        rows.time_ns[0]
        == instant_ns("2024-05-10 00:00:00.009930")
        == instant_ns("2024-05-10T00:00:00.00993Z")
    )


def test_columns_may_be_in_another_order_and_quoted(tmp_path: Path) -> None:
    rows, _ = read(
        tmp_path / "a.csv",
        '\ufeffGeneratedTokens,"TIMESTAMP",ContextTokens,Other\n5,"2023-11-16 18:15:46",7,x\n',
    )
    assert (list(rows.input_tokens), list(rows.output_tokens)) == ([7], [5])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (",1,2", "no TIMESTAMP"),
        ("yesterday,1,2", "TIMESTAMP is no instant"),
        ("2023-13-16 18:15:46,1,2", "TIMESTAMP is no instant"),
        ("0001-01-01 00:00:00,1,2", "TIMESTAMP is not of the years 1970 to 2262"),
        ("9999-12-31 00:00:00,1,2", "TIMESTAMP is not of the years 1970 to 2262"),
        ("2023-11-16 18:15:46,-1,2", "ContextTokens is below 1"),
        ("2023-11-16 18:15:46,1,0", "GeneratedTokens is below 1"),
        ("2023-11-16 18:15:46,,2", "no ContextTokens"),
        ("2023-11-16 18:15:46,1.5,2", "ContextTokens is no number of tokens"),
        ("2023-11-16 18:15:46,99999999,2", "ContextTokens is above 10,000,000"),
        ("2023-11-16 18:15:46," + "9" * 5000 + ",2", "ContextTokens is no number of tokens"),
        ("2023-11-16 18:15:46,1", "another number of values than the header has"),
        ("2023-11-16 18:15:46,1,2,3", "another number of values than the header has"),
        ("2023-11-16 18:15:46,1\0,2", "not text: has NUL bytes"),
        ("x" * (1 << 20) + "y", "longer than 1 MiB"),
    ],
)
def test_a_wrong_line_of_azure_is_counted_by_its_reason(tmp_path: Path, line: str, reason: str) -> None:
    rows, report = read(tmp_path / "a.csv", HEADER + line + "\n2023-11-16 18:15:46,1,2\n")
    assert len(rows.line) == 1
    assert rows.line[0] == 3
    assert {name: tally.count for name, tally in report.skipped.items()} == {reason: 1}
    assert report.skipped[reason].examples[0].startswith("line 2")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"timestamp": 1, "input_length": 2', "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[1]", "not an object"),
        (b'{"input_length": 2, "output_length": 3}', "no timestamp"),
        (b'{"timestamp": null, "input_length": 2, "output_length": 3}', "no timestamp"),
        (
            b'{"timestamp": -1, "input_length": 2, "output_length": 3}',
            "timestamp is no number of milliseconds",
        ),
        (
            b'{"timestamp": NaN, "input_length": 2, "output_length": 3}',
            "timestamp is no number of milliseconds",
        ),
        (b'{"timestamp": 1, "input_length": -2, "output_length": 3}', "input_length is below 1"),
        (b'{"timestamp": 1, "input_length": 2, "output_length": 0}', "output_length is below 1"),
        (b'{"timestamp": 1, "input_length": 2.5, "output_length": 3}', "input_length is no number of tokens"),
        (
            b'{"timestamp": 1, "input_length": 2, "output_length": 3, "hash_ids": ["a"]}',
            "hash_ids is no list of whole numbers",
        ),
        (b'{"timestamp": 1, "input_length": ' + b"9" * 5000 + b"}", "not JSON"),
        (b'{"timestamp": 1, "\xff": 2}', "not UTF-8"),
    ],
)
def test_a_wrong_line_of_mooncake_is_counted_by_its_reason(tmp_path: Path, line: bytes, reason: str) -> None:
    good = b'{"timestamp": 0, "input_length": 600, "output_length": 4, "hash_ids": [7, 9]}\n'
    rows, report = read(tmp_path / "m.jsonl", good + line + b"\r\n\n" + good)
    assert list(rows.line) == [1, 4]
    assert {name: tally.count for name, tally in report.skipped.items()} == {reason: 1}
    assert report.rows == 3


def test_blocks_are_numbered_as_they_come_up(tmp_path: Path) -> None:
    row = '{{"timestamp": {}, "input_length": 600, "output_length": 4, "hash_ids": {}}}\n'
    big = 2**70
    rows, _ = read(tmp_path / "m", row.format(0, f"[{big}, -5]") + row.format(2.5, f"[{big}, 3]"))
    assert list(rows.blocks) == [0, 1, 0, 2]
    assert list(rows.first) == [0, 2, 4]
    assert list(rows.time_ns) == [0, 2_500_000]


def test_a_file_that_is_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("when,in,out\n1,2,3\n")
    with pytest.raises(ConfigError, match="first line is neither"):
        trace_format(path)
    with pytest.raises(ConfigError, match="header has no TIMESTAMP, ContextTokens, GeneratedTokens"):
        read(path, "when,in,out\n1,2,3\n", "azure")


@pytest.mark.parametrize(
    "text", ["", "2023", "2023-11-16 18:15", "2023-11-16 18:15:46+99:99", "²023-11-16 18:15:46"]
)
def test_what_is_no_instant(text: str) -> None:
    with pytest.raises(RowError):
        instant_ns(text)
