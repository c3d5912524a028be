"""docs/reference/equivalence.md has every key of the document, in its order, and no other."""

import re
from pathlib import Path
from typing import Any

import pytest

from paceline.advisor.equivalence import judge
from tests.support.twins import Model, asked

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "equivalence.md").read_text()


def told(title: str | None) -> list[str]:
    text = PAGE.partition("\n## ")[0] if title is None else PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    a, b = asked(Model(), 12, 1), asked(Model(weights=2), 12, 2)
    marks = {prompt: [True, True] for prompt in a.by_prompt}
    return judge(a, b, solved=(marks, marks)).to_dict()


def test_the_page_has_every_key(document: dict[str, Any]) -> None:
    assert told(None) == list(document)
    assert told("A side") == list(document["a"]) == list(document["b"])
    assert told("Agreement") == list(document["texts"]) == list(document["beginnings"])
    assert told("Divergence") == list(document["divergence"]["ab"])
    assert told("Examples") == list(document["examples"][0])


def test_the_words_of_the_page(document: dict[str, Any]) -> None:
    assert set(document["divergence"]) == {"unit", "a", "b", "ab"}
    assert set(document["verdict"]["findings"]) == {"texts", "scores"}
    for key in ("outcome", "text", "needs_more", "reasons", "findings"):
        assert f"`{key}`" in PAGE
        assert key in document["verdict"]
    for key in document["scores"]:
        assert f"`{key}`" in PAGE
