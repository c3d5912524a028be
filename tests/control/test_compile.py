import json
from pathlib import Path

import pytest

from paceline.control.addresses import Addresses
from paceline.control.compile import settings_document, table_warnings
from tests.control.fakes import resolved
from tests.control.samples import LEAST, OFFER, key, prepared, table


def test_the_least_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_A_KEY", "sk-1")
    found = table(prepared(tmp_path, LEAST))
    assert found["schema"] == "paceline.routes/1"
    assert found["require_key"] is False
    assert found["models"] == [{"id": "demo", "aliases": [], "fallbacks": [], "description": None}]
    (offer,) = found["offers"]
    assert offer["target"] == {
        "scheme": "http",
        "host": "127.0.0.1",
        "port": 9100,
        "path": "/v1",
        "addresses": ["192.0.2.1:9100"],
        "headers": [["authorization", "Bearer sk-1"]],
        "ca_pem": None,
    }
    assert (offer["provider"], offer["upstream_model"], offer["protocols"]) == (
        "local-a",
        "truth",
        ["openai-chat"],
    )
    assert offer["timeouts"]["total_ns"] == 600 * 10**9
    assert (offer["limits"]["queue"], offer["limits"]["queue_ns"]) == (100, 30 * 10**9)
    assert json.loads(json.dumps(found)) == found


def test_settings(tmp_path: Path) -> None:
    text = (
        "[gateway]\nkeep_alive = false\nadmin_listen = false\nseed = 7\nthreads = 3\n"
        "[gateway.ledger]\nsync_every = false\non_failure = 'stop'\n"
        "[gateway.clients]\nhead_timeout = '2s'\n" + OFFER
    )
    found = settings_document(prepared(tmp_path, text), tmp_path)
    assert (found["seed"], found["threads"], found["admin_listen"], found["keep_alive_ns"]) == (7, 3, None, 0)
    assert found["ledger"]["folder"] == str(tmp_path / "gateway" / "ledger")
    assert (found["ledger"]["sync_every_ns"], found["ledger"]["on_failure"]) == (0, "stop")
    assert found["clients"]["head_ns"] == 2 * 10**9
    assert found["drain_ns"] == 30 * 10**9


def test_a_seed_that_is_not_given_is_another_each_time(tmp_path: Path) -> None:
    one = prepared(tmp_path, OFFER)
    seeds = {settings_document(one, tmp_path)["seed"] for _ in range(3)}
    assert len(seeds) == 3


def test_keys_and_what_they_have_spent(tmp_path: Path) -> None:
    keys = (key("team", budgets_usd={"day": 5.0, "total": 50.0}, models=("demo",)), key("other"))
    spent = {"key-team": {"day": 1.25, "week": 2.0, "total": 9.0}}
    found = table(prepared(tmp_path, OFFER), keys, spent=spent, as_of_unix_s=1_700_000_000)
    assert found["keys"][0]["budgets"] == [
        {"period": "day", "limit_usd": 5.0, "spent_usd": 1.25, "as_of_unix_s": 1_700_000_000},
        {"period": "week", "limit_usd": None, "spent_usd": 2.0, "as_of_unix_s": 1_700_000_000},
        {"period": "month", "limit_usd": None, "spent_usd": 0.0, "as_of_unix_s": 1_700_000_000},
        {"period": "total", "limit_usd": 50.0, "spent_usd": 9.0, "as_of_unix_s": 1_700_000_000},
    ]
    assert found["keys"][0]["models"] == ["demo"]
    assert {budget["limit_usd"] for budget in found["keys"][1]["budgets"]} == {None}


def test_a_key_may_be_given_a_models_other_name(tmp_path: Path) -> None:
    models = '[[model]]\nid = "demo"\naliases = ["demo-latest"]\n'
    found = table(prepared(tmp_path, models + OFFER), (key("team", models=("demo-latest", "gone")),))
    assert found["keys"][0]["models"] == ["demo", "gone"]


@pytest.mark.parametrize(
    ("written", "allowed"),
    [("", None), ("allow_keys = ['team', 'key-b']", ["key-team", "key-b"]), ("allow_keys = ['gone']", [])],
)
def test_allowed_keys_are_named_or_by_id_and_unknown_ones_open_nothing(
    tmp_path: Path, written: str, allowed: list[str] | None
) -> None:
    found = table(prepared(tmp_path, OFFER + written), (key("team"), key("b"), key("c")))
    assert found["offers"][0]["allow_keys"] == allowed


def test_an_offer_without_an_address_is_left_out_and_said(tmp_path: Path) -> None:
    one = prepared(tmp_path, OFFER.replace("a.test", "nowhere.test"))
    assert table(one)["offers"] == []
    addresses = resolved(one.targets(), Addresses())
    said = [(found.line, found.message) for found in table_warnings(one, addresses, [key("a")])]
    assert said == [(4, "it is not known: nothing goes there until it is known")]


def test_what_is_amiss_with_keys(tmp_path: Path) -> None:
    one = prepared(tmp_path, OFFER + "allow_keys = ['team', 'gone']")
    addresses = resolved(one.targets(), Addresses())
    said = [found.message for found in table_warnings(one, addresses, [key("team", models=("demo", "x"))])]
    assert said == ['there is no key "gone"', 'key "team" may ask for x, which no offer serves']
    (none,) = table_warnings(prepared(tmp_path, OFFER), addresses, [])
    assert none.message == "there is no key, so each request is refused"
