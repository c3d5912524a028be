"""What has to be true of a study on the disk, beyond its form, so that it can be shown and gone on with."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

_MOST = 2**63 - 1
_Count = Annotated[int, Field(ge=0, le=_MOST)]


class _Part(BaseModel):
    """Keys that are known; what else there is may be anything."""

    model_config = ConfigDict(extra="allow")


class _Estimate(_Part):
    value: float | None = None
    lo: float | None = None
    hi: float | None = None


class _Metric(_Part):
    p50: _Estimate | None = None
    p95: _Estimate | None = None


class _Reason(_Part):
    code: str
    text: str


class CheckedFigures(_Part):
    """The figures of a step, as far as reports and searches rely on them."""

    attempted: _Count | None = None
    met: _Count | None = None
    met_by_limit: dict[str, _Count] = Field(default_factory=dict)
    trust: str | None = None
    reasons: list[_Reason] | None = None
    output_tok_s: float | None = None
    requests_s: float | None = None
    goodput_requests_s: float | None = None
    e2e_mean_ms: float | None = None
    ttft: _Metric | None = None
    itl: _Metric | None = None
    e2e: _Metric | None = None
    user_tok_s: _Metric | None = None


class _Connection(_Part):
    header_names: list[str] = Field(default_factory=list)
    api_key_env: str | None = None
    ca_file: str | None = None
    server_metrics: dict[str, Any] | None = None


class _Asked(_Part):
    workload: dict[str, Any]
    load: dict[str, Any]
    seed: int
    settle_ns: int = Field(ge=0, le=_MOST)
    keep_salt: bool
    slo: dict[str, float] | None = None
    connection: _Connection | None = None
    threads: int | None = None


class _AskedOfSweep(_Asked):
    points: list[dict[str, Any]]
    repeats: int = Field(ge=1, le=_MOST)
    order: Literal["random", "up", "down"]


class _Search(_Part):
    share: float
    confidence: float
    lowest: float
    highest: float


class _AskedOfCapacity(_Asked):
    axis: Literal["rate", "concurrency"]
    search: _Search
    criteria: list[str]
    budget_s: float


class _Found(_Part):
    verdict: str
    lo: float
    hi: float
    load: float | None = None
    needs_s: float | None = None


def check_asked(kind: str, asked: dict[str, Any], result: dict[str, Any] | None) -> None:
    """Raises pydantic's ValidationError, a ValueError, where a study's question or answer makes no sense."""
    (_AskedOfSweep if kind == "sweep" else _AskedOfCapacity).model_validate(asked)
    if kind == "capacity" and result is not None:
        _Found.model_validate(result)
