"""The preflight in five protocols: each alone, found by asking, and with exact lengths."""

from typing import Any

import pytest

from paceline.endpoints.preflight import Facts
from paceline.endpoints.preflight import check as check_with
from paceline.endpoints.target import Target
from paceline.errors import EndpointError
from paceline.measure.border import core_observe
from paceline.protocols import PROTOCOLS, Dialect, Protocol
from tests.support.fake_server import FakeServer, serving
from tests.support.five_protocols import Speaker


def check(speaker: Speaker, protocol: Protocol | None = None, **options: Any) -> tuple[Facts, FakeServer]:
    with serving(FakeServer(on_request=speaker)) as server:
        target = Target.parse(server.url, model="tiny", protocol=protocol)
        return check_with(target, core_observe, **options), server


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_each_protocol_answers(protocol: Protocol, streaming: bool) -> None:
    facts, server = check(Speaker(), protocol, streaming=streaming, system="Be kind.")
    assert (facts.protocol, facts.model, facts.server_model) == (protocol, "tiny", "tiny")
    assert facts.usage
    assert facts.notes == ()
    (body,) = server.bodies
    assert server.seen[-1].path == f"/v1{PROTOCOLS[protocol].path}"
    assert body.get("stream", False) is (streaming and PROTOCOLS[protocol].streams)
    version = server.seen[-1].headers.get("anthropic-version")
    assert version == ("2023-06-01" if protocol == "anthropic-messages" else None)


@pytest.mark.parametrize(
    ("there", "found", "asked"),
    [
        (("openai-chat", "anthropic-messages"), "openai-chat", 1),
        (("openai-responses", "anthropic-messages"), "openai-responses", 2),
        (("anthropic-messages", "openai-completions"), "anthropic-messages", 3),
        (("openai-completions", "openai-embeddings"), "openai-completions", 4),
    ],
)
def test_where_none_is_named_the_others_are_asked_in_order(
    there: tuple[Protocol, ...], found: Protocol, asked: int
) -> None:
    facts, server = check(Speaker(there))
    assert facts.protocol == found
    assert len(server.bodies) == asked


def test_what_is_named_or_only_embeds_is_not_guessed() -> None:
    with pytest.raises(EndpointError, match=r"there is no /v1/chat/completions \(404\)"):
        check(Speaker(("openai-embeddings",)))
    with pytest.raises(EndpointError, match=r"there is no /v1/responses \(404\)"):
        check(Speaker(("openai-chat",)), "openai-responses")


def test_a_protocol_that_the_server_has_not_any_more_is_no_end() -> None:
    with serving(FakeServer(on_request=Speaker(("openai-chat",)))) as server:
        probed = Target.parse(server.url, model="tiny").with_protocol("openai-responses")
        assert check_with(probed, core_observe).protocol == "openai-chat"


@pytest.mark.parametrize(
    ("refuses", "field", "asked"),
    [
        ((), "ignore_eos", 1),
        (("ignore_eos",), "min_tokens", 2),
        (("ignore_eos", "min_tokens"), None, 3),
    ],
)
@pytest.mark.parametrize("protocol", [name for name, info in PROTOCOLS.items() if info.streams])
def test_exact_lengths_are_asked_for_until_a_field_is_taken(
    protocol: Protocol, refuses: tuple[str, ...], field: str | None, asked: int
) -> None:
    facts, server = check(Speaker(refuses=refuses), protocol, exact_output=True)
    assert facts.exact_output == facts.dialect.exact_output == field
    assert len(server.bodies) == asked
    assert bool([note for note in facts.notes if "ignore_eos" in note]) is (field is None)


def test_exact_lengths_are_not_asked_for_where_nobody_wants_them() -> None:
    facts, server = check(Speaker(), dialect=Dialect(exact_output="min_tokens"))
    assert facts.exact_output is None
    assert "min_tokens" not in server.bodies[0]
    facts, server = check(Speaker(), exact_output=True, dialect=Dialect(exact_output="min_tokens"))
    assert facts.exact_output == "min_tokens"
    assert server.bodies[0]["min_tokens"] == 1


def test_what_is_known_of_the_server_is_not_asked_again() -> None:
    known = Dialect(stream_options=False, max_tokens_field="max_completion_tokens")
    facts, server = check(Speaker(refuses=("stream_options", "max_tokens")), dialect=known)
    assert facts.dialect == known
    assert len(server.bodies) == 1
    assert len(facts.notes) == 2


def test_the_workloads_temperature_is_sent() -> None:
    _, server = check(Speaker(), "anthropic-messages", temperature=0.5)
    assert server.bodies[0]["temperature"] == 0.5
