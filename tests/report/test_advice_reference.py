"""docs/reference/advice.md names every key of the document, and none that there is not."""

import re
from pathlib import Path
from typing import Any

import pytest

from paceline.advisor.advise import AdviceQuery, advise
from paceline.advisor.constraints import parse_budget, parse_capability, parse_slos
from paceline.advisor.explain import FORMULAS, origins
from paceline.report.advice_dict import SCHEMA, advice_dict
from tests.report.board_samples import board

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "advice.md").read_text()


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    query = AdviceQuery(
        (*parse_slos("ttft_ms=700", 0.9), parse_capability(">= 0.6"), parse_budget("0.01/job")),
        worth_usd_per_hour=20.0,
        replicates=50,
    )
    advice = advise(board(), query)
    return advice_dict(advice, origins(advice), FORMULAS)


def keys(title: str) -> list[str]:
    section = PAGE.split(f"## {title}\n")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (`[^|]+`) \|", section, re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]


def test_the_page_has_every_key_of_the_document(document: dict[str, Any]) -> None:
    assert keys("The document") == list(document)
    assert document["schema"] == SCHEMA
    assert f"`{SCHEMA}`" in PAGE


def test_the_page_has_every_key_of_an_offer_and_of_a_verdict(document: dict[str, Any]) -> None:
    offer = document["offers"][0]
    assert keys("An offer") == list(offer)
    assert keys("A verdict") == list(offer["verdicts"][0])


def test_the_page_has_every_flip(document: dict[str, Any]) -> None:
    assert keys("What would flip it") == list(document["flips"])


def test_every_formula_of_an_origin_is_told(document: dict[str, Any]) -> None:
    named = {name for one in document["origins"] for name in one["formula"].split(", ")}
    assert named <= set(document["formulas"])
