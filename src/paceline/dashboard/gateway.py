"""The gateway that is watched: where its operators' address is, and whether it runs."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from paceline.control.listening import read_listening
from paceline.control.lock import is_held
from paceline.control.read import read_config
from paceline.dashboard.state import State
from paceline.errors import ConfigError, PacelineError

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}


@dataclass(frozen=True)
class Watched:
    """url: without a slash at its end; None: there is none to watch, and why, with what to do."""

    url: str | None
    why: str = ""
    hint: str = ""
    command: str = ""


def find_gateway(state: State) -> Watched:
    """The one that the user has named, else the one that works in the home."""
    if state.gateway_url is not None:
        return Watched(state.gateway_url)
    if not is_held(state.home):
        return Watched(
            None,
            "No gateway works in this home",
            "A gateway routes live traffic to the offer that is fast enough now; this page then shows it.",
            "paceline gateway init && paceline gateway",
        )
    told = read_listening(state.home)
    admin = told.admin if told is not None else _configured(state)
    if admin is None:
        return Watched(
            None,
            "The gateway has no address for operators",
            "Its config says admin_listen = false. With an address there, this page can watch it.",
        )
    host, _, port = admin.rpartition(":")
    return Watched(f"http://{_EVERYWHERE.get(host, host)}:{port}")


def admin_url(text: str) -> str:
    """A URL as the user gave it, checked. Raises ConfigError."""
    url = text if "://" in text else f"http://{text}"
    try:
        parts = urlsplit(url)
        _ = parts.port
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
    except ValueError:
        good = False
    if not good or parts.query or parts.fragment:
        raise ConfigError("--gateway: it is no URL", "write the operators' address, as http://127.0.0.1:8081")
    return url.rstrip("/")


def _configured(state: State) -> str | None:
    """By the config, for a gateway that does not say it itself."""
    try:
        admin = read_config(state.config).config.gateway.admin_listen
    except PacelineError:
        return None
    return admin if isinstance(admin, str) else None
