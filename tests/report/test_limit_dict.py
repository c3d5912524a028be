"""`paceline.limit/1`, and that its page tells every key."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paceline.report.limit_dict import limit_dict, limit_json
from paceline.roofline.limit import Asked, find_limit
from paceline.roofline.reached import Drafts
from tests.roofline.samples import facts, rates
from tests.roofline.test_reached import observed

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "limit.md"


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    runs = [observed(300.0), observed(4000.0, drafts=Drafts(1000, 800, 600))]
    asked = Asked(1024, (1, 4), acceptance=0.8)
    return limit_dict(find_limit(facts(), rates(20e9, 400e9), asked, draft=facts(), observed=runs))


def test_figures_are_those_of_the_limit(document: dict[str, Any]) -> None:
    """1,048,576 bytes of KV and 7,555,072 of weights and rows at 20 GB/s."""
    assert document["schema"] == "paceline.limit/1"
    token, one = document["token"], document["streams"][0]
    assert (token["kind"], token["kv_bytes"], token["context_tokens"]) == ("bf16", 1_048_576, 1024)
    assert one["memory_ms"] == pytest.approx(token["bytes"] / 20e9 * 1e3)
    assert one["stream_tok_s"] == pytest.approx(20e9 / token["bytes"])
    assert one["limited_by"] == "memory"
    assert document["machine"]["operations_s"] == {"bf16": 400e9}
    run = document["runs"][1]
    assert (run["tokens_a_step"], run["tokens_a_step_by"], run["drafted"]) == (2.5, "server", 800)
    assert run["of_limit"]["lo"] < run["of_limit"]["value"] < run["of_limit"]["hi"]


def test_what_is_not_known_is_null() -> None:
    bare = observed(300.0, gaps_ms=np.zeros(0), gap_tokens=np.zeros(0, np.int64))
    text = limit_json(find_limit(facts(), rates(20e9, None), Asked(0, (1,)), observed=[bare]))
    told = json.loads(text)
    assert told["streams"][0]["arithmetic_ms"] is None
    assert (told["ridge_streams"], told["speculation"], told["draft_model"]) == (None, [], None)
    assert told["runs"][0]["of_arithmetic"] is None
    assert told["runs"][0]["tokens_a_step_by"] is None


def test_a_model_within_the_cache_has_no_infinity_in_it() -> None:
    text = limit_json(find_limit(facts(), rates(20e9, None, cache_bytes=1 << 30), Asked(0, (1,))))
    assert json.loads(text)["streams"][0]["stream_tok_s"] is None
    assert json.loads(text)["streams"][0]["limited_by"] is None


def test_the_page_tells_every_key_and_no_other(document: dict[str, Any]) -> None:
    told = set(re.findall(r"^\| `([a-z_]+)` \|", PAGE.read_text(), re.MULTILINE))
    parts = [document, document["token"], document["model"], document["machine"], document["prompt"]]
    parts += [document["streams"][0], document["runs"][1]]
    assert {key for part in parts for key in part} == told
