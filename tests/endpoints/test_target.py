"""What people type as a target, and that its secrets never show."""

from pathlib import Path

import pytest
import trustme

from paceline.endpoints.target import Target
from paceline.errors import ConfigError, EndpointError, UsageError
from paceline.protocols import PROTOCOLS

SECRET = "sk-very-secret-42"


@pytest.mark.parametrize(
    ("typed", "display", "path", "protocol"),
    [
        ("http://h:8000", "http://h:8000/v1", "/v1/chat/completions", "openai-chat"),
        ("http://h:8000/", "http://h:8000/v1", "/v1/chat/completions", "openai-chat"),
        ("http://h:8000/v1/", "http://h:8000/v1", "/v1/chat/completions", "openai-chat"),
        ("https://api.x.com/v1", "https://api.x.com/v1", "/v1/chat/completions", "openai-chat"),
        ("http://h/v1/chat/completions", "http://h/v1", "/v1/chat/completions", "openai-chat"),
        ("http://h/v1/completions", "http://h/v1", "/v1/completions", "openai-completions"),
        ("http://h/chat/completions", "http://h/chat/completions", "/chat/completions", "openai-chat"),
        ("http://h/v1/models", "http://h/v1", "/v1/chat/completions", "openai-chat"),
        ("http://h/api//openai/", "http://h/api/openai", "/api/openai/chat/completions", "openai-chat"),
        ("localhost:8000", "http://localhost:8000/v1", "/v1/chat/completions", "openai-chat"),
        ("10.0.0.7", "http://10.0.0.7/v1", "/v1/chat/completions", "openai-chat"),
        ("[::1]:8000", "http://[::1]:8000/v1", "/v1/chat/completions", "openai-chat"),
        ("HTTPS://H.Example:443/v1", "https://h.example/v1", "/v1/chat/completions", "openai-chat"),
        ("https://h/x?v=1", "https://h/x?v=1", "/x/chat/completions?v=1", "openai-chat"),
        ("http://h/v1/responses", "http://h/v1", "/v1/responses", "openai-responses"),
        ("http://h/v1/embeddings", "http://h/v1", "/v1/embeddings", "openai-embeddings"),
        ("http://h/v1/messages/", "http://h/v1", "/v1/messages", "anthropic-messages"),
        ("http://h/messages", "http://h/messages", "/messages", "anthropic-messages"),
        ("http://h/responses?v=1", "http://h/responses?v=1", "/responses?v=1", "openai-responses"),
        (
            "http://h/messages/responses",
            "http://h/messages/responses",
            "/messages/responses",
            "openai-responses",
        ),
        (
            "http://h/models/embeddings",
            "http://h/models/embeddings",
            "/models/embeddings",
            "openai-embeddings",
        ),
    ],
)
def test_what_people_type(typed: str, display: str, path: str, protocol: str) -> None:
    target = Target.parse(typed)
    assert (target.display, target.path, target.protocol) == (display, path, protocol)
    assert Target.parse(target.display, protocol=target.protocol) == target


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("", "empty"),
        ("ftp://h", "scheme"),
        ("http:/h", "://"),
        ("http://", "no host"),
        ("a b", "space"),
        ("h:99999", "port"),
        ("h:port", "port"),
        ("h:0", "port"),
        ("::1:8000", "brackets"),
        ("http://[zz]/", "cannot be read"),
        ("http://h/#x", "fragment"),
    ],
)
def test_what_is_no_url_is_refused_with_a_hint(typed: str, said: str) -> None:
    with pytest.raises(EndpointError) as caught:
        Target.parse(typed)
    assert said in caught.value.message + (caught.value.hint or "")
    assert caught.value.hint


@pytest.mark.parametrize(
    "url",
    [
        "https://user:{}@h/v1",
        "{}@h",
        "https://h/v1?key={}",
        "https://h/v1?a=1&Access_Token={}",
        "h?api-key={}",
    ],
)
def test_credentials_in_the_url_are_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(EndpointError) as caught:
        Target.parse(url.format(SECRET))
    assert SECRET not in caught.value.message + (caught.value.hint or "")
    assert "--api-key-env" in (caught.value.hint or "")


def test_the_protocol_is_chosen_and_checked() -> None:
    assert Target.parse("h", protocol="openai-completions").path == "/v1/completions"
    with pytest.raises(ConfigError, match="not the protocol"):
        Target.parse("http://h/v1/completions", protocol="openai-chat")
    with pytest.raises(ConfigError, match="not the protocol") as caught:
        Target.parse("http://h/v1/messages", protocol="openai-chat")
    assert "--protocol messages" in (caught.value.hint or "")
    with pytest.raises(ConfigError, match="unknown"):
        Target.parse("h", protocol="grpc")  # type: ignore[arg-type]
    assert Target.parse("h", protocol="openai-chat").protocol_named
    assert Target.parse("http://h/v1/responses").protocol_named
    assert not Target.parse("http://h/v1").protocol_named
    assert Target.parse("http://h/v1").with_protocol("openai-responses").path == "/v1/responses"


def test_each_protocol_says_who_asks_in_its_own_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", SECRET)
    bearer = ("authorization", f"Bearer {SECRET}")
    for protocol in PROTOCOLS:
        headers = Target.parse("h", protocol=protocol, api_key_env="THE_KEY").all_headers()
        if protocol == "anthropic-messages":
            assert headers == [("x-api-key", SECRET), ("anthropic-version", "2023-06-01")]
        else:
            assert headers == [bearer]


