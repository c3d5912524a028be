"""`paceline keys`: the keys of the gateway's clients."""

import json
import textwrap
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paceline.cli.defaults import gateway_file, settings
from paceline.errors import ConfigError, StoreError, UsageError

if TYPE_CHECKING:
    from paceline.control.keys import KeyStore, StoredKey

app = typer.Typer(
    help="Make, list, change and revoke the keys of the gateway's clients.", no_args_is_help=True
)

# What the data plane counts with.
_MOST_REQUESTS, _MOST_TOKENS = 2**32 - 1, 2**53
_NONE = "none"
ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", help="The gateway's config, in place of ./paceline.toml or the user's own."),
]


@app.command("create")
def create(  # noqa: PLR0917
    name: Annotated[str, typer.Argument(help="Who is to use it, as reports name it.")],
    model: Annotated[
        list[str] | None, typer.Option(help="A model that it may ask for; may be repeated. Default: all.")
    ] = None,
    requests_per_min: Annotated[
        int | None, typer.Option(min=1, max=_MOST_REQUESTS, help="Requests in any minute.")
    ] = None,
    tokens_per_min: Annotated[
        int | None,
        typer.Option(min=1, max=_MOST_TOKENS, help="Prompt and generated tokens in any minute."),
    ] = None,
    budget: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PERIOD=USD", help="What it may spend: day=5, week, month or total; may be repeated."
        ),
    ] = None,
    expires: Annotated[
        str | None, typer.Option(metavar="WHEN", help="Its end: 30d, 12h, or a day (UTC) as 2027-01-31.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print paceline.key/1 in place of the key.")
    ] = False,
    config: ConfigOption = None,
) -> int:
    """Make a key, and print it: the only time that it can be seen."""
    from paceline.cli.output import talk
    from paceline.control.keys import KeyLimits

    _check_models(model)
    limits = KeyLimits(
        models=tuple(dict.fromkeys(model)) if model else None,
        requests_per_min=requests_per_min,
        tokens_per_min=tokens_per_min,
        budgets_usd=tuple(budgets(budget or ()).items()),
        expires_unix_s=None if expires is None else expiry(expires, time.time()),
    )
    key, secret = _store(config).create(name, limits)
    if as_json:
        typer.echo(json.dumps({"schema": "paceline.key/1", "key": secret, **_plain(key)}))
    else:
        typer.echo(secret)
    talk(f"made {key.id} for {key.name}; it is shown only now. A running gateway knows it within two seconds")
    return 0


@app.command("list")
def list_(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print paceline.keys/1 in place of the table.")
    ] = False,
    config: ConfigOption = None,
) -> int:
    """List all keys, revoked ones too, with what they may do and have spent. They themselves are not kept."""
    from paceline.cli.output import harmless, talk, terminal_columns

    keys = _store(config).all()
    spent = _spent() if keys else {}
    if as_json:
        told = [{**_plain(key), "spent_usd": _plain_spent(key, spent)} for key in keys]
        typer.echo(json.dumps({"schema": "paceline.keys/1", "keys": told}))
    elif not keys:
        talk("there are no keys; paceline keys create NAME makes one")
    else:
        for line in _table(keys, spent, terminal_columns()):
            typer.echo(harmless(line))
    return 0


