from paceline.workloads.read_report import ReadReport, RowError, shown


def test_each_row_is_accounted_for_in_words() -> None:
    report = ReadReport("data", "p.jsonl", "ab", said=["read as JSONL"])
    report.rows, report.used = 7, 2
    for line in range(1, 5):
        report.skip(f"line {line}", RowError("not JSON", "Expecting value at column 1"))
    report.skip("line 9", RowError("no `prompt`"))
    report.change("line 10", "cut")
    assert report.n_skipped == 5
    assert report.sentences() == [
        "data p.jsonl: 2 of 7 rows used",
        "data p.jsonl: read as JSONL",
        "data p.jsonl: skipped 4 (not JSON): line 1: Expecting value at column 1, "
        "line 2: Expecting value at column 1, line 3: Expecting value at column 1, ...",
        "data p.jsonl: skipped 1 (no `prompt`): line 9",
        "data p.jsonl: changed 1 (cut): line 10",
    ]
    assert report.first_faults().startswith("4 (not JSON)")


def test_what_a_file_says_steers_no_terminal() -> None:
    assert shown("\x1b[31mred\n") == "?[31mred?"
    assert shown("x" * 50, 10) == "xxxxxxx..."
    assert shown(None) == "None"
