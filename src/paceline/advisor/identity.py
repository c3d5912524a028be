"""What a run is evidence of: an offer, which is one model of one provider at one tier; a workload; a load."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from paceline.store.manifest import RunManifest

TierName = Literal["standard", "fast", "ultra", "flex"]
STANDARD: TierName = "standard"
# What a body asks a tier by, and what that tier is called here.
_TIER_FIELDS: dict[str, dict[str, TierName]] = {
    "service_tier": {"priority": "fast", "fast": "fast", "flex": "flex", "batch": "flex"},
    "speed": {"fast": "fast"},
}
# Two runs that differ in these alone do the same work.
_OF_NO_ACCOUNT = frozenset(
    {"seed", "prefix_salt", "about", "slo", "job_slo", "jobs_per_day", "worth_usd_per_hour", "load"}
)

# Fresh problems of the same kinds are the same work.
_OF_NO_PROBE = frozenset({"seed", "items"})


@dataclass(frozen=True, order=True)
class OfferKey:
    """One model of one provider at one tier."""

    model: str
    provider: str
    tier: str = STANDARD

    def __str__(self) -> str:
        """`model @ provider`, and the tier where it is another than standard."""
        name = f"{self.model} @ {self.provider}"
        return name if self.tier == STANDARD else f"{name} ({self.tier})"


class Asked(Protocol):
    """What a run says of whom it asked; a `Digest` does."""

    @property
    def endpoint(self) -> str:
        """URL without credentials."""

    @property
    def model(self) -> str:
        """As the endpoint calls it."""

    @property
    def provider(self) -> str | None:
        """As the run says."""

    @property
    def tier(self) -> str | None:
        """As the run says."""

    @property
    def live_offer(self) -> str | None:
        """The gateway's offer whose traffic it is."""

    @property
    def extra(self) -> Mapping[str, Any]:
        """Further fields of its bodies."""


@dataclass(frozen=True)
class AskedOffer:
    """What a run says of whom it asked, without anything else of it: an `Asked`."""

    endpoint: str
    model: str
    provider: str | None = None
    tier: str | None = None
    live_offer: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, manifest: "RunManifest") -> "AskedOffer":
        """By its options, or by the gateway whose traffic it is."""
        workload = manifest.workload
        live = workload if workload.get("kind") == "live" else {}
        said = {**live, **(manifest.offer or {})}
        return cls(
            endpoint=manifest.endpoint,
            model=manifest.model,
            provider=said.get("provider"),
            tier=said.get("tier"),
            live_offer=(live.get("live") or {}).get("offer"),
            extra=dict(workload.get("extra") or {}),
        )


@dataclass(frozen=True)
class KnownOffer:
    """An offer that the user has named: an `[[offer]]` of paceline.toml.

    base_url, upstream_model: what runs of it say. extra_body: what its tier is asked by. price: its `price`
    table as the file has it, with `price_multiplier` in it; None: not stated.
    """

    id: str
    key: OfferKey
    base_url: str
    upstream_model: str
    extra_body: Mapping[str, Any]
    price: Mapping[str, Any] | None = None


def offer_of(run: Asked, known: Sequence[KnownOffer] = ()) -> OfferKey:
    """The offer that a run has measured.

    In this order: what the run itself says (`--provider`, `--tier`), the user's offer of that id (live
    traffic) or of that URL, model and body, and what can be told from the body and the URL. A provider that
    nobody names is called by the host and port of its URL.
    """
    mine = known_offer(run, known)
    model = mine.key.model if mine else run.model
    provider = run.provider or (mine.key.provider if mine else None) or _host(run.endpoint)
    tier = run.tier or (mine.key.tier if mine else None) or asked_tier(run.extra)
    return OfferKey(model, provider, tier)


def known_offer(run: Asked, known: Sequence[KnownOffer]) -> KnownOffer | None:
    """The user's offer that a run has asked: of several, the one whose body says most of what was sent."""
    if run.live_offer is not None:
        return next((one for one in known if one.id == run.live_offer), None)
    fitting = [
        one
        for one in known
        if one.base_url.rstrip("/") == run.endpoint.rstrip("/")
        and one.upstream_model == run.model
        and all(run.extra.get(name) == value for name, value in one.extra_body.items())
    ]
    return max(fitting, key=lambda one: len(one.extra_body), default=None)


def asked_tier(extra: Mapping[str, Any]) -> TierName:
    """The tier that the further fields of a body ask for."""
    for name, names in _TIER_FIELDS.items():
        found = names.get(str(extra.get(name)))
        if found is not None:
            return found
    return STANDARD


def workload_key(workload: Mapping[str, Any]) -> str:
    """Equal for runs that did the same work: a hash of the workload without seeds, limits and notes.

    Nor does it know what a tier is asked by: that is the offer's, and two tiers are held against each other.
    """
    if workload.get("kind") == "live":
        return "live"
    extra = {name: value for name, value in (workload.get("extra") or {}).items() if name not in _TIER_FIELDS}
    mine = {**workload, "extra": extra}
    kept = {name: value for name, value in mine.items() if name not in _OF_NO_ACCOUNT and value}
    if probe := kept.get("probe"):
        kept["probe"] = {name: value for name, value in probe.items() if name not in _OF_NO_PROBE}
    return hashlib.sha256(json.dumps(kept, sort_keys=True, default=str).encode()).hexdigest()[:16]


def workload_name(workload: Mapping[str, Any]) -> str:
    """What a workload is called: its name, or its lengths."""
    if workload.get("kind") == "live":
        return "live"
    if workload.get("name"):
        return str(workload["name"])
    return f"{workload.get('prompt_tokens', '?')} in, {workload.get('output_tokens') or '?'} out"


def load_name(load: Mapping[str, Any]) -> str:
    """How a load is called where runs are held against each other: `closed 8`, `poisson 5/s`, `live`."""
    arrival = load.get("arrival") or {}
    kind = str(arrival.get("kind", "unknown"))
    if kind == "closed":
        return f"closed {arrival.get('concurrency', 1)}"
    if kind == "ramp":
        return f"ramp {arrival.get('from_requests_s'):g} to {arrival.get('to_requests_s'):g}/s"
    rate = arrival.get("rate_requests_s")
    return f"{kind} {rate:g}/s" if isinstance(rate, int | float) else kind


def _host(endpoint: str) -> str:
    return urlsplit(endpoint).netloc or endpoint