@app.command("set")
def set_(  # noqa: PLR0917
    ref: Annotated[str, typer.Argument(help="The key's id or name.")],
    model: Annotated[
        list[str] | None,
        typer.Option(help="A model that it may ask for, in place of those so far; may be repeated."),
    ] = None,
    all_models: Annotated[bool, typer.Option("--all-models", help="It may ask for all models.")] = False,
    requests_per_min: Annotated[
        str | None, typer.Option(metavar="N|none", help="Requests in any minute; none: no bound.")
    ] = None,
    tokens_per_min: Annotated[
        str | None,
        typer.Option(metavar="N|none", help="Prompt and generated tokens in any minute; none: no bound."),
    ] = None,
    budget: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PERIOD=USD", help="What it may spend: day=5, week, month or total; may be repeated."
        ),
    ] = None,
    no_budget: Annotated[
        list[str] | None,
        typer.Option(metavar="PERIOD", help="Take this budget away: day, week, month or total."),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(metavar="WHEN", help="Its end: 30d, 12h, a day (UTC) as 2027-01-31, or none."),
    ] = None,
    config: ConfigOption = None,
) -> int:
    """Change what a key may do: only what is given. A running gateway knows it within two seconds."""
    from dataclasses import replace

    from paceline.cli.output import harmless, talk
    from paceline.control.keys import KeyLimits

    _check_models(model)
    if model and all_models:
        raise UsageError("--model and --all-models say different things", "give one of them")
    given = budgets(budget or [])
    gone = _periods(no_budget or [], given)
    fields: dict[str, Any] = {}
    if model or all_models:
        fields["models"] = tuple(dict.fromkeys(model)) if model else None
    if requests_per_min is not None:
        fields["requests_per_min"] = _bound("--requests-per-min", requests_per_min, _MOST_REQUESTS)
    if tokens_per_min is not None:
        fields["tokens_per_min"] = _bound("--tokens-per-min", tokens_per_min, _MOST_TOKENS)
    if expires is not None:
        fields["expires_unix_s"] = None if expires == _NONE else expiry(expires, time.time())
    if not fields and not given and not gone:
        raise UsageError("nothing is given that is to change", "as: paceline keys set NAME --budget day=5")

    def to(now: KeyLimits) -> KeyLimits:
        kept = {period: usd for period, usd in now.budgets_usd if period not in gone}
        return replace(now, **fields, budgets_usd=tuple((kept | given).items()))

    key = _store(config).change(ref, to)
    talk(
        harmless(
            f"{key.id} of {key.name} may now: {_bounds(key)}. A running gateway knows it within two seconds"
        )
    )
    return 0


@app.command("revoke")
def revoke(
    ref: Annotated[str, typer.Argument(help="The key's id or name.")], config: ConfigOption = None
) -> int:
    """End a key for good. A running gateway refuses it within about two seconds."""
    from paceline.cli.output import talk

    key = _store(config).revoke(ref)
    talk(f"revoked {key.id} of {key.name}")
    return 0


def _store(config: Path | None) -> "KeyStore":
    """The keys of the home that the gateway's config names."""
    from paceline.control.keys import KeyStore
    from paceline.store.paths import home

    gateway_file(config)
    settings()
    return KeyStore(home())


def _spent() -> dict[str, dict[str, float]] | None:
    """USD by key's id and period, by the ledger; None where that cannot be read, which is said."""
    from paceline.cli.output import talk
    from paceline.store.paths import home
    from paceline.store.spent import spent_usd

    try:
        return spent_usd(home(), datetime.now(UTC))
    except StoreError as error:
        talk(f"warning: what was spent is not known: {error.message}")
        return None


def _plain_spent(key: "StoredKey", spent: dict[str, dict[str, float]] | None) -> dict[str, float] | None:
    from paceline.control.keys import PERIODS

    if spent is None:
        return None
    mine = spent.get(key.id, {})
    # Below it a sum of float64 is noise.
    return {period: round(mine.get(period, 0.0), 12) for period in PERIODS}


def _check_models(models: list[str] | None) -> None:
    if not all(models or ()):
        raise UsageError("--model: a model's name is empty", "leave it out: a key may ask for all models")


def _bound(option: str, text: str, most: int) -> int | None:
    """`60` -> 60, `none` -> None. Raises UsageError."""
    if text == _NONE:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 20 and 1 <= int(text) <= most):
        raise UsageError(f"{option}: {text!r} is no bound", f"write a number from 1 to {most}, or none")
    return int(text)


def _periods(texts: list[str], given: dict[str, float]) -> set[str]:
    """The budgets to take away. Raises UsageError."""
    from paceline.control.keys import PERIODS

    for text in texts:
        if text not in PERIODS:
            raise UsageError(f"--no-budget: {text!r} is no period", f"periods are: {', '.join(PERIODS)}")
        if text in given:
            raise UsageError(f"--budget and --no-budget both name {text}", "give one of them")
    return set(texts)


