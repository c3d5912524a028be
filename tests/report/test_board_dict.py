import csv
import io
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paceline.advisor.figures import FIGURES, Figure
from paceline.advisor.identity import OfferKey
from paceline.report.board_dict import CSV_HEAD, SCHEMA, board_csv, board_dict, board_json
from tests.report.board_samples import TRUTHS, board, empty_board, row

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "board.md"


@pytest.fixture(scope="module")
def document() -> Any:
    return json.loads(board_json(board()))


def test_the_document_is_of_its_schema_and_whole(document: Any) -> None:
    assert document["schema"] == SCHEMA == "paceline.board/1"
    assert (document["workload"], document["load"]) == ("coding-agent", "closed 4")
    assert len(document["rows"]) == len(TRUTHS)
    assert list(document["figures"]) == list(FIGURES)
    assert document["prices_at"] == "2026-11-30T09:00:00+00:00"
    for one in document["rows"]:
        assert list(one["figures"]) == list(FIGURES)


def test_a_row_by_hand() -> None:
    figures = {"ttft_p50_ms": Figure(212.0, 205.0, 219.0, 400), "capability": Figure(None, note="probe it")}
    one = board_dict(board(rows=[row(TRUTHS[1], marks=("suspect",), figures=figures)]))["rows"][0]
    assert (one["model"], one["provider"], one["tier"]) == ("gpt-oss-120b", "wafer", "fast")
    assert one["figures"]["ttft_p50_ms"] == {
        "value": 212.0,
        "lo": 205.0,
        "hi": 219.0,
        "n": 400,
        "needs_n": None,
        "note": None,
    }
    assert one["figures"]["capability"]["note"] == "probe it"
    assert one["marks"] == ["suspect"]
    assert len(one["runs"]) == 3
    assert one["requests"] == 900
    assert one["price"]["known"]
    assert one["price"]["source"] == "genai-prices 0.0.57"
    assert one["bill"]["jobs_per_day"] == 2000.0


def test_an_unknown_price_says_what_to_do(document: Any) -> None:
    unknown = next(
        one for one in document["rows"] if one["provider"] == "local" and not one["price"]["known"]
    )
    assert unknown["price"]["hint"] == "add it to prices.toml: paceline prices"
    assert unknown["figures"]["usd_per_job"]["value"] is None


def test_claims_problems_and_others_stand_apart(document: Any) -> None:
    assert [one["model"] for one in document["published"]] == ["gpt-oss-120b", "glm-5.2", "deepseek-v4"]
    assert all(one["source"] and one["as_of"] for one in document["published"])
    assert document["problems"][0]["run"] == "20261104-101500-00aa"
    assert document["elsewhere"][0]["model"] == "kimi-k3"
    assert document["choices"][1]["load"] == "closed 1"


def test_what_is_no_number_is_null() -> None:
    figures = {"ttft_p50_ms": Figure(math.nan, math.inf, None, 0)}
    one = json.loads(board_json(board(rows=[row(TRUTHS[0], figures=figures)])))["rows"][0]
    assert one["figures"]["ttft_p50_ms"] == dict.fromkeys(("value", "lo", "hi", "needs_n", "note")) | {"n": 0}


def test_an_empty_board_is_a_document_too() -> None:
    one = board_dict(empty_board())
    assert (one["workload"], one["rows"], one["published"]) == (None, [], [])


def test_csv_has_a_line_an_offer_and_no_claims() -> None:
    lines = list(csv.DictReader(io.StringIO(board_csv(board()))))
    assert len(lines) == len(TRUTHS)
    assert tuple(lines[0]) == CSV_HEAD
    assert (
        float(lines[0]["ttft_p50_ms_lo"]) < float(lines[0]["ttft_p50_ms"]) < float(lines[0]["ttft_p50_ms_hi"])
    )
    unknown = next(one for one in lines if one["usd_per_job"] == "")
    assert unknown["usd_per_job_lo"] == ""
    assert "glm-5.2" not in board_csv(board())


def test_a_name_is_no_formula() -> None:
    strange = replace(row(TRUTHS[0]), key=OfferKey('=HYPERLINK("x")', "@p"))
    (line,) = csv.DictReader(io.StringIO(board_csv(board(rows=[strange]))))
    assert (line["model"], line["provider"]) == ('\'=HYPERLINK("x")', "'@p")


def keys(document: Any) -> set[str]:
    """Names of all fields of a document, but for those that are data themselves."""
    if isinstance(document, list):
        return set().union(*map(keys, document))
    if not isinstance(document, dict):
        return set()
    found = set(document) - set(FIGURES) - {"prompt", "cached", "completion", "reasoning", "input", "output"}
    return found.union(*map(keys, document.values()))


def test_the_reference_names_every_field_and_figure(document: Any) -> None:
    text = REFERENCE.read_text()
    missing = [name for name in sorted(keys(document)) if f"`{name}`" not in text]
    assert missing == []
    for name, info in FIGURES.items():
        assert f"| `{name}` | {info.unit} |" in text
    assert f"`{SCHEMA}`" in text
