"""An engine's own options, as they are written on the command line."""

import pytest

from paceline.cli.engine_options import parse_settings, parse_tier, parse_varied
from paceline.errors import ConfigError


def test_settings_keep_their_kinds() -> None:
    given = ["ctx-size=8192", "--p-min=0.5", "flash-attn=on", "metrics", "mlock=true", "no=false"]
    assert parse_settings([*given, "x=default", "seed=007", "rate=1e3", "empty=", "a=b=c", "y=nan"]) == {
        "ctx-size": 8192,
        "p-min": 0.5,
        "flash-attn": "on",
        "metrics": True,
        "mlock": True,
        "no": False,
        "x": None,
        # What a number would not be written as stays as it is.
        "seed": "007",
        "rate": "1e3",
        "empty": "",
        "a": "b=c",
        "y": "nan",
    }


def test_none_is_a_value_as_others_are() -> None:
    # llama.cpp's `--load-mode none`, SGLang's `--grammar-backend none`.
    assert parse_settings(["load-mode=none"]) == {"load-mode": "none"}


@pytest.mark.parametrize("text", ["=1", "", "two words=1", "--"])
@pytest.mark.parametrize("flag", ["--set", "--fix"])
def test_a_setting_without_an_option_is_refused(text: str, flag: str) -> None:
    with pytest.raises(ConfigError, match=f"^{flag} .*there is no option"):
        parse_settings([text], flag)


@pytest.mark.parametrize("text", ["api-key abcd", "--api-key abcd", "api-key:abcd=1", ":abcd", "- - abcd=1"])
def test_what_may_be_a_key_is_not_shown(text: str) -> None:
    with pytest.raises(ConfigError, match="there is no option") as caught:
        parse_settings([text])
    assert "abcd" not in f"{caught.value.message} {caught.value.hint}"


def test_what_is_varied() -> None:
    assert parse_varied(["--ubatch-size=128, 512", "no-mmap=true,default", "load-mode=none,mmap"]) == {
        "ubatch-size": [128, 512],
        "no-mmap": [True, None],
        "load-mode": ["none", "mmap"],
    }


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["=1,2"], "there is no option"),
        (["a"], "does not say what to try"),
        (["a=1"], "does not say what to try"),
        (["a=1,1"], "does not say what to try"),
        (["a=1,"], "does not say what to try"),
        (["a=1,2", "a=3,4"], "names a twice"),
        ([f"a={','.join(map(str, range(257)))}"], "a has 257 values"),
    ],
)
def test_what_says_nothing_to_try_is_refused(given: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parse_varied(given)


def test_a_tier_is_one_that_there_is() -> None:
    assert parse_tier("ultra") == "ultra"
    with pytest.raises(ConfigError, match="no tier 'fats'") as raised:
        parse_tier("fats")
    assert raised.value.hint is not None
    assert "fast" in raised.value.hint
