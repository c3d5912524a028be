import pytest

from tests.support.rows import ROW_SCHEMA, lognormal_rows, make_row, rows_table


def test_a_row_has_every_column_and_counts_agree() -> None:
    table = rows_table([make_row(), make_row(sent_ms=5, event_ms=(7, 9))])
    assert table.schema == ROW_SCHEMA
    assert table["request_index"].to_pylist() == [0, 1]
    assert table["event_ns"].to_pylist()[1] == [7_000_000, 9_000_000]
    assert table["end_ns"].to_pylist() == [131_000_000, 10_000_000]


def test_an_unknown_column_is_refused() -> None:
    with pytest.raises(TypeError, match="no such column"):
        make_row(ttft_ms=3)


def test_lognormal_rows_are_a_closed_loop() -> None:
    table = lognormal_rows(50, 1, concurrency=4, warmup=5)
    assert table.schema == ROW_SCHEMA
    assert table.num_rows == 50
    sent = table["sent_ns"].to_numpy()
    assert (sent[1:] >= sent[:-1]).all()
    assert sent[:4].tolist() == [0, 0, 0, 0]
    assert sent[4] > 0
    assert table["phase"].to_pylist().count("warmup") == 5
    table.validate(full=True)
