"""Who can be put into a race: the user's own offers, endpoints of stored runs, the running gateway.

A browser names one of them; it never names a URL, or the dashboard would ask whatever a page wants it to.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from paceline.advisor.identity import STANDARD, AskedOffer, KnownOffer, OfferKey, known_offer, offer_of
from paceline.control.config import Config, GatewayConfig, OfferConfig
from paceline.control.credentials import ca_pem, credentials
from paceline.control.listening import read_listening
from paceline.control.lock import is_held
from paceline.control.problems import GatewayConfigError
from paceline.control.read import read_config
from paceline.endpoints.target import Target, printable
from paceline.errors import ConfigError, PacelineError, StoreError
from paceline.protocols import PROTOCOLS, parse_protocol
from paceline.store.manifest import RunManifest, read_manifest
from paceline.store.paths import runs_folder
from paceline.store.runs import list_runs

Group = Literal["offer", "gateway", "url", "run"]
# So many runs are looked through, the newest first, and so many endpoints of them are shown.
_MOST_RUNS, _MOST_OF_RUNS = 300, 40


@dataclass(frozen=True)
class Lane:
    """One endpoint that can be raced.

    id: what the browser calls it. endpoint: URL without credentials. extra: further fields of its bodies.
    known: the user's own offer, where it is one. target: with its credentials, made when it is needed; raises
    UsageError. why_not: it cannot be raced, and why.
    """

    id: str
    group: Group
    key: OfferKey
    model: str
    endpoint: str
    protocol: str
    target: Callable[[], Target] = field(repr=False)
    extra: Mapping[str, Any] = field(default_factory=dict)
    known: KnownOffer | None = None
    why_not: str | None = None

    @property
    def label(self) -> str:
        """`model @ provider (tier)`."""
        return printable(str(self.key))

    def described(self) -> dict[str, Any]:
        """What the browser is told: nothing that is secret."""
        return {
            "id": self.id,
            "group": self.group,
            "label": self.label,
            "model": printable(self.model),
            "endpoint": printable(self.endpoint),
            "protocol": self.protocol,
            "why_not": self.why_not,
        }


@dataclass(frozen=True)
class Lanes:
    """lanes: offers, gateway, named URLs, runs, in this order. notes: what could not be read, in words."""

    lanes: tuple[Lane, ...]
    notes: tuple[str, ...]

    def find(self, lane_id: str) -> Lane:
        """The lane of that id. Raises ConfigError where there is none, or it cannot be raced."""
        lane = next((one for one in self.lanes if one.id == lane_id), None)
        if lane is None:
            raise ConfigError("there is no such endpoint any more", "load the page anew")
        if lane.why_not is not None:
            raise ConfigError(f"{lane.label}: {lane.why_not}", "mend that, or race another")
        return lane


def find_lanes(
    home: Path,
    config: Path,
    known: Sequence[KnownOffer] = (),
    *,
    urls: Sequence[str] = (),
    gateway_key_env: str | None = None,
) -> Lanes:
    """Everything that can be raced.

    known: the user's own offers. urls: `URL MODEL`, which the operator allows besides. gateway_key_env: the
    variable that holds a key of the gateway's. What cannot be read is left out, and a note says so.
    """
    notes: list[str] = []
    found: list[Lane] = []
    settings = _config(config, notes)
    if settings is not None:
        found += [_of_offer(offer, known) for offer in settings.offers]
        if is_held(home):
            found += _of_gateway(settings, gateway_url(settings.gateway, home), gateway_key_env)
    found += [_of_url(number, url) for number, url in enumerate(urls)]
    there = {(one.endpoint, one.model, _frozen(one.extra)) for one in found}
    for lane in _of_runs(home, known, notes):
        name = (lane.endpoint, lane.model, _frozen(lane.extra))
        if name not in there:
            there.add(name)
            found.append(lane)
    return Lanes(tuple(_checked(one) for one in found), tuple(notes))


def _checked(lane: Lane) -> Lane:
    """With the reason why it cannot be raced, where there is one."""
    if not PROTOCOLS[parse_protocol(lane.protocol)].streams:
        return replace(lane, why_not="its protocol writes no text")
    try:
        lane.target()
    except PacelineError as error:
        return replace(lane, why_not=error.message)
    return lane


def _config(path: Path, notes: list[str]) -> Config | None:
    if not path.is_file():
        return None
    try:
        found = read_config(path)
        if found.problems:
            raise GatewayConfigError(path, found.problems)
    except PacelineError as error:
        notes.append(f"the offers of {path} are left out: {error.message}")
        return None
    return found.config


def _of_offer(offer: OfferConfig, known: Sequence[KnownOffer]) -> Lane:
    model = offer.upstream_model or offer.model

    def target() -> Target:
        plain = Target.parse(offer.base_url, protocol=offer.protocol[0], model=model)
        found = credentials(offer)
        missing = offer.api_key_env is not None and not os.environ.get(offer.api_key_env, "").strip()
        if missing:
            raise ConfigError(
                f"the environment variable {offer.api_key_env} is not set",
                "start the dashboard where it is set",
            )
        pem = None if offer.ca_file is None else ca_pem(offer.ca_file)
        return replace(plain, headers=tuple(found.headers), ca_pem=pem)

    return Lane(
        id=f"offer:{offer.id}",
        group="offer",
        key=OfferKey(offer.model, offer.provider_name, offer.tier),
        model=model,
        endpoint=Target.parse(offer.base_url).display,
        protocol=offer.protocol[0],
        target=target,
        extra=offer.extra_body,
        known=next((one for one in known if one.id == offer.id), None),
    )


def _of_gateway(config: Config, url: str, key_env: str | None) -> Iterator[Lane]:
    for model in config.all_models():

        def target(name: str = model.id) -> Target:
            if config.gateway.require_key and key_env is None:
                raise ConfigError(
                    "it asks for a key: start the dashboard with --gateway-key-env, the variable with one",
                    "make one with paceline keys create",
                )
            key = key_env if config.gateway.require_key else None
            return Target.parse(url, model=name, protocol="openai-chat", api_key_env=key)

        yield Lane(
            id=f"gateway:{model.id}",
            group="gateway",
            key=OfferKey(model.id, "gateway", STANDARD),
            model=model.id,
            endpoint=url,
            protocol="openai-chat",
            target=target,
        )


def gateway_url(config: GatewayConfig, home: Path) -> str:
    """Where a client on this machine finds the gateway: as it says itself, else as its config has it."""
    said = read_listening(home)
    host, _, port = (config.listen if said is None else said.listen).rpartition(":")
    host = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(host, host)
    return f"{'https' if config.tls else 'http'}://{host}:{port}/v1"


def _of_url(number: int, text: str) -> Lane:
    url, _, model = text.strip().partition(" ")
    target = Target.parse(url, model=model.strip() or None)
    if target.model is None:
        raise ConfigError(f"--race-url {target.display}: it has no model", "write: --race-url 'URL MODEL'")
    asked = AskedOffer(target.display, target.model)
    return Lane(
        id=f"url:{number}",
        group="url",
        key=offer_of(asked),
        model=target.model,
        endpoint=target.display,
        protocol=target.protocol,
        target=lambda: target,
    )


def _of_runs(home: Path, known: Sequence[KnownOffer], notes: list[str]) -> Iterator[Lane]:
    try:
        entries = list_runs(at=home)[:_MOST_RUNS]
    except StoreError as error:
        notes.append(f"endpoints of stored runs are left out: {error.message}")
        return
    shown = 0
    for entry in entries:
        if shown == _MOST_OF_RUNS:
            return
        try:
            lane = _of_run(read_manifest(runs_folder(home) / entry.id), known)
        except (PacelineError, OSError):
            # Its own page says what is wrong with it.
            continue
        if lane is not None:
            shown += 1
            yield lane


def _of_run(run: RunManifest, known: Sequence[KnownOffer]) -> Lane | None:
    """None for what was measured by others, or by way of the gateway: its URL is of no use here."""
    if run.imported is not None or (run.load.get("arrival") or {}).get("kind") == "live":
        return None
    protocol = parse_protocol(run.protocol)
    connection = run.load.get("connection") or {}
    asked = AskedOffer.of(run)

    def target() -> Target:
        names = connection.get("header_names") or []
        if names:
            raise ConfigError(
                f"it needs the headers {', '.join(names)}, whose values are not stored",
                "make it an [[offer]] of paceline.toml",
            )
        return Target.parse(
            run.endpoint,
            model=run.model,
            protocol=protocol,
            api_key_env=connection.get("api_key_env"),
            ca_file=connection.get("ca_file"),
        )

    return Lane(
        id=f"run:{run.id}",
        group="run",
        key=offer_of(asked, known),
        model=run.model,
        endpoint=run.endpoint,
        protocol=protocol,
        target=target,
        extra=asked.extra,
        known=known_offer(asked, known),
    )


def _frozen(extra: Mapping[str, Any]) -> str:
    return repr(sorted(extra.items()))
