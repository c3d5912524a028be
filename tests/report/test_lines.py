from paceline.report.lines import Column, aligned, bullets, folded, tables, width_of, wrapped

NAMES = Column(("OFFER", ""), (("tiny", "  @ acme"), ("a-longer-name", "  @ b")))
TTFT = Column(("TTFT", "ms"), (("200", "190-210"), ("1,200", "")))
BARE = Column(("ok", ""), (("100", ""), ("99.5", "")))


def test_the_first_column_is_to_the_left_and_the_others_to_the_right() -> None:
    assert tables(NAMES, [TTFT, BARE], 80) == [
        [
            "OFFER             TTFT    ok",
            "                    ms",
            "tiny               200   100",
            "  @ acme       190-210",
            "a-longer-name    1,200  99.5",
            "  @ b",
        ]
    ]


def test_columns_without_room_stand_in_another_table_with_the_names() -> None:
    first, second = tables(NAMES, [TTFT, BARE], 24)
    assert first[0] == "OFFER             TTFT"
    assert second == [
        "OFFER            ok",
        "tiny            100",
        "  @ acme",
        "a-longer-name  99.5",
        "  @ b",
    ]
    assert max(len(line) for line in (*first, *second)) <= 24


def test_words_are_never_broken() -> None:
    assert folded("model-a-b-c at http://127.0.0.1", 12) == ["model-a-b-c", "at", "http://127.0.0.1"]
    assert bullets(["one two three", "", "four"], 10) == ["- one two", "  three", "- four"]
    assert wrapped(["one two", "", "three"], 5) == ["one", "two", "three"]


def test_no_terminal_and_narrow_ones_have_80_columns() -> None:
    assert [width_of(columns) for columns in (None, 40, 120)] == [80, 80, 120]


def test_columns_that_are_named_stand_to_the_left() -> None:
    cells = [("NAME", "N", "WHY"), ("a", "10", "first"), ("longer", "2", "")]
    assert aligned(cells, (0, 2)) == ["NAME     N  WHY", "a       10  first", "longer   2"]
