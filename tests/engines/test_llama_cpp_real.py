"""Plans of a real llama-server: it starts, answers, and has the settings that the tier gave it."""

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from paceline.engines.engine import Settings
from paceline.engines.failure import EngineError
from paceline.engines.llama_cpp_options import options_of
from paceline.engines.plan import Asked
from paceline.engines.planning import plan_launch
from paceline.engines.run import running
from tests.support.engine import Engine, find_engine

pytestmark = pytest.mark.engine


@pytest.fixture
def engine() -> Engine:
    found = find_engine()
    if isinstance(found, str):
        pytest.skip(found)
    return found


def got(url: str, body: dict[str, Any] | None = None) -> Any:
    request = urllib.request.Request(url, headers={"content-type": "application/json"})
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(request, data, timeout=120) as answer:
        return json.load(answer)


def test_the_options_of_the_build_are_read(engine: Engine, tmp_path: Path) -> None:
    plan = plan_launch(Asked(str(engine.model), binary=engine.binary), home=tmp_path)
    options = options_of(plan.installed)
    assert options is not None
    assert all(name in options for name in ("parallel", "ctx-size", "flash-attn", "metrics"))
    assert all(name in options for name in plan.settings)


def test_standard_takes_several_requests(engine: Engine, tmp_path: Path) -> None:
    asked = Asked(str(engine.model), binary=engine.binary, settings={"ctx-size": 4096, "parallel": 3})
    plan = plan_launch(asked, home=tmp_path)
    with running(plan, log=tmp_path / "log"):
        props = got(f"{plan.address.url}/props")
        assert props["total_slots"] == 3
        # One cache for all: each may have the whole.
        assert props["default_generation_settings"]["n_ctx"] == 4096
        assert got(f"{plan.endpoint}/models")["data"][0]["id"] == plan.served_name
        with urllib.request.urlopen(f"{plan.address.url}/metrics", timeout=60) as answer:
            assert b"llamacpp:" in answer.read()


def test_fast_drafts_what_has_come_before(engine: Engine, tmp_path: Path) -> None:
    plan = plan_launch(Asked(str(engine.model), binary=engine.binary, tier="fast"), home=tmp_path)
    if plan.settings.get("spec-type") != "ngram-mod":
        pytest.skip("this build has no speculation by n-grams")
    with running(plan, log=tmp_path / "log"):
        assert got(f"{plan.address.url}/props")["total_slots"] == plan.settings["parallel"]
        # The base model goes on with what repeats itself.
        line = "The quick brown fox jumps over the lazy dog, and the dog does not mind at all.\n"
        body = {"model": plan.served_name, "prompt": line * 6, "max_tokens": 40, "temperature": 0}
        answer = got(f"{plan.endpoint}/completions", body)
        assert answer["usage"]["completion_tokens"] == 40
        assert answer["timings"]["draft_n_accepted"] > 0


def test_a_server_that_refuses_its_settings_says_why(engine: Engine, tmp_path: Path) -> None:
    settings: Settings = {"flash-attn": "off", "cache-type-v": "q8_0", "ctx-size": 512, "fit": "off"}
    asked = Asked(str(engine.model), binary=engine.binary, settings=settings)
    plan = plan_launch(asked, home=tmp_path)
    with pytest.raises(EngineError) as caught, running(plan, log=tmp_path / "log"):
        pass
    assert "needs flash attention" in caught.value.message
    assert caught.value.lasting