def budgets(texts: "list[str] | tuple[()]") -> dict[str, float]:
    """`["day=5"]` -> `{"day": 5.0}`. Raises UsageError."""
    from paceline.control.keys import PERIODS

    found: dict[str, float] = {}
    hint = "write --budget day=5, week=, month= or total=, each at most once, in USD"
    for text in texts:
        period, mark, amount = text.partition("=")
        try:
            usd = float(amount)
        except ValueError:
            usd = -1.0
        if not mark or period not in PERIODS or period in found or not 0 < usd < 1e12:
            raise UsageError(f"--budget: {text!r} is no budget", hint)
        found[period] = usd
    return found


def expiry(text: str, now_unix_s: float) -> int:
    """`30d`, `12h`, `2027-01-31` -> seconds of Unix time, in the future. Raises UsageError."""
    from paceline.units import parse_duration_ns

    hint = "write 30d, 12h, or a day that is to come: 2027-01-31 (it ends at 00:00 UTC)"
    days = text.removesuffix("d")
    try:
        if text.endswith("d") and days.isascii() and days.isdigit() and 0 < int(days) <= 36_500:
            return int(now_unix_s) + int(days) * 86_400
        if "-" in text:
            unix_s = int(datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).timestamp())
        else:
            unix_s = int(now_unix_s) + parse_duration_ns(text) // 1_000_000_000
    except (ValueError, ConfigError, UsageError):
        raise UsageError(f"--expires: {text!r} is neither a duration nor a day", hint) from None
    if unix_s <= now_unix_s:
        raise UsageError(f"--expires: {text!r} is not in the future", hint)
    return unix_s


def _plain(key: "StoredKey") -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "state": key.state(time.time()),
        "models": key.models,
        "requests_per_min": key.requests_per_min,
        "tokens_per_min": key.tokens_per_min,
        "budgets_usd": dict(key.budgets_usd),
        "created_at": _moment(key.created_unix_s),
        "expires_at": _moment(key.expires_unix_s),
        "revoked_at": _moment(key.revoked_unix_s),
    }


def _moment(unix_s: int | None) -> str | None:
    return None if unix_s is None else datetime.fromtimestamp(unix_s, UTC).isoformat()


def _table(
    keys: "list[StoredKey]", spent: dict[str, dict[str, float]] | None, width: int | None
) -> list[str]:
    from paceline.cli.output import clipped

    rows = [("ID", "STATE", "CREATED", "NAME", "MAY, HAS SPENT")]
    for key in keys:
        day = f"{datetime.fromtimestamp(key.created_unix_s, UTC):%Y-%m-%d}"
        rows.append((key.id, key.state(time.time()), day, key.name, _bounds(key, _plain_spent(key, spent))))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    widths[3] = min(widths[3], 24)
    left = sum(widths[:4]) + 2 * 4
    lines = []
    for row in rows:
        cells = [clipped(cell, size).ljust(size) for cell, size in zip(row[:4], widths[:4], strict=True)]
        # What a key may do is never cut: a limit that is not seen is thought not to be there.
        may = [row[4]] if width is None else textwrap.wrap(row[4], max(width - left, 24)) or [""]
        lines.append("  ".join([*cells, may[0]]).rstrip())
        lines += [" " * left + more for more in may[1:]]
    return lines


def _bounds(key: "StoredKey", spent: dict[str, float] | None = None) -> str:
    """What it may do; what it has `spent` stands with its budgets, and in all."""
    from paceline.report.cells import usd_words

    told = {} if spent is None else {period: f" ({usd_words(usd)} spent)" for period, usd in spent.items()}
    said = [", ".join(key.models)] if key.models is not None else []
    said += [f"{key.requests_per_min:,} requests/min"] if key.requests_per_min else []
    said += [f"{key.tokens_per_min:,} tokens/min"] if key.tokens_per_min else []
    said += [
        f"{usd:g} USD{'/' + period if period != 'total' else ' in all'}{told.get(period, '')}"
        for period, usd in key.budgets_usd.items()
    ]
    said += (
        [f"until {datetime.fromtimestamp(key.expires_unix_s, UTC):%Y-%m-%d}"] if key.expires_unix_s else []
    )
    said = said or ["everything"]
    if spent and spent["total"] and "total" not in key.budgets_usd:
        said.append(f"{usd_words(spent['total'])} USD spent in all")
    return "; ".join(said)
