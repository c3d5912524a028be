"""The routing config of an advice: a part of paceline.toml that `paceline gateway check` accepts."""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from paceline.cli.defaults import gateway_file
from paceline.errors import ConfigError

if TYPE_CHECKING:
    from paceline.advisor.advise import Advice, OfferAdvice
    from paceline.catalogue.price import Price, Rates

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_NO_ID = re.compile(r"[^A-Za-z0-9._:/@+-]+")


def gateway_config(advice: "Advice") -> str:
    """TOML: models and offers that are shown to meet all that is asked, the best first.

    Offers of the user's own config keep their ids and fields. Keys go by the names of their variables, never
    by their values. Raises ConfigError where no offer is shown to meet all.
    """
    chosen = _in_order(advice)
    if not chosen:
        raise ConfigError(
            "no offer is shown to meet all that is asked, so that there is nothing to route to",
            "measure more (--measure-more), or ask for less",
        )
    own = _own_tables()
    models = list(dict.fromkeys(_model(one) for one in chosen))
    lines = [
        "# Written by `paceline advise --emit gateway`.",
        f"# {_comment(_why(advice))}",
        "",
    ]
    if advice.query.worth_usd_per_hour:
        lines += ["[gateway.policy]", f"time_worth_usd_per_hour = {advice.query.worth_usd_per_hour}", ""]
    for place, model in enumerate(models):
        table = {"id": model, **own["model"].get(model, {})}
        # The best model is served by the others where it has no offer that can take a request.
        own_ones = [name for name in table.pop("fallbacks", []) if name in models]
        fallbacks = list(dict.fromkeys([*own_ones, *(models[1:] if place == 0 else [])]))
        if fallbacks:
            table["fallbacks"] = fallbacks
        lines += _table("model", table)
    taken: set[str] = set()
    for one in chosen:
        lines += _offer(one, own["offer"], taken)
    return "\n".join(lines).rstrip("\n") + "\n"


def _in_order(advice: "Advice") -> "list[OfferAdvice]":
    """Those that meet all: the answer first, then by what is to be least."""
    from paceline.advisor.decide import Weigh, objective_value

    worth = advice.query.worth_usd_per_hour or 0.0
    weigh = Weigh(advice.objective, worth, advice.errors.meets, advice.query.margin)
    meeting = advice.with_status("meets")
    return sorted(meeting, key=lambda one: (one.key != advice.first, objective_value(one.case, weigh) or 0.0))


def _why(advice: "Advice") -> str:
    from paceline.report.advice_words import headline

    return headline(advice)


def _own_tables() -> dict[str, dict[str, dict[str, Any]]]:
    """Tables of the user's config by id, as they stand in it."""
    file = gateway_file(None)
    data: dict[str, Any] = {}
    if file.is_file():
        data = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    return {
        part: {str(one.get("id")): one for one in data.get(part, []) if isinstance(one, dict)}
        for part in ("model", "offer")
    }


def _model(one: "OfferAdvice") -> str:
    return _id(one.key.model)


def _offer(one: "OfferAdvice", own: Mapping[str, dict[str, Any]], taken: set[str]) -> list[str]:
    known = one.case.row.evidence.known
    if known is not None and known.id in own and known.id not in taken:
        taken.add(known.id)
        return _table("offer", own[known.id])
    table, comments = _made(one, taken)
    return [*(f"# {_comment(text)}" for text in comments), *_table("offer", table)]


def _made(one: "OfferAdvice", taken: set[str]) -> tuple[dict[str, Any], list[str]]:
    """An offer from the runs of it, and what a reader of the config must know."""
    from paceline.advisor.identity import TierName
    from paceline.store.runs import open_run

    evidence = one.case.row.evidence
    latest = evidence.digests[-1]
    manifest = open_run(latest.run_id).manifest
    connection = manifest.load.get("connection") or {}
    comments: list[str] = []
    table: dict[str, Any] = {
        "id": _own_id(one, taken),
        "model": _model(one),
        "provider": _id(one.key.provider),
        "base_url": manifest.endpoint,
        "protocol": latest.protocol,
        "upstream_model": latest.model,
    }
    if one.key.tier in get_args(TierName):
        table["tier"] = one.key.tier
    else:
        comments.append(f"the gateway knows no tier {one.key.tier!r}: it is routed as standard")
    if connection.get("api_key_env"):
        table["api_key_env"] = connection["api_key_env"]
    if connection.get("ca_file"):
        table["ca_file"] = connection["ca_file"]
    if headers := connection.get("header_names"):
        comments.append(
            f"the runs were made with the headers {', '.join(map(str, headers))}, whose values are not "
            "stored: add headers_env"
        )
    if latest.extra:
        table["extra_body"] = dict(latest.extra)
    price = one.case.price
    if price is not None:
        table |= _price(price, comments)
    if price is not None and price.kind == "hours" and one.case.row.evidence.load.startswith("closed "):
        streams = int(one.case.row.evidence.load.removeprefix("closed "))
        table["limits"] = {"concurrency": streams}
        comments.append(f"its figures are those of {streams} streams")
    return table, comments


def _price(price: "Price", comments: list[str]) -> dict[str, Any]:
    if price.kind == "hours":
        comments.append(f"paid by the hour ({price.source}): a token has no price of its own")
        return {}
    comments.append(f"price: {price.source}")
    if price.tiers:
        limit = price.tiers[0].over_prompt_tokens
        comments.append(f"prompts of more than {limit:,} tokens cost more, and are kept away")
        return {"price": _rates(price.rates), "context_tokens": limit}
    return {"price": _rates(price.rates)}


def _rates(rates: "Rates") -> dict[str, float]:
    names = (
        *("input_usd_per_mtok", "output_usd_per_mtok", "cache_read_usd_per_mtok"),
        *("cache_write_usd_per_mtok", "request_usd"),
    )
    found = {name: getattr(rates, name) for name in names}
    return {name: float(value) for name, value in found.items() if value or name[0] in "io"}


def _own_id(one: "OfferAdvice", taken: set[str]) -> str:
    tier = "" if one.key.tier == "standard" else f"-{one.key.tier}"
    base = _id(f"{one.key.model}-{one.key.provider}{tier}")[:120]
    name, number = base, 2
    while name in taken:
        name, number = f"{base}-{number}", number + 1
    taken.add(name)
    return name


def _id(text: str) -> str:
    """What the config takes for an id."""
    cleaned = _NO_ID.sub("-", text).lstrip("._:/@+-")[:128]
    return cleaned or "model"


def _comment(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _table(part: str, table: Mapping[str, Any]) -> list[str]:
    return [f"[[{part}]]", *(f"{_key(name)} = {toml_value(value)}" for name, value in table.items()), ""]


def toml_value(value: Any) -> str:
    """A value as TOML; tables inline."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(str(name))} = {toml_value(one)}" for name, one in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(toml_value(one) for one in value)}]"
    # JSON's escapes are TOML's, but for the one control character that JSON leaves.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else toml_value(name)
