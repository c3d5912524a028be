"""The gateway's part of `paceline.toml`: `[gateway]`, `[[model]]` and `[[offer]]`."""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from paceline.endpoints.target import Target
from paceline.errors import ConfigError, UsageError
from paceline.protocols import Protocol, parse_protocol
from paceline.units import parse_duration_ns

_Model = ConfigDict(extra="forbid", frozen=True)
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}")
_URL_HINT = "write the base URL alone, as https://api.example.com/v1; keys go to api_key_env or api_key_file"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_DEEPEST_JSON = 32


def _duration(value: object) -> object:
    if not isinstance(value, str):
        raise ValueError('it is no duration; write a number and a unit in quotes: "500ms", "30s", "2m"')
    try:
        parse_duration_ns(value, "it")
    except UsageError as error:
        # The value itself is not repeated.
        raise ValueError(f"it is no duration; {error.hint}") from None
    return value


def _duration_or_never(value: object) -> object:
    if isinstance(value, str):
        return _duration(value)
    if value is not False:
        raise ValueError('it is neither a duration nor false; write "30s", or false without quotes for never')
    return value


def _id(value: str) -> str:
    if not _ID.fullmatch(value):
        raise ValueError(
            "it is no id; letters, digits and . _ : / @ + - make one, at most 128, a letter or digit first"
        )
    return value


def _variable(value: str) -> str:
    if not _VARIABLE.fullmatch(value):
        raise ValueError(
            "it is not the name of an environment variable; "
            "give the name of the variable that holds the key, not the key itself"
        )
    return value


def _protocols(value: object) -> object:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not names or not all(isinstance(name, str) for name in names):
        raise ValueError(
            'it is neither a name nor a list of names; write "openai-chat", or ["chat", "messages"]'
        )
    try:
        return tuple(dict.fromkeys(parse_protocol(name) for name in names))
    except ConfigError as error:
        raise ValueError(f"there is no such protocol; {error.hint}") from None


def _address(value: str) -> str:
    host, mark, port = value.rpartition(":")
    # An IPv6 address stands in brackets, or its last part would be taken for the port.
    bad = not mark or not host or (":" in host and not re.fullmatch(r"\[[0-9a-fA-F:.]+\]", host))
    if bad or not re.fullmatch(r"[0-9]{1,5}", port) or int(port) > 65_535 or not value.isprintable():
        raise ValueError(
            'it is no address; write host and port: "127.0.0.1:8080", "[::1]:8080", "0.0.0.0:8080"'
        )
    return value


def _admin_address(value: object) -> object:
    if value is False:
        return value
    if not isinstance(value, str):
        raise ValueError('it is neither an address nor false; write "127.0.0.1:8081", or false for none')
    return _address(value)


def _base_url(value: str) -> str:
    if not value.lower().startswith(("http://", "https://")):
        # A key that got here would be looked up as a host's name.
        raise ValueError(f"it is no URL; {_URL_HINT}")
    try:
        Target.parse(value)
    except UsageError as error:
        raise ValueError(f"{error.message}; {_URL_HINT}") from None
    return value


def _user_path(value: Path) -> Path:
    if "\0" in str(value):
        raise ValueError("it is no path; leave out what cannot be in one")
    try:
        return value.expanduser()
    except RuntimeError:
        raise ValueError("there is no such user; write ~/ for your own folder, or a whole path") from None


