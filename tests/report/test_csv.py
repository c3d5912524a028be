import csv
import io
from pathlib import Path

import pytest

from paceline.report.csv import columns, render_csv
from paceline.report.model import Report
from tests.report.samples import failed_row, report
from tests.support.rows import make_row


def read(made: Report) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(render_csv(made))))


def test_one_line_a_request(healthy: Report) -> None:
    rows = read(healthy)
    assert len(rows) == 820
    assert list(rows[0]) == columns()
    assert not {"text", "event_ns", "itl_ms"} & set(columns())
    measured = [row for row in rows if row["phase"] == "measure"]
    assert [float(row["ttft_ms"]) for row in measured] == sorted_by_row(healthy, "ttft_ms")
    assert all(row["ttft_ms"] == "" for row in rows if row["phase"] == "warmup")


def sorted_by_row(made: Report, name: str) -> list[float]:
    samples = made.evidence.samples[name]
    return [
        float(value) for _, value in sorted(zip(samples.row.tolist(), samples.values.tolist(), strict=True))
    ]


def test_what_is_not_known_is_empty(home: Path) -> None:
    rows = read(
        report(home, [failed_row("timeout", 1, status=None, sent_ns=None), make_row(request_index=2)])
    )
    assert (rows[0]["status"], rows[0]["sent_ns"], rows[0]["e2e_ms"]) == ("", "", "")
    assert rows[1]["status"] == "200"


@pytest.mark.parametrize("text", ["=HYPERLINK(1)", "+1", "-1", "@x", "\tx"])
def test_a_server_cannot_write_a_formula(home: Path, text: str) -> None:
    [row] = read(report(home, [failed_row("http_error", 1, error=text)]))
    assert row["error"] == f"'{text}"


def test_commas_quotes_and_line_ends_survive(home: Path) -> None:
    text = 'a, "b"\nc'
    [row] = read(report(home, [failed_row("http_error", 1, error=text)]))
    assert row["error"] == text
