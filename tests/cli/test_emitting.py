import tomllib
from pathlib import Path
from typing import Any

import pytest

from paceline.cli.emitting import toml_value


@pytest.mark.parametrize(
    "value",
    [
        "plain",
        'quotes " and \\ and \n and \x00 and \x7f and \U0001f600',
        True,
        False,
        3,
        0.1,
        1e-7,
        [1, "two", [3.0]],
        {"a": 1, "b c": {"d": [True]}, "": "x"},
        {},
        [],
    ],
)
def test_values_are_read_back_as_they_were(value: Any) -> None:
    assert tomllib.loads(f"x = {toml_value(value)}")["x"] == value


def test_offers_that_meet_all_in_order_with_own_ones_as_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    from paceline.advisor.advise import AdviceQuery, advise
    from paceline.advisor.identity import KnownOffer
    from paceline.cli.emitting import gateway_config
    from paceline.control.read import read_config
    from paceline.store.manifest import RunManifest
    from tests.advisor.planted import OFFERS, WORKS, Market, board_of

    own = tmp_path / "paceline.toml"
    own.write_text(
        '[[model]]\nid = "swift-8b"\naliases = ["swift"]\nfallbacks = ["gone"]\n'
        '[[model]]\nid = "gone"\n'
        '[[offer]]\nid = "mine"\nmodel = "swift-8b"\nprovider = "north"\nbase_url = "http://127.0.0.1:1/v1"\n'
        'api_key_env = "NORTH_KEY"\ntimeouts = { total = "5m" }\n'
        "price = { input_usd_per_mtok = 0.05, output_usd_per_mtok = 0.2 }\n"
        '[[offer]]\nid = "gone-a"\nmodel = "gone"\nbase_url = "http://127.0.0.1:2/v1"\n'
    )
    monkeypatch.setenv("PACELINE_CONFIG", str(own))
    work = WORKS[0]
    board = Market(work, 3, 1000).board(1000)
    mine = KnownOffer("mine", OFFERS["steady"].key, "http://127.0.0.1:1/v1", "swift-8b", {})
    rows = [
        replace(row, evidence=replace(row.evidence, known=mine)) if row.key == mine.key else row
        for row in board.rows
    ]

    class Run:
        def __init__(self, run_id: str) -> None:
            self.manifest = RunManifest(
                version="1",
                endpoint=f"https://{run_id}.example/v1",
                model="m",
                protocol="openai-chat",
                load={
                    "connection": {
                        "api_key_env": "SOME_KEY",
                        "header_names": ["x-team"],
                    }
                },
            )

    monkeypatch.setattr("paceline.store.runs.open_run", Run)
    text = gateway_config(advise(board_of(work, rows), AdviceQuery(work.query.constraints, 30.0)))
    file = tmp_path / "out.toml"
    file.write_text(text)
    found = read_config(file)
    assert found.problems == ()
    config = found.config
    assert config.gateway.policy.time_worth_usd_per_hour == 30.0
    # With 30 USD an hour the rapid one is the best; the cheap one fails.
    assert config.offers[0].provider == "rapid"
    assert "south" not in [one.provider for one in config.offers]
    kept = next(one for one in config.offers if one.id == "mine")
    assert kept.timeouts.total == "5m"
    assert kept.api_key_env == "NORTH_KEY"
    assert config.models[0].id == config.offers[0].model
    assert list(config.models[0].fallbacks) == [one.id for one in config.models[1:]]
    assert [one.aliases for one in config.models if one.id == "swift-8b"] == [("swift",)]
    fast = next(one for one in config.offers if one.tier == "fast")
    assert fast.api_key_env == "SOME_KEY"
    assert fast.price is not None
    assert fast.price.input_usd_per_mtok == 2.5
    assert "x-team" in text
    assert "planted" in text
