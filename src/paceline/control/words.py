"""The state of a gateway in words: what it listens on, what it serves, what is amiss. No secrets."""

from collections.abc import Sequence
from pathlib import Path

from paceline.control.force import Force
from paceline.control.prepare import PreparedOffer
from paceline.toml_file import Problem


def listening(addresses: dict[str, str | None], force: Force) -> list[str]:
    """Where clients and operators come."""
    gateway = force.prepared.file.config.gateway
    scheme = "https" if gateway.tls else "http"
    lines = [f"gateway at {scheme}://{addresses['listen']}/v1"]
    if addresses.get("admin"):
        lines.append(
            f"for operators at http://{addresses['admin']} (/metrics, /endpoints, /healthz, /readyz)"
        )
    keys = len(force.keys)
    count = "1 key is" if keys == 1 else f"{keys} keys are" if keys else "no key is"
    lines.append(f"{count} known" + ("" if gateway.require_key else "; none is required"))
    return lines


def models(force: Force) -> list[str]:
    """Models and under each its offers."""
    lines = []
    for model in force.prepared.file.config.all_models():
        also = f" (also {', '.join(model.aliases)})" if model.aliases else ""
        lines.append(f"model {model.id}{also}")
        offers = [offer for offer in force.prepared.offers if offer.config.model == model.id]
        lines += [f"  {_offer(offer, force)}" for offer in offers] or ["  no offer"]
    return lines


def problem_lines(problems: Sequence[Problem], file: Path, kind: str) -> list[str]:
    """`error: paceline.toml:3: ...` and under it its hint."""
    lines = []
    for one in problems:
        lines.append(f"{kind}: {one.said(file)}")
        if one.hint:
            lines.append(f"  hint: {one.hint}")
    return lines


def price(offer: PreparedOffer) -> str:
    """`0.25 in, 2 out USD/Mtok`."""
    if offer.price is None:
        return "price unknown"
    into, out = offer.price["input_usd_per_mtok"], offer.price["output_usd_per_mtok"]
    return "free" if not any(offer.price.values()) else f"{into:g} in, {out:g} out USD/Mtok"


def _offer(offer: PreparedOffer, force: Force) -> str:
    config = offer.config
    parts = [config.id, offer.target.display]
    if config.upstream_model not in (None, config.model):
        parts.append(f"as {config.upstream_model}")
    if config.tier != "standard":
        parts.append(config.tier)
    parts.append(price(offer))
    if not force.addresses.of(offer.target):
        parts.append("no address")
    return ", ".join(parts)
