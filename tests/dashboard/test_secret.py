import pytest

from paceline.dashboard.secret import Token
from paceline.errors import ConfigError


def test_a_token_is_new_each_time_and_is_not_shown() -> None:
    tokens = {Token.make().text for _ in range(20)}
    assert len(tokens) == 20
    assert min(map(len, tokens)) == 43
    token = Token.make()
    assert token.text not in repr(token)


def test_only_the_token_is_it() -> None:
    token = Token("a" * 43)
    assert token.is_("a" * 43)
    for text in ("", "a" * 42, "a" * 44, "\u00e9", token.reading):
        assert not token.is_(text)


def test_a_cookie_reads_and_is_no_token() -> None:
    token, other = Token("a" * 43), Token("b" * 43)
    assert token.reads(token.reading)
    assert not token.reads(token.text)
    assert not token.reads(other.reading)
    assert not token.reads("\u00e9")


@pytest.mark.parametrize(
    "text", ["", "short", "a" * 19, "\u00e9" * 30, "a" * 30 + "\n", " " + "a" * 30, "a b" * 10]
)
def test_a_token_that_could_be_guessed_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(ConfigError, match="--token-env X") as raised:
        Token.given(text, "--token-env X")
    assert not text or text not in raised.value.message
    assert Token.given("a" * 20, "x").text == "a" * 20
