"""Options by the lists that were read from the engines' own parsers."""

import pytest

from paceline.engines.python_options import options_of
from paceline.errors import ConfigError


def test_lists_say_of_which_release_they_are() -> None:
    assert (options_of("vllm").program, options_of("vllm").release) == ("vllm serve", "0.33.0")
    assert (options_of("sglang").program, options_of("sglang").release) == ("sglang serve", "0.5.23")


def test_lists_are_whole() -> None:
    assert len({id(one) for one in options_of("vllm").by_name.values()}) == 320
    assert len({id(one) for one in options_of("sglang").by_name.values()}) == 531


def test_another_name_becomes_the_main_one() -> None:
    spelt = options_of("sglang").spell("tensor-parallel-size", 2, strict=True)
    assert spelt == {"tp-size": 2}


def test_a_switch_is_turned_off_by_a_name_of_its_own() -> None:
    spell = options_of("vllm").spell
    on = {"enable-prefix-caching": True, "disable-prefix-caching": None}
    off = {"enable-prefix-caching": None, "disable-prefix-caching": True}
    assert spell("enable-prefix-caching", True, strict=True) == on
    assert spell("enable-prefix-caching", False, strict=True) == off
    assert spell("disable-prefix-caching", True, strict=True) == off
    assert spell("no-enable-prefix-caching", True, strict=True) == off
    assert spell("enable-prefix-caching", None, strict=True) == dict.fromkeys(on)


def test_an_unknown_option_is_refused_with_the_nearest_at_that_release() -> None:
    with pytest.raises(ConfigError, match=r"vllm serve 0\.33\.0 has no option --max-num-seq$") as error:
        options_of("vllm").spell("max-num-seq", 4, strict=True)
    assert error.value.hint == "did you mean max-num-seqs?"
    assert options_of("vllm").spell("max-num-seq", 4, strict=False) == {"max-num-seq": 4}


def test_a_value_that_is_no_choice_is_refused() -> None:
    with pytest.raises(
        ConfigError, match="--performance-mode of vllm serve cannot be 'interactive'"
    ) as error:
        options_of("vllm").spell("performance-mode", "interactive", strict=True)
    assert error.value.hint == "did you mean interactivity?"


def test_parts_of_a_json_option_stay() -> None:
    spelt = options_of("vllm").spell("speculative-config.method", "mtp", strict=True)
    assert spelt == {"speculative-config.method": "mtp"}
