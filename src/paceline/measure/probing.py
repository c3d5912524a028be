"""Probe an endpoint and keep what was found; and what is known of an endpoint from its last probe."""

from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from paceline.endpoints.bounded import Budget
from paceline.endpoints.probe import Watch, endpoint_of, probe
from paceline.endpoints.probe_record import Probe
from paceline.endpoints.target import Target
from paceline.measure.border import core_observe
from paceline.protocols import DEFAULT_DIALECT, Dialect, Protocol
from paceline.store.probes import load_probe, save_probe


def probe_endpoint(
    target: Target,
    *,
    budget: Budget | None = None,
    watch: Watch = lambda _: None,
    show: Callable[[Probe], None] = lambda _: None,
) -> tuple[Probe, Path | None]:
    """Ask an endpoint everything, and keep it where some protocol answers; the file, or None.

    `show` gets the result before it is kept, so that it is not lost where it cannot be. Raises EndpointError
    where the endpoint cannot be reached or its model cannot be told, StoreError where nothing can be kept.
    """
    found = probe(target, core_observe, budget=budget, watch=watch)
    show(found)
    return found, None if found.preferred is None else save_probe(found.to_dict())


def lookup(target: Target) -> Probe | None:
    """The last probe of the target's endpoint; None where there is none that can be read."""
    document = load_probe(endpoint_of(target))
    if document is None:
        return None
    try:
        return Probe.model_validate(document)
    except ValidationError:
        return None


def known_protocol(target: Target) -> Protocol | None:
    """The protocol that the endpoint's last probe prefers; None where one was named, or nothing is known."""
    found = None if target.protocol_named else lookup(target)
    return None if found is None else found.preferred


def known_dialect(target: Target, model: str | None) -> Dialect:
    """How bodies must be written for this model, as the last probe found; else as is usual."""
    found = lookup(target)
    return DEFAULT_DIALECT if found is None or model is None else found.dialect(target.protocol, model)
