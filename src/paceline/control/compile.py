"""A prepared config -> the documents of the data plane: `paceline.gateway/1` and `paceline.routes/1`.

Both hold secrets: they go to the data plane's stdin and nowhere else.
"""

import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from paceline.control.addresses import Addresses
from paceline.control.config import GatewayConfig, LimitsConfig, PolicyConfig, TimeoutsConfig
from paceline.control.keys import PERIODS, StoredKey
from paceline.control.prepare import Prepared, PreparedOffer
from paceline.store.paths import ledger_folder
from paceline.toml_file import Problem
from paceline.units import parse_duration_ns

GATEWAY_SCHEMA = "paceline.gateway/1"
ROUTES_SCHEMA = "paceline.routes/1"
# More loops than that only take memory.
_MOST_THREADS = 8

# Key's id -> period -> USD spent in the period that goes on.
Spent = Mapping[str, Mapping[str, float]]


def settings_document(prepared: Prepared, home: Path) -> dict[str, Any]:
    """`paceline.gateway/1`. A seed that is not given is drawn anew each time."""
    config = prepared.file.config.gateway
    clients, ledger = config.clients, config.ledger
    return {
        "schema": GATEWAY_SCHEMA,
        "listen": config.listen,
        "admin_listen": config.admin_listen or None,
        "tls": prepared.tls,
        "threads": config.threads or min(len(os.sched_getaffinity(0)), _MOST_THREADS),
        "seed": secrets.randbits(63) if config.seed is None else config.seed,
        "clients": {
            "connections": clients.connections,
            "requests": clients.requests,
            "head_bytes": clients.head_bytes,
            "body_bytes": clients.body_bytes,
            "head_ns": _ns(clients.head_timeout),
            "body_ns": _ns(clients.body_timeout),
            "idle_ns": _ns(clients.idle_timeout),
            "write_ns": _ns(clients.write_timeout),
            "pending_bytes": clients.pending_bytes,
            "answer_bytes": clients.answer_bytes,
            "event_bytes": clients.event_bytes,
        },
        "ledger": {
            "folder": str(ledger_folder(home)),
            "segment_bytes": ledger.segment_bytes,
            "sync_every_ns": _ns(ledger.sync_every),
            "on_failure": ledger.on_failure,
            "recent_requests": ledger.recent_requests,
        },
        "keep_alive_ns": _ns(config.keep_alive),
        "drain_ns": _ns(config.drain),
        "keep_text": config.keep_text,
    }


def routes_document(
    prepared: Prepared,
    addresses: Addresses,
    keys: Sequence[StoredKey],
    *,
    version: int,
    spent: Spent,
    as_of_unix_s: int,
) -> dict[str, Any]:
    """`paceline.routes/1`. Offers without an address are left out; `table_warnings` says which.

    spent: what the ledger says of each key; only the table that a data plane starts with is asked for it.
    """
    config = prepared.file.config
    aliases = {alias: model.id for model in config.models for alias in model.aliases}
    return {
        "schema": ROUTES_SCHEMA,
        "version": version,
        "require_key": config.gateway.require_key,
        "models": [
            {
                "id": model.id,
                "aliases": list(model.aliases),
                "fallbacks": list(model.fallbacks),
                "description": model.description,
            }
            for model in config.all_models()
        ],
        "offers": [
            _offer(offer, addresses.of(offer.target), keys)
            for offer in prepared.offers
            if addresses.of(offer.target)
        ],
        "keys": [_key(key, aliases, spent.get(key.id, {}), as_of_unix_s) for key in keys],
        "policy": _policy(config.gateway),
    }


def table_warnings(prepared: Prepared, addresses: Addresses, keys: Sequence[StoredKey]) -> list[Problem]:
    """What is amiss with addresses and keys, which may change without the config."""
    config, file = prepared.file.config, prepared.file
    found = []
    known = {name for key in keys for name in (key.id, key.name)}
    for place, offer in enumerate(config.offers):
        target = prepared.offers[place].target
        problem = addresses.problem(target)
        if problem:
            rest = (
                "its last addresses are used"
                if addresses.of(target)
                else "nothing goes there until it is known"
            )
            found.append(file.problem(("offer", place, "base_url"), f"{problem}: {rest}"))
        found += [
            file.problem(("offer", place, "allow_keys", at), f'there is no key "{name}"')
            for at, name in enumerate(offer.allow_keys or ())
            if name not in known
        ]
    models = {name for model in config.all_models() for name in (model.id, *model.aliases)}
    for key in keys:
        unknown = [name for name in key.models or () if name not in models]
        if unknown:
            found.append(
                Problem("", f'key "{key.name}" may ask for {", ".join(unknown)}, which no offer serves')
            )
    if config.gateway.require_key and not keys:
        hint = "make one: paceline keys create NAME"
        found.append(
            file.problem(("gateway", "require_key"), "there is no key, so each request is refused", hint)
        )
    return found


