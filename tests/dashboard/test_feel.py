"""What the player is given."""

import json
import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from paceline.catalogue.thresholds import pace_tok_s
from paceline.dashboard.app import create_app
from paceline.dashboard.feel import measured_offers, replay_of, tokens_of_text
from paceline.errors import ConfigError
from paceline.workloads.corpus import english
from tests.dashboard.served import state_of
from tests.report.samples import store
from tests.support.rows import make_row


def test_tokens_are_three_quarters_of_a_word_and_make_the_text() -> None:
    pieces = tokens_of_text(2_000)
    assert len(pieces) == 2_000
    text = "".join(pieces)
    assert english().text.startswith(text)
    assert len(text.split()) / len(pieces) == pytest.approx(0.75, abs=0.01)
    assert all(pieces)


def test_the_stored_answer_nearest_to_the_medians_as_it_came(tmp_path: Path) -> None:
    slow = make_row(event_ms=(900.0, 990.0, 1080.0), completion_tokens=3)
    # 150 ms to the first, then 4 tokens in 100 ms: the one in the middle.
    middle = make_row(
        sent_ms=50.0,
        event_ms=(200.0, 250.0, 300.0),
        event_tokens=[1, 2, 2],
        completion_tokens=5,
        event_bytes=[3, 6, 3],
        event_kind=[1] * 3,
        text="so \u00fcber it.",
    )
    quick = make_row(event_ms=(20.0, 25.0, 30.0), completion_tokens=3)
    failed = make_row(event_ms=(150.0, 200.0), outcome="truncated")
    run = store(tmp_path, [slow, failed, middle, quick])
    found = replay_of(run.id, tmp_path)
    assert found["run"] == run.id
    assert found["ttft_ms"] == pytest.approx(150.0)
    assert found["output_tok_s"] == pytest.approx(40.0)
    assert found["events"] == [[150.0, 1, "so "], [200.0, 2, "\u00fcber "], [250.0, 2, "it."]]


def test_text_that_was_not_kept_is_not_made_up(tmp_path: Path) -> None:
    run = store(tmp_path, [make_row(text="", event_bytes=[5, 5, 5, 5])])
    assert [event[2] for event in replay_of(run.id, tmp_path)["events"]] == [None] * 4


def test_a_run_without_a_stream_has_nothing_to_play(tmp_path: Path) -> None:
    run = store(tmp_path, [make_row(outcome="timeout")])
    with pytest.raises(ConfigError, match="no streamed answer"):
        replay_of(run.id, tmp_path)


def test_offers_that_were_measured(tmp_path: Path) -> None:
    rows = [
        make_row(sent_ms=200.0 * i, event_ms=[200.0 * i + 80 + 10 * k for k in range(4)]) for i in range(40)
    ]
    run = store(tmp_path, rows, endpoint="http://127.0.0.1:9100/v1", model="tiny")
    [offer] = measured_offers(tmp_path, ())
    assert (offer.label, offer.requests, offer.run_id) == ("tiny @ 127.0.0.1:9100", 40, run.id)
    assert offer.ttft_ms == pytest.approx(80.0)
    assert offer.output_tok_s == pytest.approx(100.0)


def test_the_page(tmp_path: Path) -> None:
    store(
        tmp_path, [make_row(sent_ms=200.0 * i, event_ms=[200.0 * i + 80, 200.0 * i + 90]) for i in range(9)]
    )
    asked = TestClient(create_app(state_of(tmp_path)), base_url="http://127.0.0.1:8090")
    page = asked.get("/feel")
    assert page.status_code == 200
    found = re.search(r'<script type="application/json" id="given">(.*?)</script>', page.text)
    assert found is not None
    given = json.loads(found[1])
    assert given["reading_tok_s"] == pytest.approx(238 / 60 / 0.75)
    assert given["reading_tok_s"] == pace_tok_s("reading")
    assert len(given["tokens"]) == 2_000
    run_id = given["offers"][0]["run_id"]
    replay = asked.get(f"/feel/replay/{run_id}").json()
    assert [event[0] for event in replay["events"]] == [80.0, 90.0]
    assert asked.get("/feel/replay/nothing-of-this-name").status_code in (400, 404)
