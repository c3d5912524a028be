"""Flags of `paceline sim` -> the reference engine's configuration (docs/reference/sim.md)."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paceline.errors import ConfigError, UsageError
from paceline.units import parse_duration_ns

FAULT_KINDS = (
    "http_400", "http_401", "http_404", "http_429", "http_500", "http_503", "error_event", "cut", "reset",
    "end_early", "no_end_marker", "empty", "stall", "malformed_json", "crlf", "no_space", "comments",
    "multi_line", "split_utf8", "huge_event", "slow_headers", "wrong_usage", "not_sse", "coalesce",
    "byte_at_a_time",
)  # fmt: skip


METRICS = ("vllm", "sglang", "tgi", "llama.cpp", "trtllm")


@dataclass(frozen=True, slots=True)
class SimOptions:
    """The reference engine as a user writes it; None: the engine's own default."""

    host: str = "127.0.0.1"
    port: int = 0
    models: tuple[str, ...] = ()
    api_key: str | None = None
    truth_log: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    seed: int = 1
    max_connections: int | None = None
    mode: str = "exact"
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    ttft: str | None = None
    itl: str | None = None
    tokens_per_event: int | None = None
    tool_tokens: int | None = None
    role_first: bool | None = None
    empty_first_events: int | None = None
    stalls: tuple[str, ...] = ()
    usage: str | None = None
    token_ids: bool | None = None
    slots: int | None = None
    prefill_tok_s: float | None = None
    prefill_base: str | None = None
    decode_step_base: str | None = None
    decode_step_per_seq: str | None = None
    prefix_cache: bool | None = None
    prefix_cache_blocks: int | None = None
    cached_prefill_share: float | None = None
    spec_burst: str | None = None
    queue_limit: int | None = None
    fault: str | None = None
    timeline: Path | None = None
    cached_tokens: int | None = None
    ttft_per_uncached_token: str | None = None
    server_model: str | None = None
    service_tier: str | None = None
    speed: str | None = None
    metrics: str | None = None
    rate_limit: str | None = None
    cancel_delay: str | None = None
    ignore_half_close: bool | None = None
    image_tokens: int | None = None
    embedding_dimensions: int | None = None
    answers: Path | None = None
    quality: float | None = None


def sim_config(options: SimOptions) -> dict[str, Any]:
    """The configuration document. Raises ConfigError for what cannot be meant.

    Ranges are the engine's own to check; it names the field.
    """
    if options.mode not in ("exact", "engine"):
        raise ConfigError(f"--mode {options.mode} is unknown", "it is exact or engine")
    if not 0 <= options.port <= 65_535:
        raise ConfigError(f"--port {options.port} is no port", "0 takes a free one")
    exact, engine = _exact(options), _engine(options)
    both = _both(options)
    other = engine if options.mode == "exact" else exact
    if other:
        flag = "--" + next(iter(other)).replace("_us", "").replace("_", "-")
        wanted = "engine" if options.mode == "exact" else "exact"
        raise ConfigError(
            f"{flag} has no meaning in {options.mode} mode", f"add --mode {wanted}, or leave it out"
        )
    host = f"[{options.host}]" if ":" in options.host else options.host
    document = {
        "listen": f"{host}:{options.port}",
        "models": list(options.models) or None,
        "api_key": options.api_key,
        "truth_log": None if options.truth_log is None else str(options.truth_log),
        "tls_cert_pem": _file("--tls-cert", options.tls_cert),
        "tls_key_pem": _file("--tls-key", options.tls_key),
        "seed": options.seed,
        "max_connections": options.max_connections,
        "mode": options.mode,
        options.mode: {**both, **(exact if options.mode == "exact" else engine)},
        "answers": _answers(options),
        "quality": options.quality,
        "fault": None if options.fault is None else parse_fault(options.fault),
        "timeline": None if options.timeline is None else _timeline(options.timeline),
        "metrics": _flavour(options.metrics),
        "rate_limit": None if options.rate_limit is None else _rate_limit(options.rate_limit),
        "cancel_delay_us": _us("--cancel-delay", options.cancel_delay),
        "ignore_half_close": options.ignore_half_close,
        "image_tokens": options.image_tokens,
        "embedding_dimensions": options.embedding_dimensions,
    }
    return _given(document)


def parse_fault(text: str) -> dict[str, Any]:
    """`cut:after_events=3,share=0.5` -> `{"kind": "cut", "after_events": 3, "share": 0.5}`."""
    kind, _, rest = text.partition(":")
    if kind not in FAULT_KINDS:
        raise ConfigError(f"--fault {kind} is unknown", f"it is one of {', '.join(FAULT_KINDS)}")
    fault: dict[str, Any] = {"kind": kind}
    for part in filter(None, rest.split(",")):
        name, equals, value = part.partition("=")
        wrong = ConfigError(
            f"--fault {text}: {part!r} is not NAME=NUMBER",
            "for example --fault cut:after_events=3,share=0.5",
        )
        try:
            fault[name.strip()] = float(value) if "." in value else int(value)
        except ValueError:
            raise wrong from None
        if not equals:
            raise wrong
    return fault


