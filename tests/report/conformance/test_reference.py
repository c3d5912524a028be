"""docs/reference/conformance.md says what the code does."""

import json
import re
from pathlib import Path

from paceline.report.conformance.model import conformance
from paceline.report.conformance.tools import definitions
from tests.report.conformance.golden import rows
from tests.report.conformance.page import PATH, SHAPE, page
from tests.report.samples import report


def test_the_page_is_made_from_the_definitions() -> None:
    assert PATH.read_text() == page(), "write it anew: python -m tests.report.conformance.page"


def test_the_page_has_every_key_of_the_document(tmp_path: Path) -> None:
    document = json.loads(conformance(report(tmp_path, rows()), definitions(["vllm"])).to_json())
    tool = document["tools"][0]
    told = set(re.findall(r"`(\w+)`", SHAPE))
    parts = [document, document["run"], document["paceline"], tool, tool["sources"][0], tool["requests"]]
    parts += [tool["window"], tool["output_tokens"], tool["metrics"]["ttft_ms"], tool["differences"][0]]
    assert {key for part in parts for key in part} <= told