def test_a_header_of_the_user_takes_the_place_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", SECRET)
    newer = ["Anthropic-Version: 2026-10-21", f"authorization: Bearer {SECRET}"]
    target = Target.parse("http://h/v1/messages", headers=newer)
    assert target.all_headers() == list(target.headers)
    both = Target.parse("http://h/v1/messages", headers=newer, api_key_env="THE_KEY")
    assert both.all_headers() == [("x-api-key", SECRET), *target.headers]
    assert both.with_protocol("openai-chat").all_headers() == list(target.headers)
    for url, name in (("h", "Authorization"), ("http://h/v1/messages", "X-Api-Key")):
        with pytest.raises(ConfigError, match=f"a header {name.lower()} are both given"):
            Target.parse(url, headers=[f"{name}: {SECRET}"], api_key_env="THE_KEY")


def test_embeddings_are_never_asked_for_as_a_stream() -> None:
    for protocol, info in PROTOCOLS.items():
        told = Target.parse("h", protocol=protocol).load_target(["127.0.0.1:80"], streaming=True)
        assert told["streaming"] is info.streams


def test_secrets_show_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", SECRET)
    target = Target.parse(
        "https://h/v1?v=1", headers=["X-Team: team-secret"], api_key_env="THE_KEY", model="m"
    )
    shown = repr(target) + str(target) + target.display + repr(target.to_dict())
    for secret in (SECRET, "team-secret"):
        assert secret not in shown
    assert target.redact(f"bad key {SECRET} of team-secret") == "bad key [redacted] of [redacted]"
    assert target.to_dict()["header_names"] == ["X-Team"]
    assert target.with_model("n").all_headers() == target.all_headers()


def test_a_key_inside_a_header_is_redacted_on_its_own() -> None:
    target = Target.parse("h", headers=[f"authorization: Bearer {SECRET}"])
    assert (
        target.redact(f"Incorrect API key provided: {SECRET}.") == "Incorrect API key provided: [redacted]."
    )


def test_a_secret_is_found_however_it_is_written() -> None:
    target = Target.parse("http://h", headers=['x-key: a"b/c+d\\e'])
    for said in ('a"b/c+d\\e', 'a\\"b/c+d\\\\e', "a%22b%2Fc%2Bd%5Ce"):
        assert target.redact(f"key {said}, sorry") == "key [redacted], sorry"
    assert target.redact('cut at a"b/c') == "cut at [redacted]"
    assert target.redact('a"b in the midst is another word') == 'a"b in the midst is another word'


def test_what_the_load_generator_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", f"{SECRET}\n")
    target = Target.parse("http://[::1]:9/v1", headers=["x-a: b: c"], api_key_env="THE_KEY")
    assert target.load_target(["[::1]:9"], streaming=True) == {
        "scheme": "http",
        "host": "::1",
        "port": 9,
        "path": "/v1/chat/completions",
        "addresses": ["[::1]:9"],
        "headers": [["authorization", f"Bearer {SECRET}"], ["x-a", "b: c"]],
        "ca_pem": None,
        "protocol": "openai-chat",
        "streaming": True,
    }


@pytest.mark.parametrize(
    "header", [SECRET, f": {SECRET}", f"a b: {SECRET}", f"x: {SECRET}\r\ny: 1", "x:", f"host: {SECRET}"]
)
def test_bad_headers_are_refused_without_their_values(header: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Target.parse("h", headers=[header])
    assert SECRET not in caught.value.message + (caught.value.hint or "")


def test_a_missing_or_bad_key_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    monkeypatch.setenv("EMPTY_KEY", " ")
    monkeypatch.setenv("BROKEN_KEY", f"{SECRET}\nx")
    for name, said in (("NO_SUCH_KEY", "not set"), ("EMPTY_KEY", "is empty"), ("BROKEN_KEY", "letter")):
        with pytest.raises(ConfigError) as caught:
            Target.parse("h", api_key_env=name)
        assert said in caught.value.message
        assert name in caught.value.message
        assert SECRET not in caught.value.message
    for key in (SECRET, "sk_live_looks_like_a_name"):
        with pytest.raises(ConfigError) as caught:
            Target.parse("h", api_key_env=key)
        assert key not in caught.value.message + (caught.value.hint or "")


def test_two_ways_to_give_the_key_are_one_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", SECRET)
    with pytest.raises(ConfigError, match="both given"):
        Target.parse("h", api_key_env="THE_KEY", headers=["Authorization: x"])


def test_the_ca_file_is_checked(tmp_path: Path) -> None:
    pem = tmp_path / "ca.pem"
    trustme.CA().cert_pem.write_to_path(pem)
    assert "BEGIN CERTIFICATE" in (Target.parse("https://h", ca_file=pem).ca_pem or "")
    junk = tmp_path / "junk.pem"
    junk.write_text("not a certificate")
    binary = tmp_path / "binary.pem"
    binary.write_bytes(b"\xff\xfe\x00")
    for bad in (junk, binary, tmp_path / "missing.pem", tmp_path, Path("/dev/zero")):
        with pytest.raises(ConfigError) as caught:
            Target.parse("https://h", ca_file=bad)
        assert str(bad) in caught.value.message
    with pytest.raises(ConfigError, match="http"):
        Target.parse("http://h", ca_file=pem)


def test_names_are_resolved_and_failures_are_clear() -> None:
    assert Target.parse("http://127.0.0.1:81").resolve() == ["127.0.0.1:81"]
    assert Target.parse("http://[::1]:81").resolve() == ["[::1]:81"]
    for host in ("no-such-host.invalid", "a" * 300):
        with pytest.raises(UsageError) as caught:
            Target.parse(host).resolve()
        assert "cannot be resolved" in caught.value.message
