"""What the data plane writes is what the store reads: every line, each field, to the end of the gateway."""

import json
import os
import shutil
import subprocess
import sys
from typing import Any

import pytest

from paceline.protocols import PROTOCOLS
from paceline.store.ledger_entry import ATTEMPT_FIELDS, ENTRY_FIELDS, ROW_FIELDS, USAGE_FIELDS
from paceline.store.runs import list_runs, open_run
from tests.e2e.gateway.conftest import Engines, Gateways
from tests.support.gateway import asks
from tests.support.gateway.process import Gateway, config_of, offer

PRICE = {"input_usd_per_mtok": 3.0, "output_usd_per_mtok": 5.0}


def usage_of(served: Gateway, *options: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "paceline", "usage", *options, "--json", "-"],
        env={**os.environ, "PACELINE_HOME": str(served.home)},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def test_usage_and_runs_say_what_the_ledger_says(engine: Engines, gateway: Gateways) -> None:
    good = engine({})
    bad = engine({}, fault={"kind": "http_503"})
    served = gateway(
        config_of(
            offer("good", good.url, price=PRICE),
            offer("bad", bad.url, price=PRICE),
        )
    )
    for number in range(8):
        stream = number % 2 == 0
        served.ask(
            "openai-chat",
            asks.body("openai-chat", "demo", 20, stream),
            headers={"x-title": f"app {number % 3}"},
        )
    served.ask("anthropic-messages", asks.body("anthropic-messages", "demo", 30, stream=True))
    served.ask("openai-chat", asks.body("openai-chat", "no-such-model", 20, stream=True))
    entries = served.entries(10)
    for entry in entries:
        assert entry.keys() == ENTRY_FIELDS.keys()
        for attempt in entry["attempts"]:
            assert attempt.keys() == ATTEMPT_FIELDS.keys()
            assert attempt["usage"].keys() == USAGE_FIELDS.keys()
            assert attempt["row"].keys() == ROW_FIELDS
    running = usage_of(served, "--by", "offer")
    served.stop()
    ended = usage_of(served, "--by", "offer")
    assert running["rows"] == ended["rows"]
    total = ended["total"]
    assert (total["requests"], ended["unread_lines"]) == (10, 0)
    assert total["cost_usd"] == pytest.approx(sum(entry["cost_usd"] for entry in entries), abs=1e-9)
    assert total["attempts"] == sum(len(entry["attempts"]) for entry in entries)
    by_app = {row["group"]["app"]: row["requests"] for row in usage_of(served, "--by", "app")["rows"]}
    assert by_app == {"app 0": 3, "app 1": 3, "app 2": 2, None: 2}

    attempts = [attempt for entry in entries for attempt in entry["attempts"]]
    for run in list_runs(at=served.home):
        stored = open_run(run.id, at=served.home)
        name, short = str(run.name).removeprefix("gateway:").split(":")
        assert short == PROTOCOLS[stored.manifest.protocol].short  # type: ignore[index]
        asked = (name, stored.manifest.protocol)
        told = [one["row"] for one in attempts if (one["offer"], one["protocol"]) == asked]
        rows = stored.rows()
        assert stored.state == "complete"
        assert rows["outcome"].to_pylist() == [row["outcome"] for row in told]
        assert rows["completion_tokens"].to_pylist() == [row["completion_tokens"] for row in told]
        origin_ns = stored.origins()[0]
        all_events: list[Any] = rows["event_ns"].to_pylist()
        back = [[at_ns + origin_ns for at_ns in events] for events in all_events]
        assert back == [row["event_ns"] for row in told]
    names = {f"gateway:{one['offer']}:{PROTOCOLS[one['protocol']].short}" for one in attempts}
    assert {run.name for run in list_runs(at=served.home)} == names


def test_a_ledger_that_was_removed_goes_on_where_it_was(engine: Engines, gateway: Gateways) -> None:
    served = gateway(config_of(offer("a", engine().url, price=PRICE)))
    asked = asks.body("openai-chat", "demo", 20)
    for turn in range(3):
        assert served.ask("openai-chat", asked).status == 200
        served.ask("openai-chat", asked)
        served.stop()
        shutil.rmtree(served.home / "gateway" / "ledger")
        served.start()
        if turn > 0:
            assert served.ask("openai-chat", asked).status == 200
    served.stop()
    assert usage_of(served, "--by", "offer")["total"]["requests"] == 8
