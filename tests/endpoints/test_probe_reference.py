"""docs/reference/probe.md names every key of the document, and none that there is not."""

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from paceline.endpoints.bounded import Budget
from paceline.endpoints.client import MAX_BODY_BYTES
from paceline.endpoints.probe_record import (
    PROBE_SCHEMA,
    Cost,
    Features,
    Finding,
    Offset,
    Probe,
    ProtocolFindings,
    Server,
)

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "probe.md").read_text()
SECTIONS: dict[str, type[BaseModel]] = {
    "The document": Probe,
    "A finding": Finding,
    "Protocols": ProtocolFindings,
    "Features": Features,
    "Server": Server,
    "Clock": Offset,
    "Cost": Cost,
}


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("title", SECTIONS)
def test_every_key_is_documented_and_exists(title: str) -> None:
    model = SECTIONS[title]
    keys = {field.alias or name for name, field in model.model_fields.items()}
    assert set(re.findall(r"^\| `(\w+)` \|", section(title), re.MULTILINE)) == keys


def test_the_bounds_are_those_of_the_code() -> None:
    budget, text = Budget(), section("Bounds")
    assert f"{budget.requests} requests" in text
    assert f"{budget.answer_tokens:,} answer tokens" in text
    assert f"{budget.seconds:g} s" in text
    assert f"{budget.timeout_s:g} s (`--timeout`)" in text
    assert f"{MAX_BODY_BYTES // 2**20} MiB" in text
    assert PROBE_SCHEMA in PAGE
