import numpy as np

from paceline.measure.local_tokens import _Words, events_of_text, local_event_tokens
from tests.support.rows import make_row, rows_table


def by_event(text: str, pieces: list[str]) -> list[int]:
    assert "".join(pieces) == text
    sizes = np.array([len(piece.encode()) for piece in pieces], dtype=np.int64)
    counts: list[int] = events_of_text(text, sizes, _Words()).tolist()
    return counts


def test_a_token_belongs_to_the_event_that_brings_its_last_byte() -> None:
    assert by_event("one two three", ["one", " two", " three"]) == [1, 1, 1]
    assert by_event("one two three", ["one two", " thr", "ee"]) == [2, 0, 1]
    assert by_event("größe ist größer", ["grö", "ße ist", " größer"]) == [0, 2, 1]


def test_rows_follow_each_other_and_text_that_was_not_kept_is_unknown() -> None:
    rows = rows_table(
        [
            make_row(request_index=0, event_ms=(1, 2), event_bytes=[3, 4], text="one two"),
            make_row(request_index=1, event_ms=(), text="", outcome="empty", end_ms=1),
            make_row(request_index=2, event_ms=(1,), event_bytes=[3], text=""),
        ]
    )
    counts = local_event_tokens(rows, "words")
    assert counts is not None
    assert counts.tolist() == [1, 1, -1]
    assert local_event_tokens(rows, None) is None
