"""`paceline dashboard`: pages over the store."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from paceline.errors import ConfigError

if TYPE_CHECKING:
    from paceline.dashboard.secret import Token


def dashboard(  # noqa: PLR0917
    host: Annotated[
        str, typer.Option(help="Address to listen on. Others than loopback can be reached by other machines.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port; 0 takes a free one.")] = 8090,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A further name that it may be called by; may be repeated."),
    ] = None,
    open_browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open it in this machine's browser.")
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option("--config", help="The config, in place of ./paceline.toml or the user's own."),
    ] = None,
    prices: Annotated[Path | None, typer.Option(help="Prices of your own (TOML), before all others.")] = None,
    token_env: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Environment variable with the token, in place of a new one."),
    ] = None,
    race_url: Annotated[
        list[str] | None,
        typer.Option(metavar="'URL MODEL'", help="A further endpoint that may be raced; may be repeated."),
    ] = None,
    gateway: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Where a gateway has its metrics. Default: the one that works in this home."
        ),
    ] = None,
    gateway_key_env: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Environment variable with a key of the gateway, to race it."),
    ] = None,
    json_line: Annotated[
        bool, typer.Option("--json", help="Print the address and the token as one line of JSON on stdout.")
    ] = False,
) -> int:
    """Show the board, runs, comparisons, advice, live traffic and races in a browser.

    Serves until Ctrl-C. It reads what is stored, and changes nothing; a race asks
    your endpoints, and needs the token that is printed here.
    """
    from paceline.cli.choosing import known_offers
    from paceline.cli.defaults import gateway_file, settings
    from paceline.cli.output import talk
    from paceline.dashboard.app import create_app
    from paceline.dashboard.gateway import admin_url
    from paceline.dashboard.place import bind
    from paceline.dashboard.secret import Token
    from paceline.dashboard.serve import serve
    from paceline.dashboard.state import State
    from paceline.store.paths import home

    file = gateway_file(config)
    settings()
    if prices is not None and not prices.expanduser().is_file():
        raise ConfigError(f"--prices: there is no file {prices}", "check its path")
    token = Token.make() if token_env is None else _given(token_env)
    listening, place = bind(host, port, tuple(allow_host or ()))
    state = State(
        home=home(),
        place=place,
        token=token,
        config=file,
        known=lambda: known_offers(config),
        price_file=prices,
        gateway_url=None if gateway is None else admin_url(gateway),
        say=talk,
    )
    entry = f"{place.url}#token={quote(token.text, safe='')}"

    def ready() -> None:
        talk(f"dashboard at {place.url}; Ctrl-C ends it")
        talk(f"  with its token, which a race needs: {entry}")
        if not place.is_loopback:
            talk("  Other machines reach it, unencrypted: what is stored here can be read by whoever has")
            talk("  the token or listens on the way. A tunnel is safer: ssh -L 8090:127.0.0.1:8090 HOST")
        if json_line:
            document = {"schema": "paceline.dashboard/1", "url": place.url, "token": token.text}
            typer.echo(json.dumps(document))
        if open_browser:
            import webbrowser

            webbrowser.open(entry)

    with listening:
        app = create_app(state, race_urls=race_url or (), gateway_key_env=gateway_key_env)
        serve(app, state, listening, ready)
    return 0


def _given(variable: str) -> "Token":
    from paceline.dashboard.secret import Token

    text = os.environ.get(variable, "")
    if not text:
        raise ConfigError(
            f"--token-env: the environment variable {variable} is not set or empty", "set it, or leave it out"
        )
    return Token.given(text, f"--token-env {variable}")
