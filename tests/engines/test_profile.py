"""Profiles on disk: what is written is read again, what is damaged or another's is refused."""

import json
import math
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from paceline.engines.profile import (
    Gain,
    Profile,
    Sameness,
    Start,
    check_profile,
    find_profile,
    passed_over,
    profile_path,
    read_profile,
    unfit,
    write_profile,
)
from paceline.errors import ConfigError

MADE = datetime(2026, 11, 30, 20, 0, tzinfo=UTC)
PROFILE = Profile(
    engine="llama.cpp",
    engine_version="b6790",
    model_name="Gemma 3 270M",
    model_fingerprint="0123456789abcdef",
    machine="fedcba9876543210",
    tier="fast",
    goal="min itl_ms",
    workload="code-edit",
    settings={"spec-type": "ngram-mod", "threads": 2, "flash-attn": True, "p-min": 0.5, "mlock": None},
    made_at=MADE,
    gain=Gain("itl_ms", 17.5, 7.0, 2.5, 2.2, 2.8, rounds=6, requests=48),
    sameness=Sameness("same", 16, 1, 41.0, "tokens", ("20261130-a", "20261130-b"), {"parallel": 4}),
    evidence={"curve": [{"streams": 1, "output_tok_s": 143.0}]},
)
START = Start("llama.cpp", "b6790", PROFILE.model_fingerprint, PROFILE.machine, "fast")


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = write_profile(PROFILE, home=tmp_path)
    assert path.parent == tmp_path / "profiles"
    assert read_profile(path) == PROFILE
    # Types of values are an engine's options: 2 is not 2.0 and not true.
    assert [type(one) for one in read_profile(path).settings.values()] == [str, int, bool, float, type(None)]


def test_a_gain_over_nothing_has_no_ratio_in_the_file(tmp_path: Path) -> None:
    gain = Gain("goodput", 0.0, 3.5, math.inf, 1.0, math.inf, rounds=4, requests=8)
    path = write_profile(replace(PROFILE, gain=gain), home=tmp_path)
    document = json.loads(path.read_text())
    assert document["gain"]["ratio"] is None
    assert document["gain"]["hi"] is None
    assert read_profile(path).gain == gain


def test_the_file_says_what_it_is(tmp_path: Path) -> None:
    document = json.loads(write_profile(PROFILE, tmp_path / "mine.json").read_text())
    assert document["schema"] == "paceline.profile/1"
    assert document["made_at"] == "2026-11-30T20:00:00+00:00"
    assert document["gain"]["ratio"] == 2.5


def test_the_newest_that_fits_is_found(tmp_path: Path) -> None:
    write_profile(PROFILE, home=tmp_path)
    newer = replace(PROFILE, workload="chat", made_at=MADE + timedelta(days=1))
    write_profile(newer, home=tmp_path)
    write_profile(replace(newer, tier="ultra", made_at=MADE + timedelta(days=2)), home=tmp_path)
    assert find_profile(START, home=tmp_path) == newer
    assert find_profile(replace(START, tier="standard"), home=tmp_path) is None


def test_a_new_one_of_a_kind_replaces_the_old(tmp_path: Path) -> None:
    first = write_profile(PROFILE, home=tmp_path)
    second = write_profile(replace(PROFILE, made_at=MADE + timedelta(hours=1)), home=tmp_path)
    assert first == second == profile_path(PROFILE, tmp_path)
    assert len(list(first.parent.iterdir())) == 1


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (replace(START, engine="vllm"), "it is for llama.cpp, and vllm is to be started"),
        (replace(START, engine_version="b7000"), "version b6790, and b7000 is installed"),
        (replace(START, model_fingerprint="0" * 16), "another model (Gemma 3 270M)"),
        (replace(START, machine="0" * 16), "another machine"),
        (replace(START, tier="ultra"), "the tier fast, not ultra"),
    ],
)
def test_a_profile_of_something_else_is_refused(start: Start, words: str, tmp_path: Path) -> None:
    assert words in str(unfit(PROFILE, start))
    with pytest.raises(ConfigError, match="does not fit") as caught:
        check_profile(PROFILE, start, tmp_path / "mine.json")
    assert "--no-profile" in str(caught.value.hint)
    write_profile(PROFILE, home=tmp_path)
    assert find_profile(start, home=tmp_path) is None


def test_a_version_that_is_not_known_passes() -> None:
    assert unfit(PROFILE, replace(START, engine_version=None)) is None
    assert unfit(replace(PROFILE, engine_version=None), START) is None


def test_what_is_passed_over_is_said(tmp_path: Path) -> None:
    path = write_profile(PROFILE, home=tmp_path)
    (path.parent / "cut.json").write_text(path.read_text()[:200])
    said = passed_over(replace(START, engine_version="b7000"), home=tmp_path)
    assert len(said) == 2
    assert "version b6790" in said[0]
    assert "cut.json is damaged" in said[1]
    # Of another model nothing is said.
    assert len(passed_over(replace(START, model_fingerprint="0" * 16), home=tmp_path)) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema": "paceline.profile/2"}, "no schema"),
        ({"tier": "flex"}, "tier: "),
        ({"gain": {"metric": "itl_ms"}}, "gain.default: "),
        ({"settings": {"threads": [1]}}, "settings.threads"),
        ({"gain": {**asdict(PROFILE.gain), "lo": 9.0}}, "interval"),
        ({"made_at": "2026-11-30T20:00:00"}, "no time zone"),
    ],
)
def test_what_is_damaged_is_refused(change: dict[str, object], words: str, tmp_path: Path) -> None:
    path = write_profile(PROFILE, tmp_path / "mine.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ConfigError) as caught:
        read_profile(path)
    assert words in caught.value.message


def test_no_profile_no_file_no_json(tmp_path: Path) -> None:
    for path, words in (
        (tmp_path / "none.json", "there is no profile"),
        (tmp_path, "it is no file"),
    ):
        with pytest.raises(ConfigError, match=words):
            read_profile(path)
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(ConfigError, match="no JSON"):
        read_profile(tmp_path / "deep.json")
