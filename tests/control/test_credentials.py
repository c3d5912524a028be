from pathlib import Path
from typing import Any

import pytest
import trustme

from paceline.control.config import OfferConfig, TlsConfig
from paceline.control.credentials import credentials, tls_pems
from paceline.errors import ConfigError


def offer(**more: Any) -> OfferConfig:
    return OfferConfig.model_validate({"id": "a", "model": "m", "base_url": "https://a"} | more)


@pytest.mark.parametrize(
    ("protocol", "headers"),
    [
        ("chat", [("authorization", "Bearer sk-1")]),
        ("messages", [("x-api-key", "sk-1"), ("anthropic-version", "2023-06-01")]),
        (
            ["chat", "messages"],
            [("x-api-key", "sk-1"), ("anthropic-version", "2023-06-01"), ("authorization", "Bearer sk-1")],
        ),
    ],
)
def test_the_key_goes_as_the_protocol_has_it(
    monkeypatch: pytest.MonkeyPatch, protocol: object, headers: list[tuple[str, str]]
) -> None:
    monkeypatch.setenv("A_KEY", " sk-1\n")
    found = credentials(offer(protocol=protocol, api_key_env="A_KEY"))
    assert found.headers == headers
    assert found.warnings == []
    assert "sk-1" not in repr(found)


def test_a_variable_that_is_not_set_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("A_KEY", raising=False)
    found = credentials(offer(api_key_env="A_KEY", headers_env={"X-Team": "A_KEY"}))
    assert found.headers == []
    assert [text.partition(":")[0] for text in found.warnings] == ["A_KEY is not set", "A_KEY is not set"]


def test_a_key_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("sk-2\n")
    file.chmod(0o600)
    found = credentials(offer(api_key_file=str(file)))
    assert (found.headers, found.warnings) == ([("authorization", "Bearer sk-2")], [])
    file.chmod(0o644)
    assert "can be read by everybody" in credentials(offer(api_key_file=str(file))).warnings[0]


@pytest.mark.parametrize(
    ("raw", "message"), [(b"", "is empty"), (b"a\nb", "may not have"), (b"\xff", "plain")]
)
def test_a_file_that_holds_no_key(tmp_path: Path, raw: bytes, message: str) -> None:
    file = tmp_path / "key"
    file.write_bytes(raw)
    with pytest.raises(ConfigError, match=message):
        credentials(offer(api_key_file=str(file)))


def test_own_headers_go_before_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "sk-1")
    monkeypatch.setenv("OWN", "Basic x")
    found = credentials(
        offer(api_key_env="A_KEY", headers={"X-A": "b"}, headers_env={"Authorization": "OWN"})
    )
    assert found.headers == [("x-a", "b"), ("authorization", "Basic x")]


def test_a_certificate_and_its_key(tmp_path: Path) -> None:
    authority = trustme.CA()
    issued, other = authority.issue_cert("localhost"), authority.issue_cert("localhost")
    cert, key, wrong = (tmp_path / name for name in ("cert.pem", "key.pem", "wrong.pem"))
    cert.write_bytes(issued.cert_chain_pems[0].bytes())
    key.write_bytes(issued.private_key_pem.bytes())
    wrong.write_bytes(other.private_key_pem.bytes())
    key.chmod(0o600)
    found, warnings = tls_pems(TlsConfig(cert_file=cert, key_file=key))
    assert found["cert_pem"].startswith("-----BEGIN CERTIFICATE")
    assert found["key_pem"].startswith("-----BEGIN")
    assert warnings == []
    with pytest.raises(ConfigError, match="no certificate chain and its key"):
        tls_pems(TlsConfig(cert_file=cert, key_file=wrong))
