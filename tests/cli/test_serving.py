"""What `paceline serve` makes of its options, and how it says what it is about to do."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

import paceline.cli.serving as cli_serving
from paceline.cli.serve_words import plan_lines, same_settings
from paceline.cli.served_list import clean_up, gateway_check, table
from paceline.cli.serving import known_price, parse_price, said_to_draft
from paceline.engines.engine import Adapter, Address, Command, Installed
from paceline.engines.machine import Gpu, Machine
from paceline.engines.plan import LaunchPlan
from paceline.engines.profile import Gain, Profile, Sameness
from paceline.engines.register import Offer, register
from paceline.engines.served import Entry, Served, Serving, servers
from paceline.errors import ConfigError
from tests.support.standin import StandIn

PLAN = LaunchPlan(
    adapter=cast(Adapter, StandIn()),
    installed=Installed("llama.cpp", ("/opt/llama-server",), "on the PATH", "b6790"),
    model="org/model",
    served_name="model",
    tier="fast",
    address=Address("127.0.0.1", 21_000),
    settings={"parallel": 1, "metrics": True, "a-very-long-option-of-some-engine": "with/a/long/value"},
    why={
        "parallel": "one stream has the machine to itself, and others wait for it in a queue until it ends",
        "metrics": "figures",
    },
    command=Command(("llama-server",)),
    facts=None,
    needs_bytes=None,
)
MACHINE = Machine(2, 16 << 30, 8 << 30)
SERVED = Served(
    name="gemma-fast",
    endpoint="http://127.0.0.1:21000/v1",
    engine="llama.cpp",
    engine_version=None,
    model="/a/long/way/down/to/the/models/gemma-3-270m-q4_k_m.gguf",
    served_name="gemma",
    tier="fast",
    command="llama-server",
    log="/tmp/log",
    pid=1,
    pid_started=None,
    started_at=datetime(2026, 11, 30, tzinfo=UTC),
    state="ready",
)


def test_prices() -> None:
    assert parse_price("0.1,0.4") == (0.1, 0.4)
    assert parse_price("0,0") == (0.0, 0.0)
    for text in ("1", "1,2,3", "a,b", "-1,2", "nan,1", "1,inf", ""):
        with pytest.raises(ConfigError, match="is no price"):
            parse_price(text)


def test_what_serves_does_not_end_when_stdout_takes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("w") as full:
        for stdout in (full, None):
            monkeypatch.setattr("sys.stdout", stdout)
            for _ in range(2):
                cli_serving._print("http://127.0.0.1:21000/v1")


def test_settings_stand_in_columns_with_their_reasons() -> None:
    lines = plan_lines(PLAN, MACHINE)
    assert lines[:4] == [
        "llama.cpp b6790, on the PATH",
        "model org/model, which the engine finds itself",
        "tier fast:",
        "  --parallel 1                        one stream has the machine to itself, and",
    ]
    assert "  --metrics                           figures" in lines
    assert lines[-2:] == [
        "  --a-very-long-option-of-some-engine with/a/long/value",
        "memory: what it needs is not known before the start; 8.00 GiB free",
    ]
    assert max(map(len, lines)) <= 80


def test_memory_on_a_gpu() -> None:
    machine = replace(MACHINE, gpus=(Gpu("H200", 140 << 30, 139 << 30),))
    lines = plan_lines(replace(PLAN, needs_bytes=100 << 30), machine)
    assert lines[-1] == "memory: needs about 100 GiB; 8.00 GiB free, 139 GiB free on H200"


def test_a_profile_is_said_with_its_interval() -> None:
    profile = Profile(
        engine="llama.cpp",
        engine_version="b6790",
        model_name="Model",
        model_fingerprint="0" * 16,
        machine="1" * 16,
        tier="fast",
        goal="min itl_ms",
        workload="code-edit",
        settings={},
        made_at=datetime(2026, 11, 30, tzinfo=UTC),
        gain=Gain("itl_ms", 17.5, 7.0, 2.5, 2.2, 2.8, 6, 48),
        sameness=Sameness("same", 16, 0, None, "words", ("a", "b")),
    )
    said = " ".join(" ".join(plan_lines(replace(PLAN, profile=profile), MACHINE)).split())
    assert "profile of 2026-11-30, tuned on code-edit for min itl_ms" in said
    assert "itl_ms 2.50 times as good as the engine's defaults (2.20 to 2.80)" in said
    assert said.endswith("its greedy answers: the same as standard in 16 of 16")


def test_what_is_left_out_makes_no_other_settings() -> None:
    assert same_settings({"a": 1, "b": None, "c": False}, {"a": 1})
    assert not same_settings({"a": 1}, {"a": 2})


def test_what_comes_with_a_draft_model_is_not_said_to_be_the_users() -> None:
    without = replace(PLAN, why={"threads": "you set it", "spec-type": "what has come before"})
    drafting = replace(
        PLAN, why={"threads": "you set it", "spec-type": "you set it", "model-draft": "you set it"}
    )
    assert said_to_draft(drafting, without).why == {
        "threads": "you set it",
        "spec-type": "by --draft-model",
        "model-draft": "by --draft-model",
    }


def test_servers_in_a_table_within_a_width() -> None:
    entries = [Entry(SERVED, True), Entry(replace(SERVED, name="b", restarts=2), False)]
    narrow = table(entries, 100)
    assert max(map(len, narrow)) <= 100
    assert narrow[1].split()[:4] == ["gemma-fast", "ready", "fast", "llama.cpp"]
    assert narrow[1].endswith(".gguf")
    assert "ended (2 restarts)" in narrow[2]
    assert table(entries, None)[1].endswith(SERVED.model)
    assert table([Entry(replace(SERVED, model="a\nb.gguf"), True)], None)[1].endswith("a b.gguf")
    narrowest = table(entries, 80)
    assert max(map(len, narrowest)) <= 80
    assert "MODEL" not in narrowest[0]


def test_an_offer_that_cannot_be_taken_out_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PACELINE_HOME", str(tmp_path))
    config = tmp_path / "paceline.toml"
    config.mkdir()
    with Serving.claim(replace(SERVED, registered=str(config))) as serving:
        # As a kill leaves it: the lock is free, the file says what it said.
        serving.update(state="gave up")
    clean_up(servers())
    assert "the offer gemma-fast stays in" in capsys.readouterr().err
    assert len(servers()) == 1
    config.rmdir()
    offer = Offer("gemma-fast", "gemma", SERVED.endpoint, ("openai-chat",), "fast")
    register(config, offer, gateway_check)
    clean_up(servers())
    assert servers() == []
    assert "gemma-fast" not in config.read_text()


PRICES = """\
schema = "paceline.prices/1"

[[price]]
model = "model"
tier = "fast"
input_usd_per_mtok = 0.5
output_usd_per_mtok = 2
as_of = 2026-11-30

[[price]]
model = "hourly"
usd_per_gpu_hour = 2
gpus = 1
as_of = 2026-11-30
"""


def test_a_price_of_tokens_is_the_offers_and_one_by_the_hour_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PACELINE_HOME", str(tmp_path))
    assert known_price(PLAN, "model-fast") is None
    (tmp_path / "prices.toml").write_text(PRICES)
    assert known_price(PLAN, "model-fast") == (0.5, 2.0)
    assert known_price(replace(PLAN, tier="standard"), "model") is None
    assert known_price(replace(PLAN, served_name="hourly"), "hourly-fast") is None
