"""What a target is: where requests go, in which protocol, and with which credentials."""

import json
import os
import re
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import SplitResult, parse_qsl, quote, urlsplit

from paceline.errors import ConfigError, EndpointError
from paceline.protocols import PROTOCOLS, Protocol, parse_protocol
from paceline.whole_file import read_whole

# The version that the readers are written for (Anthropic API reference, "Versions").
ANTHROPIC_VERSION = "2023-06-01"
# A path's end that names a protocol; the longer ones first, since one ends as another does.
_ENDINGS = sorted(((info.path, info.name) for info in PROTOCOLS.values()), key=lambda one: -len(one[0]))
_PORTS = {"http": 80, "https": 443}
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
# The load generator writes these itself.
_RESERVED_HEADERS = (
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "accept-encoding",
)
_CREDENTIAL = re.compile(
    r"(^|[_-])(key|apikey|token|secret|password|passwd|sig|signature|auth|code)$", re.IGNORECASE
)
_CREDENTIAL_HEADERS = ("authorization", "proxy-authorization", "cookie")
# The whole bundle of a system has a quarter of a megabyte.
_MOST_PEM_BYTES = 10_000_000
_SHORTEST_SECRET = 4
_REDACTED = "[redacted]"
_URL_HINT = "write the base URL of the server: http://localhost:8000 or https://api.example.com/v1"


