"""Configs to begin from, and what is made of them."""

from pathlib import Path
from typing import Any

from paceline.control.addresses import Addresses
from paceline.control.compile import routes_document
from paceline.control.keys import StoredKey
from paceline.control.prepare import Prepared, prepare
from paceline.control.problems import GatewayConfigError
from paceline.control.read import read_config
from paceline.toml_file import Problem
from tests.control.fakes import resolved

# As the issue has it.
LEAST = """\
[gateway]
listen = "127.0.0.1:8080"
require_key = false

[[offer]]
id = "local-a"
model = "demo"                          # what clients ask for
base_url = "http://127.0.0.1:9100/v1"
protocol = "openai-chat"
upstream_model = "truth"                # default: the same as model
api_key_env = "LOCAL_A_KEY"             # optional
tier = "standard"                       # default
"""

OFFER = '[[offer]]\nid = "a"\nmodel = "demo"\nbase_url = "http://a.test/v1"\n'


def prepared(tmp_path: Path, text: str) -> Prepared:
    """A config, read and prepared."""
    file = tmp_path / "paceline.toml"
    file.write_text(text)
    return prepare(read_config(file))


def problems(tmp_path: Path, text: str) -> tuple[Problem, ...]:
    """What is wrong with a config; none where nothing is."""
    try:
        prepared(tmp_path, text)
    except GatewayConfigError as error:
        return error.problems
    return ()


def table(one: Prepared, keys: tuple[StoredKey, ...] = (), **more: Any) -> dict[str, Any]:
    """Its route table, with addresses that need no resolver."""
    addresses = resolved(one.targets(), Addresses())
    given: dict[str, Any] = {"version": 1, "spent": {}, "as_of_unix_s": 0} | more
    return routes_document(one, addresses, list(keys), **given)


def key(name: str, **more: Any) -> StoredKey:
    """A key that may do everything."""
    fields: dict[str, Any] = {
        "id": f"key-{name}",
        "name": name,
        "sha256": "0" * 64,
        "models": None,
        "requests_per_min": None,
        "tokens_per_min": None,
        "budgets_usd": {},
        "expires_unix_s": None,
        "created_unix_s": 0,
        "revoked_unix_s": None,
    }
    return StoredKey(**(fields | more))
