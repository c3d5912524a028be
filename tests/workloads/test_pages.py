"""Each built-in workload has a page, and the page's numbers are those of the file."""

import csv
import json
import math
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paceline.workloads.files import built_in_names, built_in_text

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "workloads"
TRACES = ROOT.parent / "shared" / "traces"
ROW = re.compile(r"^\| `([^`]+)` \| `([^`]*)` \| (.+) \|$", re.MULTILINE)
needs_traces = pytest.mark.skipif(not TRACES.is_dir(), reason=f"there are no traces in {TRACES}")


def flat(data: dict[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    for key, value in data.items():
        if isinstance(value, dict):
            yield from flat(value, f"{path}{key}.")
        elif isinstance(value, list):
            for one in value:
                yield from flat(
                    {inner: it for inner, it in one.items() if inner != "name"}, f"{path}{key}.{one['name']}."
                )
        elif path or key not in ("schema", "name", "about"):
            yield path + key, str(value).lower() if isinstance(value, bool) else str(value)


def test_each_workload_has_a_page_and_each_page_a_workload() -> None:
    assert sorted(page.stem for page in PAGES.glob("*.md")) == built_in_names()


@pytest.mark.parametrize("name", built_in_names())
def test_the_page_has_every_number_of_the_file_and_where_it_is_from(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text()
    told = {key: value for key, value, _ in ROW.findall(text)}
    assert told == dict(flat(tomllib.loads(built_in_text(name))))
    sources = set(re.findall(r"^(\d)\. ", text, re.MULTILINE))
    assert set(re.findall(r"\[(\d)\]", text)) == sources


@needs_traces
def test_the_chat_pages_quartiles_are_the_traces() -> None:
    text = (PAGES / "chat.md").read_text()
    with (TRACES / "AzureLLMInferenceTrace_conv.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert f"{len(rows):,} requests" in text
    for column, key in (("ContextTokens", "prompt_tokens"), ("GeneratedTokens", "output_tokens")):
        low, middle, high = np.percentile([int(row[column]) for row in rows], [25, 50, 75])
        sigma = math.log(high / low) / 1.349
        (row,) = re.findall(
            rf"^\| `call\.ask\.{key}` \| `lognormal:(\d+):([\d.]+)` \| (.+) \|$", text, re.MULTILINE
        )
        assert row[0] == f"{middle:.0f}"
        assert float(row[1]) == pytest.approx(sigma, abs=0.006)
        assert f"{low:,.0f} and {high:,.0f}" in row[2]


@needs_traces
def test_the_summarise_pages_median_is_the_traces() -> None:
    with (TRACES / "mooncake_conversation_head3000.jsonl").open() as file:
        lengths = [json.loads(line)["input_length"] for line in file]
    assert len(lengths) == 3000
    assert f"median input\n   {np.median(lengths):,.0f} tokens" in (PAGES / "summarise.md").read_text()


def test_paces_follow_from_words_a_minute() -> None:
    reading, speech, words = 238 / 60 / 0.75, 183 / 60 / 0.75, 0.75
    assert (round(reading, 1), round(1000 / reading)) == (5.3, 189)
    assert (round(speech), round(1000 / speech)) == (4, 246)
    assert round(129 * words / 238 * 60, 1) == 24.4
    assert round((15.12 + 11.75) / 183 * 60 + 0.2, 1) == 9.0
    assert round(11.75 / 183 * 60 + 0.2, 2) == 4.05
    assert (round(11.75 / words), round(15.12 / words)) == (16, 20)
    assert round(820 * math.exp(1.3**2 / 2) / 1000, 1) == round(97.8 * 3600 / 184_000, 1) == 1.9
