"""Parquet: nulls, nested columns, groups of rows, bounds, damaged files."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paceline.errors import ConfigError
from paceline.workloads.datasets import parquet_rows
from tests.workloads.datasets.support import jobs_of, skipped, source, texts


def test_nulls_and_wrong_types_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"question": ["a", None, "", "b"], "n": [1, 2, 3, None]}), path)
    found = source(path)
    assert texts(found) == ["a", "b"]
    assert skipped(found) == {"no `question`": 1, "`question` is empty": 1}
    with_lengths = source(path, output_column="n")
    assert texts(with_lengths) == ["a"]
    assert skipped(with_lengths)["no `n`"] == 1


def test_rows_of_many_groups_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    prompts = [f"prompt {i}" for i in range(1000)]
    pq.write_table(pa.table({"text": prompts, "other": range(1000)}), path, row_group_size=64)
    found = source(path)
    assert [texts(found)[i] for i in (999, 0, 64, 63)] == [prompts[i] for i in (999, 0, 64, 63)]
    shuffled = texts(source(path, order="shuffle"))
    assert shuffled != prompts
    assert sorted(shuffled) == sorted(prompts)


def test_nested_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    talk = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}]
    rows = [{"talk": {"messages": talk}, "meta": {"q": "deep"}}]
    pq.write_table(pa.Table.from_pylist(rows), path)
    assert texts(source(path, column="meta.q")) == ["deep"]
    (job,) = jobs_of(source(path, column="talk.messages"))
    assert [call.name for call in job.calls] == ["turn"]


def test_a_file_without_the_name_is_told_by_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "data"
    pq.write_table(pa.table({"prompt": ["a"]}), path)
    found = source(path)
    assert texts(found) == ["a"]
    assert "read as Parquet" in found.report.said


def test_damaged_files(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1 and then nothing of the kind")
    with pytest.raises(ConfigError, match="is no Parquet file, or a damaged one"):
        source(path)
    pq.write_table(pa.table({"prompt": [f"{i} " * 50 for i in range(2000)]}), path, compression="snappy")
    data = bytearray(path.read_bytes())
    data[100:5000] = b"\xff" * 4900
    path.write_bytes(data)
    with pytest.raises(ConfigError, match="damaged one after row 0"):
        source(path)


def test_what_cannot_be_held_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.parquet"
    words = [f"word{i} " * 200 for i in range(2000)]
    pq.write_table(
        pa.table({"prompt": words}), path, row_group_size=100, compression="none", use_dictionary=False
    )
    size = path.stat().st_size
    monkeypatch.setattr(parquet_rows, "KEPT_BYTES", size // 4)
    found = source(path)
    assert texts(found) == words
    with pytest.raises(ConfigError, match="to be shuffled, its columns must fit"):
        source(path, order="shuffle")
    monkeypatch.setattr(parquet_rows, "KEPT_BYTES", size // 50)
    with pytest.raises(ConfigError, match="a row group has"):
        source(path)
