"""What is turned: by the engine's own names, without what is fixed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paceline.engines.engine import Value
from paceline.engines.machine import look
from paceline.engines.plan import Asked, LaunchPlan
from paceline.engines.planning import plan_launch
from paceline.errors import ConfigError
from paceline.tuning.goal import parse_goal
from paceline.tuning.journal import Tuning
from paceline.tuning.start import TuneAsked, new_tuning, space
from paceline.workloads.spec import WorkloadSpec
from tests.engines.test_llama_cpp_options import HELP
from tests.support.models import write_gguf

HERE = look()


@pytest.fixture
def asked(tmp_path: Path) -> TuneAsked:
    """Of a binary that answers `--help` and `--version` as the real one."""
    binary = tmp_path / "llama-server"
    version = "version: 1 (0000000)\nbuilt with GNU 12.2.0 for Linux x86_64"
    binary.write_text(f'#!/bin/sh\n[ "$1" = --help ] && exec cat {HELP}\necho "{version}"\n')
    binary.chmod(0o755)
    workload = WorkloadSpec.parse({"name": "chat", "prompt_tokens": "30", "output_tokens": "20"}, "a test")
    return TuneAsked(
        model=str(write_gguf(tmp_path / "tiny.gguf")),
        goal=parse_goal("min itl_ms"),
        budget_s=1200.0,
        workload=workload,
        engine="llama.cpp",
        binary=binary,
    )


def made(asked: TuneAsked, home: Path, **changes: Any) -> Tuning:
    return new_tuning(replace(asked, **changes), home=home)


def test_what_is_varied_is_kept_by_the_engines_first_name(asked: TuneAsked, tmp_path: Path) -> None:
    varied = {"ub": [128, 512], "n-gpu-layers": [0, 99]}
    assert made(asked, tmp_path, varied=varied).varied == {"ubatch-size": [128, 512], "gpu-layers": [0, 99]}


def test_one_option_by_two_names_is_refused(asked: TuneAsked, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="both fixed and varied"):
        made(asked, tmp_path, fixed={"ubatch-size": 64}, varied={"ub": [128, 512]})
    with pytest.raises(ConfigError, match="names ubatch-size twice"):
        made(asked, tmp_path, varied={"ub": [128, 512], "ubatch-size": [1, 2]})


def test_a_switch_is_varied_bare_or_left_out(asked: TuneAsked, tmp_path: Path) -> None:
    assert made(asked, tmp_path, varied={"no-repack": [True, None]}).varied == {"no-repack": [True, None]}
    # On and off are two options of the engine: one of them would never stand in a command.
    with pytest.raises(ConfigError, match="not of one option"):
        made(asked, tmp_path, varied={"repack": [True, False]})


def test_an_option_that_there_is_not_is_refused(asked: TuneAsked, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no option --ubatch-sise"):
        made(asked, tmp_path, varied={"ubatch-sise": [1, 2]})


@pytest.fixture
def plan(asked: TuneAsked, tmp_path: Path) -> LaunchPlan:
    return plan_launch(Asked(asked.model, "llama.cpp", "fast", binary=asked.binary, bare=True), home=tmp_path)


def options(plan: LaunchPlan, fixed: dict[str, Any], varied: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
    return {one.option: one.values for one in space(plan, "fast", fixed, varied, HERE)}


def test_what_is_fixed_is_not_turned(plan: LaunchPlan) -> None:
    whole = options(plan, {}, {})
    assert "threads" in whole
    assert "threads" not in options(plan, {"threads": 1}, {})
    # Without that kind of drafts their settings mean nothing.
    without = options(plan, {"spec-type": "ngram-simple"}, {})
    assert not [name for name in without if name.startswith("spec-ngram-mod")]
    assert [name for name in without if name.startswith("spec-ngram-simple")]


def test_what_the_user_varies_takes_the_place_of_the_engines_list(plan: LaunchPlan) -> None:
    found = options(plan, {}, {"threads": [3, 5], "ubatch-size": [64, None]})
    assert found["threads"] == (3, 5)
    assert found["ubatch-size"] == (64, None)


def test_what_the_user_varies_means_nothing_where_the_engines_own_did_not(plan: LaunchPlan) -> None:
    varied: dict[str, list[Value]] = {"spec-ngram-mod-n-match": [6, 10]}
    only_with = {one.option: one.only_with for one in space(plan, "fast", {}, varied, HERE)}
    assert only_with["spec-ngram-mod-n-match"] == ("spec-type", ("ngram-mod",))
    # Who fixes another kind of drafts and varies this one all the same gets what was asked for.
    fixed = {
        one.option: one.only_with for one in space(plan, "fast", {"spec-type": "draft-simple"}, varied, HERE)
    }
    assert fixed["spec-ngram-mod-n-match"] is None
