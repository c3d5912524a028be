from pathlib import Path

import pytest

from paceline.control.addresses import Addresses
from paceline.control.config import GatewayConfig
from paceline.control.force import Force, Source, changed_fixed_keys, changes
from paceline.control.keys import KeyLimits, KeyStore
from paceline.control.problems import GatewayConfigError
from paceline.errors import ConfigError
from tests.control.fakes import resolved
from tests.control.samples import OFFER

B = OFFER.replace('"a"', '"b"')


def begun(tmp_path: Path, text: str, **options: object) -> tuple[Source, Force]:
    file = tmp_path / "paceline.toml"
    file.write_text(text)
    source = Source(file, options, tmp_path / "home", resolved)
    return source, source.first()


def written(source: Source, text: str) -> None:
    source.file.write_text(text)


def test_a_change_is_another_version_and_none_is_not(tmp_path: Path) -> None:
    source, first = begun(tmp_path, OFFER)
    assert first.table()["version"] == 1
    assert source.next(first).version == 1
    written(source, OFFER + "price_multiplier = 2.0\n# a comment")
    assert source.next(first).version == 1  # there is no price to multiply
    written(source, OFFER + "tier = 'fast'")
    second = source.next(first)
    assert second.version == 2
    assert changes(first, second) == "offer a changed"


def test_what_has_changed_is_said(tmp_path: Path) -> None:
    source, first = begun(tmp_path, OFFER)
    KeyStore(source.home).create("team", KeyLimits())
    written(source, "[gateway]\nrequire_key = false\npolicy.attempts = 2\n" + B.replace("demo", "other"))
    assert changes(first, source.next(first)) == (
        "model other added; model demo gone; offer b added; offer a gone; key team added; "
        "keys are not required; policy changed"
    )


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("[gateway]\nlisten = '0.0.0.0:80'\n", "gateway.listen"),
        ("[gateway.clients]\nrequests = 5\n", "gateway.clients.requests"),
        ("[gateway]\nkeep_text = true\n", "gateway.keep_text"),
    ],
)
def test_what_cannot_change_refuses_the_whole(tmp_path: Path, text: str, where: str) -> None:
    source, first = begun(tmp_path, OFFER)
    written(source, text + B)
    with pytest.raises(GatewayConfigError, match="cannot change while the gateway runs") as caught:
        source.next(first)
    assert [(one.where, one.line) for one in caught.value.problems] == [(where, 2)]


def test_each_fixed_key_is_found() -> None:
    def config(**more: object) -> GatewayConfig:
        return GatewayConfig.model_validate(more)

    assert changed_fixed_keys(config(), config(require_key=False, policy={"attempts": 1})) == []
    both = config(drain="1s", ledger={"on_failure": "stop", "segment_bytes": 65_536})
    assert changed_fixed_keys(config(), both) == ["drain", "ledger.on_failure", "ledger.segment_bytes"]
    tls = config(tls={"cert_file": "a", "key_file": "b"})
    assert changed_fixed_keys(config(), tls) == ["tls"]
    assert changed_fixed_keys(tls, config(tls={"cert_file": "a", "key_file": "c"})) == ["tls.key_file"]


def test_options_go_over_the_file_and_are_checked(tmp_path: Path) -> None:
    source, first = begun(tmp_path, OFFER, listen="127.0.0.1:0", admin_listen=None)
    settings = source.settings(first)
    assert (settings["listen"], settings["admin_listen"]) == ("127.0.0.1:0", "127.0.0.1:8081")
    # They stay over it when it changes.
    written(source, B)
    assert source.settings(source.next(first))["listen"] == "127.0.0.1:0"
    with pytest.raises(ConfigError, match="--listen: it is no address"):
        begun(tmp_path, OFFER, listen="8080")


def test_other_addresses_are_another_version(tmp_path: Path) -> None:
    source, first = begun(tmp_path, OFFER)
    again = Addresses({("a.test", 80): ["192.0.2.7:80"]})
    second = source.with_addresses(first, again)
    assert second.version == 2
    assert second.table()["offers"][0]["target"]["addresses"] == ["192.0.2.7:80"]
    failing = Addresses(again.known, {("a.test", 80): "it is not known"})
    third = source.with_addresses(second, failing)
    assert third.version == 2
    assert [one.message for one in third.warnings() if "last addresses" in one.message]


def test_the_files_that_are_watched(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("sk-1")
    source, first = begun(tmp_path, OFFER + f"api_key_file = '{key}'")
    assert source.watched(first) == [source.file, key, tmp_path / "home" / "gateway" / "keys.sqlite"]
    key.write_text("sk-2")
    assert source.next(first).version == 2
