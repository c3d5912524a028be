import pytest

from paceline.dashboard.masking import MASK, masked, secret_spans

KEY = "sk-abcdefghij"
BOTH = (f"Bearer {KEY}", KEY)


def told(pieces: list[str], secrets: tuple[str, ...] = BOTH) -> list[str]:
    """What is shown of pieces after each of them, and at the end, as a race does it."""
    raw = b""
    ends: list[int] = []
    shown: list[str] = []
    for number, piece in enumerate([*pieces, ""]):
        raw += piece.encode()
        if piece:
            ends.append(len(raw))
        spans, known = secret_spans(raw, secrets, ended=number == len(pieces))
        while len(shown) < len(ends) and ends[len(shown)] <= known:
            at = len(shown)
            shown.append(masked(raw, ends[at - 1] if at else 0, ends[at], spans))
    return shown


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 13, 40])
@pytest.mark.parametrize("text", [f"it is {KEY} \u00e9nd", f"{KEY}{KEY}", f"Bearer {KEY}.", f"\u20ac{KEY}"])
def test_a_secret_in_pieces_of_any_size_is_never_shown(text: str, size: int) -> None:
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    shown = told(pieces)
    assert len(shown) == len(pieces)
    whole = "".join(shown)
    for part in range(len(KEY) - 3):
        assert KEY[part : part + 4] not in whole
    assert whole.count(MASK) == (2 if text == KEY + KEY else 1)


def test_other_text_is_shown_at_once_and_as_it_is() -> None:
    raw = "you are \U0001f600 welcome".encode()
    spans, known = secret_spans(raw, BOTH, ended=False)
    assert (spans, known) == ([], len(raw))
    assert masked(raw, 0, len(raw), spans) == "you are \U0001f600 welcome"


def test_what_could_be_a_start_waits_until_it_is_none() -> None:
    assert secret_spans(b"well: s", BOTH, ended=False) == ([], 7)
    assert secret_spans(b"well: sk-a", BOTH, ended=False) == ([], 6)
    assert secret_spans(b"well: sk-ab", BOTH, ended=False) == ([], 6)
    assert secret_spans(b"well: sk-ab!", BOTH, ended=False) == ([], 12)


def test_a_text_that_breaks_off_within_a_secret_shows_nothing_of_it() -> None:
    assert "".join(told(["it is ", "sk-a", "bcdef"])) == f"it is {MASK}"
    # A word is a word.
    assert "".join(told(["the ", "Bear"])) == "the Bear"


def test_without_secrets_nothing_waits() -> None:
    assert told(["a", "b"], ()) == ["a", "b"]
