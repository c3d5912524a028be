"""The documents of the data plane, held against the Rust that reads them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from paceline import _core
from paceline.control.compile import settings_document
from paceline.control.example import example_text
from tests.control.samples import key, prepared, table

CRATE = Path(__file__).resolve().parents[2] / "crates" / "paceline-gateway" / "src"
FULL = """
[gateway]
seed = 1
[gateway.hedging]
share = 0.1
[gateway.probing]
every = "1m"
[[model]]
id = "demo"
aliases = ["d"]
fallbacks = ["other"]
description = "x"
[[offer]]
id = "a"
provider = "p"
model = "demo"
base_url = "https://a.test"
protocol = ["chat", "completions", "responses", "embeddings", "messages"]
headers = { X-A = "b" }
tier = "ultra"
price = { input_usd_per_mtok = 1, output_usd_per_mtok = 2, cache_read_usd_per_mtok = 0.1, \
cache_write_usd_per_mtok = 1.5, request_usd = 0.01 }
price_multiplier = 2.5
context_tokens = 1000
max_output_tokens = 100
parameters = ["tools"]
allow_keys = ["team"]
extra_body = { service_tier = "priority", n = [1, { a = true }] }
limits = { concurrency = 1, queue = 2, queue_timeout = "1s", sessions = 3, session = "1h", idle = "1m" }
[[offer]]
id = "b"
model = "other"
base_url = "http://[::1]:9100"
"""
KEY = key(
    "team",
    sha256="ab" * 32,
    models=("demo",),
    requests_per_min=5,
    tokens_per_min=1000,
    budgets_usd={"day": 1.0, "week": 2.0, "month": 3.0, "total": 4.0},
    expires_unix_s=2_000_000_000,
)


def documents(tmp_path: Path, text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    one = prepared(tmp_path, text)
    return settings_document(one, tmp_path), table(one, (KEY,))


@pytest.mark.parametrize("text", [FULL, example_text()], ids=["all keys", "the example"])
def test_the_data_plane_takes_them(tmp_path: Path, text: str) -> None:
    settings, routes = documents(tmp_path, text)
    assert _core.Gateway(json.dumps(settings), json.dumps(routes))


def test_a_wrong_one_is_refused_and_its_secrets_are_not_said(tmp_path: Path) -> None:
    settings, routes = documents(tmp_path, FULL)
    routes["offers"][0]["target"]["headers"] = "sk-secret"
    with pytest.raises(ValueError, match="headers") as caught:
        _core.Gateway(json.dumps(settings), json.dumps(routes))
    assert "sk-secret" not in str(caught.value)


def fields(file: str, struct: str) -> set[str]:
    """Names of a struct's fields, as serde reads them."""
    text = (CRATE / file).read_text()
    found = re.search(rf"struct {struct} \{{\n(.*?)\n\}}", text, re.DOTALL)
    assert found is not None, struct
    read = re.sub(r"#\[serde\(skip\)\]\n.*", "", found.group(1))
    return set(re.findall(r"^    (?:pub )?(\w+): ", read, re.MULTILINE))


def test_no_field_is_left_to_its_default(tmp_path: Path) -> None:
    settings, routes = documents(tmp_path, FULL)
    offer, policy = routes["offers"][0], routes["policy"]
    for document, file, struct in (
        (settings, "settings.rs", "GatewaySettings"),
        (settings["clients"], "settings.rs", "ClientLimits"),
        (settings["ledger"], "settings.rs", "LedgerSettings"),
        (routes, "table/mod.rs", "Document"),
        (routes["models"][0], "table/mod.rs", "Model"),
        (offer, "table/offer.rs", "Offer"),
        (offer["target"], "table/offer.rs", "Target"),
        (offer["price"], "table/offer.rs", "Price"),
        (offer["limits"], "table/offer.rs", "OfferLimits"),
        (offer["timeouts"], "table/offer.rs", "OfferTimeouts"),
        (policy, "table/policy.rs", "Policy"),
        (policy["hedging"], "table/policy.rs", "Hedging"),
        (policy["probing"], "table/policy.rs", "Probing"),
        (routes["keys"][0], "table/keys.rs", "Key"),
        (routes["keys"][0]["budgets"][0], "table/keys.rs", "Budget"),
    ):
        assert set(document) == fields(file, struct), struct