def _number(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("it is true or false, and must be a number")
    return value


def _json(value: Any) -> Any:
    """What goes into a body must be JSON: TOML has more than that."""
    _check_json(value, 1)
    return value


def _check_json(value: Any, depth: int) -> None:
    if depth > _DEEPEST_JSON:
        raise ValueError(f"it is nested too deeply; {_DEEPEST_JSON} levels are the most")
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            _check_json(one, depth + 1)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError("JSON has no nan and no inf; leave it out")
    elif not isinstance(value, str | int | float):
        raise ValueError("JSON has no dates and times; write them in quotes")


Duration = Annotated[str, BeforeValidator(_duration)]
DurationOrNever = Annotated[str | bool, BeforeValidator(_duration_or_never)]
Id = Annotated[str, AfterValidator(_id)]
Variable = Annotated[str, AfterValidator(_variable)]
Protocols = Annotated[tuple[Protocol, ...], BeforeValidator(_protocols)]
UserPath = Annotated[Path, AfterValidator(_user_path)]
Flag = Annotated[bool, Field(strict=True)]
Share = Annotated[float, BeforeValidator(_number), Field(ge=0, le=1, allow_inf_nan=False)]
# Sums of products of such numbers stay finite.
Money = Annotated[float, BeforeValidator(_number), Field(ge=0, le=1e9, allow_inf_nan=False)]
Count = Annotated[int, BeforeValidator(_number), Field(ge=1, le=4_294_967_295)]
Bytes = Annotated[int, BeforeValidator(_number), Field(ge=1, le=1 << 40)]
Body = Annotated[dict[str, Any], AfterValidator(_json)]


class TlsConfig(BaseModel):
    """`[gateway.tls]`: PEM files of the certificate chain and its key."""

    model_config = _Model

    cert_file: UserPath
    key_file: UserPath


class ClientsConfig(BaseModel):
    """`[gateway.clients]`: bounds on clients."""

    model_config = _Model

    connections: Count = 4096
    requests: Count = 4096
    head_bytes: Bytes = 32_768
    body_bytes: Bytes = 33_554_432
    head_timeout: Duration = "10s"
    body_timeout: Duration = "60s"
    idle_timeout: Duration = "90s"
    write_timeout: Duration = "30s"
    pending_bytes: Bytes = 262_144
    answer_bytes: Bytes = 33_554_432
    event_bytes: Bytes = 4_194_304


class LedgerConfig(BaseModel):
    """`[gateway.ledger]`: how each request is written down."""

    model_config = _Model

    on_failure: Literal["flow", "stop"] = "flow"
    sync_every: DurationOrNever = "1s"
    segment_bytes: Annotated[int, BeforeValidator(_number), Field(ge=65_536, le=1 << 40)] = 67_108_864
    recent_requests: Annotated[int, BeforeValidator(_number), Field(ge=0, le=1_000_000)] = 4096


class PolicyConfig(BaseModel):
    """`[gateway.policy]`: how offers are chosen."""

    model_config = _Model

    time_worth_usd_per_hour: Money = 10.0
    explore_share: Share = 0.05
    min_samples: Count = 10
    window: Duration = "30m"
    deadline_confidence: Share = 0.5
    retry_share: Share = 0.2
    attempts: Annotated[int, BeforeValidator(_number), Field(ge=1, le=16)] = 3
    breaker_failures: Count = 5
    breaker_open: Duration = "5s"
    cache_affinity: Flag = True


class HedgingConfig(BaseModel):
    """`[gateway.hedging]`: a second offer is asked when the first is late."""

    model_config = _Model

    share: Share = 0.0
    least_wait: Duration = "50ms"


class ProbingConfig(BaseModel):
    """`[gateway.probing]`: small real requests to offers that have no traffic."""

    model_config = _Model

    every: DurationOrNever = False
    usd_per_day: Money = 1.0
    output_tokens: Annotated[int, BeforeValidator(_number), Field(ge=1, le=1024)] = 8


class GatewayConfig(BaseModel):
    """`[gateway]`."""

    model_config = _Model

    listen: Annotated[str, AfterValidator(_address)] = "127.0.0.1:8080"
    admin_listen: Annotated[str | bool, BeforeValidator(_admin_address)] = "127.0.0.1:8081"
    require_key: Flag = True
    tls: TlsConfig | None = None
    threads: Annotated[int, BeforeValidator(_number), Field(ge=1, le=256)] | None = None
    seed: Annotated[int, BeforeValidator(_number), Field(ge=0, le=(1 << 63) - 1)] | None = None
    keep_alive: DurationOrNever = "10s"
    drain: Duration = "30s"
    keep_text: Flag = False
    clients: ClientsConfig = Field(default_factory=ClientsConfig)
    ledger: LedgerConfig = Field(default_factory=LedgerConfig)
    policy: PolicyConfig = Field(default_factory=PolicyConfig)
    hedging: HedgingConfig = Field(default_factory=HedgingConfig)
    probing: ProbingConfig = Field(default_factory=ProbingConfig)


class ModelConfig(BaseModel):
    """`[[model]]`: what clients may ask for."""

    model_config = _Model

    id: Id
    aliases: tuple[Id, ...] = ()
    fallbacks: tuple[Id, ...] = ()
    description: str | None = None


class PriceConfig(BaseModel):
    """`price`: own figures, or a reference to genai-prices."""

    model_config = _Model

    input_usd_per_mtok: Money | None = None
    output_usd_per_mtok: Money | None = None
    cache_read_usd_per_mtok: Money | None = None
    cache_write_usd_per_mtok: Money | None = None
    request_usd: Money | None = None
    ref: str | None = None
    provider: str | None = None
    model: str | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> "PriceConfig":
        own = [name for name in type(self).model_fields if "usd" in name and getattr(self, name) is not None]
        named = self.ref is not None or self.provider is not None or self.model is not None
        ways = 'write ref = "openai:gpt-5-mini", or input_usd_per_mtok and output_usd_per_mtok'
        if named and own:
            raise ValueError(f"own figures and a reference are both given; {ways}")
        if named and (self.ref is None) == (self.provider is None or self.model is None):
            raise ValueError(
                'the reference is not whole; write ref = "openai:gpt-5-mini", or provider and model'
            )
        if self.ref is not None and (self.provider is not None or self.model is not None):
            raise ValueError("ref is given, and provider or model too; leave one of them out")
        if self.ref is not None and not all(self.ref.partition(":")):
            raise ValueError('ref has no provider; write provider and model: "openai:gpt-5-mini"')
        if not named and (self.input_usd_per_mtok is None or self.output_usd_per_mtok is None):
            raise ValueError(f"input_usd_per_mtok or output_usd_per_mtok is missing; {ways}; 0 is free")
        return self

    def reference(self) -> tuple[str, str] | None:
        """Provider and model in genai-prices; None for own figures."""
        if self.ref is not None:
            provider, _, model = self.ref.partition(":")
            return provider, model
        return None if self.provider is None or self.model is None else (self.provider, self.model)


class LimitsConfig(BaseModel):
    """`[offer.limits]`: bounds on an offer's use."""

    model_config = _Model

    concurrency: Count | None = None
    queue: Annotated[int, BeforeValidator(_number), Field(ge=0, le=1_000_000)] = 100
    queue_timeout: Duration | None = "30s"
    sessions: Count | None = None
    session: Duration | None = None
    idle: Duration | None = None


class TimeoutsConfig(BaseModel):
    """`[offer.timeouts]`: how long an offer may take."""

    model_config = _Model

    connect: Duration = "5s"
    first_token: Duration = "60s"
    gap: Duration = "30s"
    total: Duration = "10m"


class OfferConfig(BaseModel):
    """`[[offer]]`: one model of one provider at one tier."""

    model_config = _Model

    id: Id
    model: Id
    provider: Id | None = None
    base_url: Annotated[str, AfterValidator(_base_url)]
    protocol: Protocols = ("openai-chat",)
    upstream_model: str | None = None
    api_key_env: Variable | None = None
    api_key_file: UserPath | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    headers_env: dict[str, Variable] = Field(default_factory=dict)
    ca_file: UserPath | None = None
    tier: Literal["standard", "fast", "ultra", "flex"] = "standard"
    price: PriceConfig | None = None
    price_multiplier: Money = 1.0
    context_tokens: Count | None = None
    max_output_tokens: Count | None = None
    parameters: tuple[str, ...] | None = None
    allow_keys: tuple[str, ...] | None = None
    extra_body: Body = Field(default_factory=dict)
    limits: LimitsConfig = Field(default_factory=LimitsConfig)
    timeouts: TimeoutsConfig = Field(default_factory=TimeoutsConfig)

    @model_validator(mode="after")
    def _one_key(self) -> "OfferConfig":
        if self.api_key_env is not None and self.api_key_file is not None:
            raise ValueError("api_key_env and api_key_file are both given; leave one of them out")
        return self

    @property
    def provider_name(self) -> str:
        """Who serves it; an offer without a provider is its own."""
        return self.provider or self.id


class Config(BaseModel):
    """All of it."""

    model_config = _Model

    gateway: GatewayConfig = Field(default_factory=GatewayConfig)
    models: tuple[ModelConfig, ...] = ()
    offers: tuple[OfferConfig, ...] = ()

    def all_models(self) -> list[ModelConfig]:
        """The models of the file, and after them those that only offers name."""
        known = {model.id for model in self.models}
        named = dict.fromkeys(offer.model for offer in self.offers if offer.model not in known)
        return [*self.models, *(ModelConfig(id=name) for name in named)]


def overridden(config: Config, options: Mapping[str, Any]) -> Config:
    """With options of the command line over `[gateway]`. Raises ConfigError for a bad value."""
    given = {key: value for key, value in options.items() if value is not None}
    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        try:
            _admin_address(value) if name == "admin_listen" else _address(value)
        except ValueError as error:
            message, _, hint = str(error).partition("; ")
            raise ConfigError(f"{option}: {message}", hint) from None
    return config.model_copy(update={"gateway": config.gateway.model_copy(update=given)})
