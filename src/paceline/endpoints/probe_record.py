"""`paceline.probe/1`: what was found out about an endpoint. Holds no secrets."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from paceline.protocols import DEFAULT_DIALECT, Dialect, ExactOutput, MaxTokensField, Protocol

PROBE_SCHEMA: Literal["paceline.probe/1"] = "paceline.probe/1"
_Model = ConfigDict(extra="ignore", frozen=True, populate_by_name=True)
Value = int | float | str | list[str] | None


class Finding(BaseModel):
    """One answer. reason: how it is known, or why it is not. value: what was seen, where it can be said."""

    model_config = _Model

    answer: Literal["yes", "no", "unknown"]
    reason: str | None = None
    value: Value = None


class ProtocolFindings(BaseModel):
    """One protocol.

    answers: a tiny request is answered as the protocol says. streaming, whole: as a stream, as one document.
    usage_in_stream, usage_whole: token counts are sent there. stream_options, max_tokens_field: how bodies
    must be written.
    """

    model_config = _Model

    answers: Finding
    streaming: Finding
    whole: Finding
    usage_in_stream: Finding
    usage_whole: Finding
    stream_options: bool = True
    max_tokens_field: MaxTokensField = "max_tokens"


class Features(BaseModel):
    """What the endpoint can do, asked in its preferred protocol.

    per_chunk_usage, token_ids: how many tokens each event carries can be told, by usage in each event or by
    the tokens' numbers. log_probabilities, tools, images: taken and answered. reasoning: thinking is sent
    apart from the answer; value: the names of the fields. cache_reporting: usage tells cached tokens; value:
    how many of a prompt sent twice. exact_output: an answer can be made as long as it may be; value: the
    field. rate_limit_headers: value: their names. keep_alive: connections are used again. server_metrics:
    Prometheus metrics are open; value: their path.
    """

    model_config = _Model

    per_chunk_usage: Finding
    token_ids: Finding
    log_probabilities: Finding
    reasoning: Finding
    cache_reporting: Finding
    exact_output: Finding
    tools: Finding
    images: Finding
    rate_limit_headers: Finding
    keep_alive: Finding
    server_metrics: Finding


class Server(BaseModel):
    """What kind of server it is, by `evidence`; None where nothing told. header: its Server header."""

    model_config = _Model

    kind: str | None = None
    version: str | None = None
    header: str | None = None
    evidence: tuple[str, ...] = ()


class Offset(BaseModel):
    """The server's clock minus this machine's, ms, by its Date headers; true to `uncertainty_ms`."""

    model_config = _Model

    value_ms: float
    uncertainty_ms: float


class Cost(BaseModel):
    """What the probe spent; tokens as the server counted them."""

    model_config = _Model

    requests: int
    prompt_tokens: int
    completion_tokens: int
    bytes_received: int
    duration_s: float


class Probe(BaseModel):
    """The whole document.

    endpoint: origin and base path. models: what the server lists, None where it lists nothing. preferred:
    the protocol that measurements use where none is named; None where nothing answers. rate_limits: the
    last value of each header. exact_output: the field that makes answers as long as they may be.
    """

    model_config = _Model

    schema_name: Annotated[Literal["paceline.probe/1"], Field(alias="schema")] = PROBE_SCHEMA
    version: str
    probed_at: str
    endpoint: str
    model: str
    server_model: str | None = None
    models: tuple[str, ...] | None = None
    preferred: Protocol | None = None
    protocols: dict[Protocol, ProtocolFindings]
    features: Features
    exact_output: ExactOutput | None = None
    rate_limits: dict[str, str] = Field(default_factory=dict)
    server: Server
    clock_offset: Offset | None = None
    cost: Cost
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        return self.model_dump(mode="json", by_alias=True)

    def dialect(self, protocol: Protocol, model: str) -> Dialect:
        """How bodies must be written in a protocol; for another model nothing is known."""
        found = self.protocols.get(protocol)
        if found is None or model != self.model:
            return DEFAULT_DIALECT
        return Dialect(
            stream_options=found.stream_options,
            max_tokens_field=found.max_tokens_field,
            exact_output=self.exact_output if protocol == self.preferred else None,
        )