@dataclass(frozen=True)
class Target:
    """An endpoint. Secrets (header values, the key) are in no repr and in nothing that `to_dict` gives.

    `base_path` begins with `/` or is empty and never ends with `/`; the request path is `base_path` followed
    by the protocol's own. `model` may be None until the server's only model is known. `protocol_named`: the
    user said which protocol it is, so that no other is tried.
    """

    scheme: Literal["http", "https"]
    host: str
    port: int
    base_path: str
    protocol: Protocol
    model: str | None = None
    query: str = ""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    api_key: str | None = field(default=None, repr=False)
    ca_pem: str | None = field(default=None, repr=False)
    protocol_named: bool = field(default=True, compare=False)

    @classmethod
    def parse(
        cls,
        url: str,
        *,
        model: str | None = None,
        protocol: Protocol | None = None,
        headers: Sequence[str] = (),
        api_key_env: str | None = None,
        ca_file: str | os.PathLike[str] | None = None,
    ) -> "Target":
        """Read what a person types.

        A bare origin gets `/v1`, as OpenAI clients expect of a base URL; a URL that ends with a protocol's
        own path names that protocol. Raises EndpointError for the URL, ConfigError for headers, the key and
        the CA file.
        """
        parts = _split(url)
        scheme: Literal["http", "https"] = "https" if parts.scheme == "https" else "http"
        base_path, named = _base_path(parts.path)
        protocol = None if protocol is None else parse_protocol(protocol)
        if named and protocol and named != protocol:
            raise ConfigError(
                f"the URL ends with {PROTOCOLS[named].path}, which is not the protocol {protocol}",
                f"leave the path's end out, or use --protocol {PROTOCOLS[named].short}",
            )
        key = None if api_key_env is None else _key_from_env(api_key_env)
        pairs = tuple(_header(text) for text in headers)
        spoken = protocol or named or "openai-chat"
        if key is not None and _has(pairs, _key_header(spoken)):
            raise ConfigError(
                f"an API key and a header {_key_header(spoken)} are both given",
                "give one of --api-key-env and --header",
            )
        if ca_file is not None and scheme == "http":
            raise ConfigError(
                "a CA file is given, but the URL is http", "use https://, or leave --ca-file out"
            )
        return cls(
            scheme=scheme,
            host=_host(parts),
            port=_port(parts) or _PORTS[scheme],
            base_path=base_path,
            protocol=spoken,
            model=model,
            query=parts.query,
            headers=pairs,
            api_key=key,
            ca_pem=None if ca_file is None else _ca_pem(Path(ca_file)),
            protocol_named=(protocol or named) is not None,
        )

    @property
    def path(self) -> str:
        """Path and query of a request."""
        return self.base_path + PROTOCOLS[self.protocol].path + self._query

    @property
    def origin(self) -> str:
        """`https://host:port`, the port left out where it is the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port == _PORTS[self.scheme] else f":{self.port}")

    @property
    def display(self) -> str:
        """The URL for people, reports and manifests; `parse` reads it back to the same target."""
        # A bare origin would be read as one with /v1, and a base that ends as a protocol does as that one.
        plain = _base_path(self.base_path) == (self.base_path, None)
        return self.origin + self.base_path + ("" if plain else PROTOCOLS[self.protocol].path) + self._query

    @property
    def models_path(self) -> str:
        """Path and query of the list of models."""
        return self.base_path + "/models" + self._query

    @property
    def _query(self) -> str:
        return f"?{self.query}" if self.query else ""

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must never be shown: the key and header values; longest first."""
        found = {value for _, value in self.headers if len(value) >= _SHORTEST_SECRET}
        # A server may say back `Bearer KEY` as KEY alone.
        found |= {part for _, value in self.headers for part in value.split() if len(part) >= 8}
        if self.api_key:
            found.add(self.api_key)
        return tuple(sorted(found, key=len, reverse=True))

    def redact(self, text: str) -> str:
        """What a server says, fit to be shown: without this target's secrets and control characters.

        A secret is found as it is, as JSON or a URL has it, and where the text was cut within it.
        """
        for secret in self.secrets:
            for written in dict.fromkeys((secret, json.dumps(secret)[1:-1], quote(secret, safe=""))):
                text = text.replace(written, _REDACTED)
            text = _without_start(text, secret)
        return printable(text)

    def with_model(self, model: str) -> "Target":
        """The same target for another model."""
        return replace(self, model=model)

    def with_protocol(self, protocol: Protocol) -> "Target":
        """The same target in another protocol."""
        return replace(self, protocol=protocol)

    def all_headers(self) -> list[tuple[str, str]]:
        """Headers to send. Secret: not for records.

        The key goes as `authorization: Bearer`, in the messages protocol as `x-api-key`, with the version
        of the protocol. A header that the user gives takes the place of either.
        """
        own: list[tuple[str, str]] = []
        if self.api_key is not None:
            name = _key_header(self.protocol)
            own.append((name, self.api_key if name == "x-api-key" else f"Bearer {self.api_key}"))
        if self.protocol == "anthropic-messages":
            own.append(("anthropic-version", ANTHROPIC_VERSION))
        return [*(pair for pair in own if not _has(self.headers, pair[0])), *self.headers]

    def resolve(self) -> list[str]:
        """Socket addresses (`127.0.0.1:9100`, `[::1]:9100`) in the resolver's order; EndpointError if none.

        Asked once before a run, so that no name look-up falls into a request's time.
        """
        try:
            found = socket.getaddrinfo(
                self.host, self.port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
            )
        except (socket.gaierror, UnicodeError) as error:
            reason = error.strerror if isinstance(error, socket.gaierror) else "not a valid host name"
            raise EndpointError(
                f"{self.display}: the host name {self.host!r} cannot be resolved: {reason}",
                "check the spelling of the host, and this machine's DNS",
            ) from error
        addresses = [
            f"[{address[0]!s}]:{self.port}" if family == socket.AF_INET6 else f"{address[0]!s}:{self.port}"
            for family, _, _, _, address in found
            if family in (socket.AF_INET, socket.AF_INET6)
        ]
        # A scoped link-local address cannot be written as a plain socket address.
        plain = [address for address in dict.fromkeys(addresses) if "%" not in address]
        if not plain:
            raise EndpointError(f"{self.display}: {self.host!r} has no IP address", "check the host name")
        return plain

    def load_target(self, addresses: Sequence[str], streaming: bool) -> dict[str, Any]:
        """The `target` object of paceline.load/1. Holds secrets: only for the load generator."""
        return {
            "scheme": self.scheme,
            "host": self.host,
            "port": self.port,
            "path": self.path,
            "addresses": list(addresses),
            "headers": [list(pair) for pair in self.all_headers()],
            "ca_pem": self.ca_pem,
            "protocol": self.protocol,
            "streaming": streaming and PROTOCOLS[self.protocol].streams,
        }

    def ssl_context(self) -> ssl.SSLContext:
        """What certificates are checked against: the given CA alone, or the system's roots."""
        return ssl.create_default_context(cadata=self.ca_pem)

    def to_dict(self) -> dict[str, Any]:
        """For manifests: everything but secrets; of headers the names only."""
        return {
            "url": self.display,
            "model": self.model,
            "protocol": self.protocol,
            "header_names": [name for name, _ in self.headers],
            "api_key": self.api_key is not None,
            "own_ca": self.ca_pem is not None,
        }


def _without_start(text: str, secret: str) -> str:
    """The text without the beginning of a secret at its end."""
    for size in range(min(len(secret), len(text)), _SHORTEST_SECRET - 1, -1):
        if text.endswith(secret[:size]):
            return text[:-size] + _REDACTED
    return text