def _answers(options: SimOptions) -> list[dict[str, Any]] | None:
    """The lines of --answers; what is in them is the engine's own to check."""
    if options.answers is None:
        if options.quality is not None:
            raise ConfigError("--quality is of --answers, which is not given", "add --answers FILE")
        return None
    found = []
    # Not splitlines: JSON may have U+2028 and the like within a text.
    for number, line in enumerate((_file("--answers", options.answers) or "").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            found.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise ConfigError(
                f"--answers: {options.answers}, line {number} is not JSON: {error}",
                'for example {"prompt": "What is 3 + 4?", "answer": "Answer: 7"}',
            ) from None
    return found


_TIMELINE_HINT = 'for example [{"at_ms": 1000, "exact": {"ttft_us": 900000}}]'


def _timeline(path: Path) -> list[Any]:
    try:
        stages = json.loads(_file("--timeline", path) or "")
    except ValueError as error:
        raise ConfigError(f"--timeline: {path} is not JSON: {error}", _TIMELINE_HINT) from None
    if not isinstance(stages, list):
        raise ConfigError(f"--timeline: {path} is not a list of stages", _TIMELINE_HINT)
    return stages


def _both(options: SimOptions) -> dict[str, Any]:
    return _given(
        {
            "output_tokens": options.output_tokens,
            "reasoning_tokens": options.reasoning_tokens,
            "prefix_cache": options.prefix_cache,
            "prefix_cache_blocks": options.prefix_cache_blocks,
        }
    )


def _exact(options: SimOptions) -> dict[str, Any]:
    return _given(
        {
            "ttft_us": _us("--ttft", options.ttft),
            "itl_us": _us("--itl", options.itl),
            "tokens_per_event": options.tokens_per_event,
            "tool_tokens": options.tool_tokens,
            "role_first": options.role_first,
            "empty_first_events": options.empty_first_events,
            "stalls": [_stall(text) for text in options.stalls] or None,
            "usage": options.usage,
            "token_ids": options.token_ids,
            "cached_tokens": options.cached_tokens,
            "ttft_us_per_uncached_token": _us("--ttft-per-uncached-token", options.ttft_per_uncached_token),
            "server_model": options.server_model,
            "service_tier": options.service_tier,
            "speed": options.speed,
        }
    )


def _engine(options: SimOptions) -> dict[str, Any]:
    return _given(
        {
            "slots": options.slots,
            "prefill_tok_s": options.prefill_tok_s,
            "prefill_base_us": _us("--prefill-base", options.prefill_base),
            "decode_step_base_us": _us("--decode-step-base", options.decode_step_base),
            "decode_step_per_seq_us": _us("--decode-step-per-seq", options.decode_step_per_seq),
            "cached_prefill_share": options.cached_prefill_share,
            "spec_burst": None if options.spec_burst is None else _burst(options.spec_burst),
            "queue_limit": options.queue_limit,
        }
    )


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _us(option: str, text: str | None) -> int | None:
    if text is None:
        return None
    if text.strip() == "0":
        return 0
    try:
        return round(parse_duration_ns(text, option) / 1_000)
    except UsageError as error:
        raise ConfigError(error.message, error.hint) from None


def _stall(text: str) -> dict[str, int]:
    after, colon, length = text.partition(":")
    if not colon or not after.isdigit():
        raise ConfigError(f"--stall {text} is not TOKENS:DURATION", "for example --stall 10:500ms")
    return {"after_tokens": int(after), "stall_us": _us("--stall", length) or 0}


def _burst(text: str) -> dict[str, Any]:
    tokens, colon, acceptance = text.partition(":")
    try:
        burst = {"max_tokens": int(tokens), "acceptance": float(acceptance)}
    except ValueError:
        colon = ""
    if not colon:
        raise ConfigError(f"--spec-burst {text} is not TOKENS:ACCEPTANCE", "for example --spec-burst 4:0.6")
    return burst


def _flavour(name: str | None) -> str | None:
    if name is not None and name not in METRICS:
        raise ConfigError(f"--metrics {name} is unknown", f"it is one of {', '.join(METRICS)}")
    return name


def _rate_limit(text: str) -> dict[str, int]:
    """`requests=60,tokens=10000` -> `{"requests_per_min": 60, "tokens_per_min": 10000}`."""
    limits: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        if name.strip() not in {"requests", "tokens"} or not value.strip().isdigit():
            raise ConfigError(
                f"--rate-limit {text}: {part!r} is neither requests=NUMBER nor tokens=NUMBER",
                "what is meant is a minute's: --rate-limit requests=60,tokens=10000",
            )
        limits[f"{name.strip()}_per_min"] = int(value)
    return limits


def _file(option: str, path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not text"
        raise ConfigError(
            f"{option}: cannot read {path}: {reason}", "give a text file that can be read"
        ) from None
