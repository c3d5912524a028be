"""Upstream keys and certificates: from the environment and from files. What is read here is secret."""

import os
import ssl
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from paceline.endpoints.target import ANTHROPIC_VERSION
from paceline.errors import ConfigError
from paceline.whole_file import read_whole

if TYPE_CHECKING:
    from paceline.control.config import OfferConfig, TlsConfig

_MOST_KEY_BYTES = 65_536
_MOST_PEM_BYTES = 10_000_000


@dataclass(frozen=True)
class Credentials:
    """An offer's headers, secret ones among them."""

    headers: list[tuple[str, str]] = field(repr=False)
    warnings: list[str] = field(default_factory=list)


def credentials(offer: "OfferConfig") -> Credentials:
    """The headers of each request to an offer. Raises ConfigError for a file or a value that is of no use.

    The key goes as `authorization: Bearer`, for the messages protocol as `x-api-key`. A variable that is not
    set is a warning: engines of one's own need no key.
    """
    warnings: list[str] = []
    key = _key(offer, warnings)
    headers = [(name.lower(), value) for name, value in offer.headers.items()]
    for name, variable in offer.headers_env.items():
        value = os.environ.get(variable, "").strip()
        if value:
            headers.append((name.lower(), _sendable(value, f"the value of {variable}")))
        else:
            warnings.append(f"{variable} is not set: it is asked without the header {name}")
    given = {name for name, _ in headers}
    if "anthropic-messages" in offer.protocol:
        headers += [("x-api-key", key)] if key and "x-api-key" not in given else []
        headers += [("anthropic-version", ANTHROPIC_VERSION)] if "anthropic-version" not in given else []
    if key and "authorization" not in given and offer.protocol != ("anthropic-messages",):
        headers.append(("authorization", f"Bearer {key}"))
    return Credentials(headers, warnings)


def watched_files(offer: "OfferConfig") -> list[Path]:
    """Files that an offer is made of besides the config."""
    return [path for path in (offer.api_key_file, offer.ca_file) if path is not None]


def ca_pem(path: Path) -> str:
    """A CA to trust. Raises ConfigError."""
    pem = _text(path, _MOST_PEM_BYTES, "give a PEM file with -----BEGIN CERTIFICATE-----")
    try:
        ssl.create_default_context(cadata=pem)
    except (ssl.SSLError, ValueError):
        raise ConfigError("the file is not PEM", "give a file with -----BEGIN CERTIFICATE-----") from None
    return pem


def tls_pems(config: "TlsConfig") -> tuple[dict[str, str], list[str]]:
    """`tls` of `paceline.gateway/1`, secret, and warnings. Raises ConfigError where they do not fit."""
    cert = _text(config.cert_file, _MOST_PEM_BYTES, "give the certificate chain in PEM")
    key = _text(config.key_file, _MOST_PEM_BYTES, "give the certificate's private key in PEM")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(
            config.cert_file, config.key_file, password=lambda: ""
        )
    except (ssl.SSLError, ValueError, OSError):
        raise ConfigError(
            f"{config.cert_file} and {config.key_file} are no certificate chain and its key",
            "give both in PEM, the key without a password",
        ) from None
    return {"cert_pem": cert, "key_pem": key}, _mode_warnings(config.key_file)


def _key(offer: "OfferConfig", warnings: list[str]) -> str | None:
    if offer.api_key_file is not None:
        warnings += _mode_warnings(offer.api_key_file)
        text = _text(offer.api_key_file, _MOST_KEY_BYTES, "give the path of a file that holds the key alone")
        if not text.strip():
            raise ConfigError(f"{offer.api_key_file} is empty", "write the key into it")
        return _sendable(text.strip(), f"the key in {offer.api_key_file}")
    if offer.api_key_env is None:
        return None
    value = os.environ.get(offer.api_key_env, "").strip()
    if not value:
        warnings.append(f"{offer.api_key_env} is not set: it is asked without a key")
        return None
    return _sendable(value, f"the key in {offer.api_key_env}")


def _sendable(value: str, what: str) -> str:
    if not value.isascii() or any(ord(letter) < 32 or ord(letter) == 127 for letter in value):
        raise ConfigError(
            f"{what} has a letter that a header may not have", "check it for line breaks and quotation marks"
        )
    return value


def _mode_warnings(path: Path) -> list[str]:
    try:
        mode = path.stat().st_mode
    except OSError:
        return []
    if mode & (stat.S_IROTH | stat.S_IWOTH):
        return [f"{path} can be read by everybody on this machine: chmod 600 {path}"]
    return []


def _text(path: Path, most_bytes: int, hint: str) -> str:
    """What a file holds. A path that leads nowhere is not repeated: it may be the key itself."""
    try:
        return read_whole(path, most_bytes).decode("ascii")
    except OSError as error:
        raise ConfigError(f"the file cannot be read: {error.strerror}", hint) from None
    except UnicodeDecodeError:
        raise ConfigError("the file holds more than plain letters", hint) from None
