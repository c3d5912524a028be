"""What the commands of all engines have in common."""

import pytest

from paceline.engines.command_line import IS_THE_ADDRESS, address_argv, argv_of, refuse
from paceline.engines.engine import Address
from paceline.errors import ConfigError


def test_words_of_a_command() -> None:
    settings = {"max-num-seqs": 4, "enforce-eager": True, "seed": None, "enable-lora": False}
    assert argv_of(settings) == ["--max-num-seqs", "4", "--enforce-eager"]


def test_an_engine_without_a_host_listens_everywhere() -> None:
    assert address_argv(Address("", 8000)) == ["--host", "0.0.0.0", "--port", "8000"]
    assert address_argv(Address("::1", 8000)) == ["--host", "::1", "--port", "8000"]


def test_what_paceline_says_itself_is_refused_by_each_of_its_names() -> None:
    refuse("threads", {"host": IS_THE_ADDRESS}, also=("t",))
    for name, also in (("host", ()), ("h", ("host",))):
        with pytest.raises(ConfigError, match=f"the setting {name} is not yours to set") as raised:
            refuse(name, {"host": IS_THE_ADDRESS}, also=also)
        assert raised.value.hint == IS_THE_ADDRESS
