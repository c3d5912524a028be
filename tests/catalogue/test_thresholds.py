import pytest

from paceline.catalogue.thresholds import limit_ms, pace_tok_s, thresholds


def test_every_limit_has_its_source() -> None:
    for name, one in thresholds().items():
        assert one.name == name
        assert one.value > 0
        assert one.text
        assert len(one.source) > 10


def test_paces_are_words_a_minute_in_tokens() -> None:
    # 238 and 183 words a minute (Brysbaert 2019) at 0.75 words a token, by hand.
    assert pace_tok_s("reading") == pytest.approx(5.289, abs=0.001)
    assert pace_tok_s("speech") == pytest.approx(4.067, abs=0.001)


def test_the_limits_of_response_time_are_those_of_the_literature() -> None:
    assert [limit_ms(name) for name in ("direct", "rapid", "flow", "attention")] == [100, 400, 1000, 10000]
    assert limit_ms("turn") == 200
    with pytest.raises(ValueError, match="words/min"):
        limit_ms("reading")