def _offer(offer: PreparedOffer, addresses: list[str], keys: Sequence[StoredKey]) -> dict[str, Any]:
    config, target = offer.config, offer.target
    allowed = None
    if config.allow_keys is not None:
        allowed = [key.id for key in keys if {key.id, key.name} & set(config.allow_keys)]
    return {
        "id": config.id,
        "model": config.model,
        "provider": config.provider_name,
        "upstream_model": config.upstream_model or config.model,
        "tier": config.tier,
        "protocols": list(config.protocol),
        "target": {
            "scheme": target.scheme,
            "host": target.host,
            "port": target.port,
            "path": target.base_path,
            "addresses": addresses,
            "headers": [list(pair) for pair in offer.headers],
            "ca_pem": offer.ca_pem,
        },
        "price": offer.price,
        "price_source": offer.price_source,
        "context_tokens": config.context_tokens,
        "max_output_tokens": config.max_output_tokens,
        "parameters": None if config.parameters is None else list(config.parameters),
        "allow_keys": allowed,
        "extra_body": config.extra_body,
        "limits": _limits(config.limits),
        "timeouts": _timeouts(config.timeouts),
    }


def _limits(limits: LimitsConfig) -> dict[str, Any]:
    return {
        "concurrency": limits.concurrency,
        "queue": limits.queue,
        "queue_ns": _ns_or_none(limits.queue_timeout),
        "sessions": limits.sessions,
        "session_ns": _ns_or_none(limits.session),
        "idle_ns": _ns_or_none(limits.idle),
    }


def _timeouts(timeouts: TimeoutsConfig) -> dict[str, int]:
    return {
        "connect_ns": _ns(timeouts.connect),
        "first_token_ns": _ns(timeouts.first_token),
        "gap_ns": _ns(timeouts.gap),
        "total_ns": _ns(timeouts.total),
    }


def _policy(config: GatewayConfig) -> dict[str, Any]:
    policy: PolicyConfig = config.policy
    return {
        "time_worth_usd_per_hour": policy.time_worth_usd_per_hour,
        "explore_share": policy.explore_share,
        "min_samples": policy.min_samples,
        "window_ns": _ns(policy.window),
        "deadline_confidence": policy.deadline_confidence,
        "retry_share": policy.retry_share,
        "attempts": policy.attempts,
        "breaker_failures": policy.breaker_failures,
        "breaker_open_ns": _ns(policy.breaker_open),
        "hedging": {"share": config.hedging.share, "least_wait_ns": _ns(config.hedging.least_wait)},
        "probing": {
            "every_ns": _ns(config.probing.every),
            "usd_per_day": config.probing.usd_per_day,
            "output_tokens": config.probing.output_tokens,
        },
        "cache_affinity": policy.cache_affinity,
    }


def _key(
    key: StoredKey, aliases: Mapping[str, str], spent: Mapping[str, float], as_of_unix_s: int
) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "sha256": key.sha256,
        # By their ids: a key may have been given another name of one.
        "models": None if key.models is None else [aliases.get(name, name) for name in key.models],
        "requests_per_min": key.requests_per_min,
        "tokens_per_min": key.tokens_per_min,
        "budgets": [
            {
                "period": period,
                "limit_usd": key.budgets_usd.get(period),
                "spent_usd": spent.get(period, 0.0),
                "as_of_unix_s": as_of_unix_s,
            }
            # Those without a limit too: a client may ask what it has spent, and a limit may come later.
            for period in PERIODS
        ],
        "expires_unix_s": key.expires_unix_s,
    }


def _ns(value: str | bool) -> int:
    """0 for never."""
    return parse_duration_ns(value) if isinstance(value, str) else 0


def _ns_or_none(value: str | None) -> int | None:
    return None if value is None else parse_duration_ns(value)