def printable(text: str) -> str:
    """The text with white space as spaces and whatever else could steer a terminal replaced."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else " " if letter.isspace() else "\N{REPLACEMENT CHARACTER}"
        for letter in text
    )


def is_credential(header: str) -> bool:
    """Whether a header of this name, or written `Name: value`, says who is asking."""
    name = header.partition(":")[0].strip().lower()
    return name in _CREDENTIAL_HEADERS or _CREDENTIAL.search(name) is not None


def _split(url: str) -> SplitResult:
    text = url.strip()
    if not text:
        raise EndpointError("the URL is empty", _URL_HINT)
    if any(ord(letter) <= 32 or ord(letter) == 127 for letter in text):
        raise EndpointError("the URL has a space or a control character in it", _URL_HINT)
    scheme, mark, rest = text.partition("://")
    if not mark and re.match(r"https?:(/|$)", text, re.IGNORECASE):
        raise EndpointError("the URL's scheme is not followed by ://", _URL_HINT)
    if re.match(r"[0-9a-fA-F]*:[0-9a-fA-F:]*:", rest or text):
        raise EndpointError("the URL has an IPv6 address without brackets", "write http://[::1]:8000")
    if not mark:
        # Names in a local network and loopback seldom speak TLS, so a missing scheme means http.
        text = "http://" + text.removeprefix("//")
    elif scheme.lower() not in _PORTS:
        raise EndpointError(f"the URL's scheme is {scheme!r}", "use http:// or https://")
    try:
        parts = urlsplit(text)
    except ValueError as error:
        raise EndpointError(f"the URL cannot be read: {error}", _URL_HINT) from error
    if "@" in parts.netloc:
        raise EndpointError(
            "the URL holds credentials, which would end up in logs and reports",
            "leave them out of the URL; use --api-key-env NAME, or --header 'authorization: ...'",
        )
    for name, _ in parse_qsl(parts.query, keep_blank_values=True):
        if _CREDENTIAL.search(name):
            raise EndpointError(
                f"the URL's query holds a credential ({name}=...), which would end up in logs and reports",
                "leave it out of the URL; use --api-key-env NAME, or --header 'Name: value'",
            )
    if parts.fragment:
        raise EndpointError(f"the URL has a fragment (#{parts.fragment})", "leave out what follows #")
    return parts


def _host(parts: SplitResult) -> str:
    host = parts.hostname
    if not host:
        raise EndpointError("there is no host in the URL", _URL_HINT)
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError as error:
            raise EndpointError(f"the host {host!r} is not a valid name", _URL_HINT) from error
    return host


def _port(parts: SplitResult) -> int | None:
    try:
        port = parts.port
    except ValueError as error:
        raise EndpointError(
            f"the port in {parts.netloc!r} is not a number between 1 and 65535", _URL_HINT
        ) from error
    if port == 0:
        raise EndpointError(f"the port in {parts.netloc!r} is 0", _URL_HINT)
    return port


def _base_path(path: str) -> tuple[str, Protocol | None]:
    """Base path and the protocol that the path's end names, if it does."""
    path = re.sub(r"/{2,}", "/", path).rstrip("/")
    for ending, name in _ENDINGS:
        if path.endswith(ending):
            return path.removesuffix(ending), name
    return path.removesuffix("/models") if path.endswith("/models") else path or "/v1", None


def _key_header(protocol: Protocol) -> str:
    return "x-api-key" if protocol == "anthropic-messages" else "authorization"


def _has(headers: Sequence[tuple[str, str]], name: str) -> bool:
    return any(one.lower() == name for one, _ in headers)


def _header(text: str) -> tuple[str, str]:
    name, mark, value = text.partition(":")
    name, value = name.strip(), value.strip()
    hint = "write --header 'Name: value'"
    # Without a colon the text may be nothing but the secret, so it is not repeated.
    if not mark:
        raise ConfigError("a header has no colon", hint)
    if not _HEADER_NAME.fullmatch(name):
        raise ConfigError("a header's name is empty or has a character that names may not have", hint)
    if not value or not value.isascii() or any(ord(letter) < 32 or ord(letter) == 127 for letter in value):
        raise ConfigError(
            f"the value of header {name!r} is empty, or has a letter that headers may not have",
            hint,
        )
    if name.lower() in _RESERVED_HEADERS:
        raise ConfigError(f"header {name!r} is written by Paceline itself", "leave it out")
    return name, value


def _key_from_env(variable: str) -> str:
    # What does not look like a variable is probably the key itself, so it is not repeated.
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", variable):
        raise ConfigError(
            "--api-key-env is not the name of an environment variable",
            "give the name of the variable that holds the key, not the key: --api-key-env OPENAI_API_KEY",
        )
    shown = variable if variable.isupper() else "of --api-key-env"
    hint = "set it before; --api-key-env takes the variable's name, not the key"
    value = os.environ.get(variable)
    if value is None:
        raise ConfigError(f"the environment variable {shown} is not set", hint)
    value = value.strip()
    if not value:
        raise ConfigError(f"the environment variable {shown} is empty", hint)
    if not value.isascii() or any(ord(letter) < 32 or ord(letter) == 127 for letter in value):
        raise ConfigError(
            f"the key in the environment variable {shown} has a letter that a header may not have",
            "check it for line breaks and quotation marks",
        )
    return value


def _ca_pem(path: Path) -> str:
    hint = "give a PEM file with -----BEGIN CERTIFICATE-----"
    try:
        pem = read_whole(path.expanduser(), _MOST_PEM_BYTES).decode("ascii")
    except OSError as error:
        raise ConfigError(f"the CA file {path} cannot be read: {error.strerror}", hint) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"the CA file {path} is not PEM", hint) from error
    try:
        ssl.create_default_context(cadata=pem)
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(f"the CA file {path} is not PEM", hint) from error
    return pem
