"""Which of A's credentials B is sent, in a comparison of two endpoints."""

from pathlib import Path
from typing import TYPE_CHECKING

from paceline.errors import ConfigError

if TYPE_CHECKING:
    from paceline.measure.job import Credentials


def second_credentials(
    a: "Credentials",
    hosts: tuple[str, str],
    *,
    headers: list[str] | None = None,
    api_key_env: str | None = None,
    ca_file: Path | None = None,
) -> "Credentials":
    """B's credentials: its own where they are given, even as nothing (""), and else those of A.

    `hosts`: of A and of B. Raises ConfigError where A's key would go to another host without B's options
    saying so: a key is for those whom it was given for.
    """
    from paceline.endpoints.target import is_credential
    from paceline.measure.job import Credentials

    own = None if headers is None else tuple(header for header in headers if header)
    key = a.api_key_env if api_key_env is None else api_key_env or None
    shown = a.headers if own is None else own
    # A key of B's own stands for A's, in whichever of the two forms it is given.
    if api_key_env and own is None:
        shown = tuple(header for header in shown if not _is_authorization(header))
    elif api_key_env is None and own is not None and any(map(_is_authorization, own)):
        key = None
    if hosts[0] != hosts[1]:
        if api_key_env is None and key is not None:
            raise _not_shared(
                "the key", hosts, "--api-key-env-b NAME, which may be the same variable, or '' for no key"
            )
        shared = [header for header in shown if is_credential(header)] if own is None else []
        if shared:
            name = shared[0].partition(":")[0].strip()
            raise _not_shared(f"the header {name}", hosts, "--header-b 'Name: value', or '' for no headers")
    return Credentials(headers=shown, api_key_env=key, ca_file=ca_file or a.ca_file)


def _is_authorization(header: str) -> bool:
    return header.partition(":")[0].strip().lower() == "authorization"


def _not_shared(what: str, hosts: tuple[str, str], way_out: str) -> ConfigError:
    return ConfigError(
        f"{what} is for {hosts[0]}, and would be sent to {hosts[1]} too", f"say what B gets: {way_out}"
    )
