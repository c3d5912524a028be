"""`paceline usage`: the rankings, on the gateway's own traffic."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from paceline.cli.defaults import gateway_file, settings
from paceline.errors import ConfigError


def usage(  # noqa: PLR0917
    since: Annotated[
        str, typer.Option(help="From when on: 7d, 36h, a day (2026-11-30), a moment, or all. In UTC.")
    ] = "7d",
    until: Annotated[
        str | None, typer.Option(help="Until when: as --since; of a day, its end. Default: now.")
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Group by, several with commas or by repeating it: model, provider, offer, tier, key, app, "
            "protocol, outcome, code, day, hour. Default: model."
        ),
    ] = None,
    model: Annotated[str | None, typer.Option(help="Only this model.")] = None,
    key: Annotated[str | None, typer.Option(help="Only this key, by its name or id.")] = None,
    app: Annotated[str | None, typer.Option(help="Only this app, by its title or referer.")] = None,
    provider: Annotated[str | None, typer.Option(help="Only this provider, in any case.")] = None,
    sort: Annotated[
        str | None,
        typer.Option(
            help="tokens, requests, cost, ok, ttft, tok_s or group. Default: tokens; times in order."
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many groups.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write one line a group here; - is stdout.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write paceline.usage/1 here; - is stdout.")] = None,
) -> int:
    """Show who used what through the gateway: tokens, requests, cost, speed and shares."""
    from dataclasses import replace

    from paceline.cli.evidence_options import begin_of
    from paceline.cli.moments import parse_moment
    from paceline.cli.output import (
        ASK_AGAIN,
        STDOUT,
        check_outputs,
        harmless,
        talk,
        terminal_columns,
        write_outputs,
    )
    from paceline.control.keys import KeyStore
    from paceline.report import usage as render
    from paceline.store.paths import home
    from paceline.store.usage import UsageQuery
    from paceline.store.usage import usage as ask

    # The home is the one that `paceline gateway` has here.
    gateway_file(None)
    settings()
    paths = {"--csv": csv, "--json": json}
    check_outputs(paths)
    now = datetime.now(UTC)
    begin = begin_of(since, now)
    end = None if until is None else parse_moment(until, "--until", now, end_of_day=True)
    if begin and end and begin >= end:
        raise ConfigError("--since is not before --until", "turn them round, or leave --until out")
    names = {one.id: one.name for one in KeyStore(home()).all()}
    query = UsageQuery(
        since=begin,
        until=end,
        by=_names(["model"] if by is None else by),
        model=model,
        key=None if key is None else _key_id(key, names),
        app=app,
        provider=provider,
        sort=_sort(sort),
        limit=limit,
    )
    found = replace(ask(query), key_names=names)
    if STDOUT not in paths.values():
        columns = terminal_columns()
        width = None if columns is None else max(columns, render.WIDTH)
        typer.echo(harmless(render.usage_text(found, width)), nl=False)
    renderers = {"--csv": render.usage_csv, "--json": render.usage_json}
    write_outputs(paths, lambda option: renderers[option](found), hint=ASK_AGAIN)
    if found.unread_lines:
        talk(f"warning: {found.unread_lines:,} lines of the ledger could not be read, and are in no figure:")
        for line in found.unread[:5]:
            talk(f"  {line}")
    return 0


def _key_id(ref: str, names: dict[str, str]) -> str:
    """The id of the key that `ref` means. Raises ConfigError where several had that name."""
    named = [key_id for key_id, name in names.items() if name == ref]
    if ref in names or not named:
        return ref
    if len(named) > 1:
        raise ConfigError(f"--key: {len(named)} keys were called {ref!r}: {', '.join(named)}", "give the id")
    return named[0]


def _names(by: list[str]) -> tuple[str, ...]:
    """What to group by. Raises ConfigError."""
    from paceline.config import choice_hint
    from paceline.store.usage import BY

    names = tuple(dict.fromkeys(name.strip() for name in ",".join(by).split(",") if name.strip()))
    for name in names:
        if name not in BY:
            raise ConfigError(f"--by: there is no group {name!r}", choice_hint(name, "groups", BY))
    return names


def _sort(sort: str | None) -> str | None:
    from paceline.config import choice_hint
    from paceline.store.usage import SORTS

    if sort is not None and sort not in SORTS:
        raise ConfigError(f"--sort: {sort!r} is none of the orders", choice_hint(sort, "orders", SORTS))
    return sort
