"""A draft model as each engine takes one."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from paceline.engines import draft
from paceline.engines.draft import draft_settings
from paceline.engines.engine import Adapter, Settings
from paceline.engines.llama_cpp_options import read_help
from paceline.engines.plan import LaunchPlan
from paceline.errors import ConfigError
from paceline.weights.model import ModelFileError
from tests.support.models import write_gguf
from tests.support.standin import plan

HELP = """\
-m, --model FNAME                       model path
--port PORT                             port
--model-draft FNAME                     draft model
--spec-type none,draft-simple,ngram-mod how it drafts
"""


def of(name: str, settings: Settings | None = None) -> LaunchPlan:
    adapter = cast(Adapter, SimpleNamespace(name=name))
    return replace(plan(port=21_000), adapter=adapter, settings=settings or {})


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return write_gguf(tmp_path / "small.gguf")


def test_llama_cpp_drafts_with_it_and_with_nothing_else(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft, "options_of", lambda _: read_help(HELP))
    asked = of("llama.cpp", {"parallel": 1, "spec-type": "ngram-mod", "spec-ngram-mod-n-match": 12})
    assert draft_settings(asked, small) == {
        "model-draft": str(small),
        "spec-type": "draft-simple",
        "spec-ngram-mod-n-match": None,
    }
    # An older build has no kinds of drafting: the model alone says it.
    monkeypatch.setattr(draft, "options_of", lambda _: read_help(HELP.replace("draft-simple,", "")))
    assert draft_settings(of("llama.cpp"), small) == {"model-draft": str(small)}


@pytest.mark.parametrize(
    ("engine", "option"), [("vllm", "speculative-config.model"), ("sglang", "speculative-draft-model-path")]
)
def test_other_engines_have_an_option_for_it(engine: str, option: str, small: Path) -> None:
    assert draft_settings(of(engine), small) == {option: str(small)}


def test_what_is_no_model_and_an_engine_that_takes_none(small: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="takes no draft model"):
        draft_settings(of("tilert"), small)
    text = tmp_path / "text.gguf"
    text.write_text("no model")
    for path in (tmp_path / "none.gguf", text):
        with pytest.raises(ModelFileError):
            draft_settings(of("llama.cpp"), path)
