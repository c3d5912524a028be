from typing import Any

import pytest

from paceline.cli.second_credentials import second_credentials
from paceline.errors import ConfigError
from paceline.measure.job import Credentials

SAME, OTHER = ("here", "here"), ("here", "there")
KEY = Credentials(api_key_env="KEY_A", headers=("x-team: blue",))
HEADER = Credentials(headers=("Authorization: Bearer secret-of-a", "x-team: blue"))


def test_on_one_host_b_is_asked_as_a_is() -> None:
    assert second_credentials(KEY, SAME) == KEY
    assert second_credentials(HEADER, SAME) == HEADER
    assert second_credentials(KEY, SAME, api_key_env="KEY_B").api_key_env == "KEY_B"


@pytest.mark.parametrize(
    ("a", "options", "way_out"),
    [
        (KEY, {}, "--api-key-env-b"),
        (KEY, {"headers": ["x-team: red"]}, "--api-key-env-b"),
        (HEADER, {}, "--header-b"),
        (HEADER, {"api_key_env": ""}, "--header-b"),
        (Credentials(headers=("x-api-key: secret-of-a",)), {"api_key_env": "KEY_B"}, "--header-b"),
        (Credentials(headers=("Cookie: secret-of-a",)), {}, "--header-b"),
    ],
)
def test_another_host_gets_nothing_of_a_unasked(
    a: Credentials, options: dict[str, Any], way_out: str
) -> None:
    with pytest.raises(ConfigError, match="would be sent to there too") as caught:
        second_credentials(a, OTHER, **options)
    hint = caught.value.hint or ""
    assert way_out in hint
    assert "secret-of-a" not in caught.value.message + hint


def test_another_host_gets_what_is_said() -> None:
    same_variable = second_credentials(KEY, OTHER, api_key_env="KEY_A")
    assert same_variable == KEY
    assert second_credentials(KEY, OTHER, api_key_env="") == Credentials(headers=KEY.headers)
    assert second_credentials(HEADER, OTHER, headers=["x-team: red"]).headers == ("x-team: red",)
    assert second_credentials(HEADER, OTHER, headers=[""]) == Credentials()
    public = Credentials(headers=("x-team: blue",))
    assert second_credentials(public, OTHER) == public


def test_a_key_of_b_stands_for_that_of_a_in_either_form() -> None:
    by_variable = second_credentials(HEADER, OTHER, api_key_env="KEY_B")
    assert by_variable == Credentials(headers=("x-team: blue",), api_key_env="KEY_B")
    by_header = second_credentials(KEY, OTHER, headers=["authorization: Bearer b"])
    assert by_header == Credentials(headers=("authorization: Bearer b",))
