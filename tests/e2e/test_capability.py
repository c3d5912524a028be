"""The probe against a reference engine whose quality is known."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binomtest

from paceline.store.runs import open_run
from paceline.workloads.capability.items import Items
from paceline.workloads.capability.spec import ProbeSpec
from tests.e2e.conftest import Cli, Sims, spawn
from tests.e2e.test_interrupted import wait_for_rows
from tests.support.answers import write_answers

FAMILIES = ("products", "knights_knaves", "spell_backward", "leg_counting")
PROBE = ("--families", ",".join(FAMILIES), "--seed", "5")


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    return write_answers(Items(ProbeSpec(families=FAMILIES, items=200, seed=5)), tmp_path / "answers.jsonl")


def engine(sims: Sims, answers: Path, quality: float, *more: str) -> str:
    quick = ("--ttft", "1ms", "--itl", "50us", "--output-tokens", "40", "--reasoning-tokens", "10")
    return sims(*quick, "--answers", str(answers), "--quality", str(quality), *more).url


def test_the_share_is_the_engines_quality(cli: Cli, sims: Sims, answers: Path, tmp_path: Path) -> None:
    url = engine(sims, answers, 0.7)
    path = tmp_path / "scores.json"
    done = cli("capability", "run", url, *PROBE, "--items", "200", "-c", "8", "--json", str(path)).ended()
    found = json.loads(path.read_text())
    total = found["total"]
    assert binomtest(total["solved"], total["n"], 0.7).pvalue > 1e-4
    assert total["lo"] <= total["share"] <= total["hi"]
    assert {name: one["n"] for name, one in found["families"].items()} == dict.fromkeys(found["families"], 50)
    assert (found["unanswered"], found["failed"], found["missing"]) == (0, 0, 0)
    lines = done.out.splitlines()
    assert any(line.startswith("TTFT ") for line in lines)
    assert any(line.startswith("total ") and f"{total['solved']}/200" in line for line in lines)
    assert all(len(line) <= 80 for line in lines)
    # Speed, reasoning tokens and scores are of the same requests.
    shown = cli("runs", "show", "latest", "--json", "-").report
    assert shown["outcomes"]["ok"] == 200
    assert shown["tokens"]["reasoning"] == 2_000
    again = cli("capability", "score", "latest", "--json", "-")
    assert {**again.report, "at": None} == {**found, "at": None}


def test_the_same_seed_asks_the_same_again_and_another_does_not(cli: Cli, sims: Sims, answers: Path) -> None:
    url = engine(sims, answers, 1.0)

    def hashes(*seed: str) -> list[str]:
        cli("capability", "run", url, "--families", "products", "--items", "6", *seed).ended()
        found: list[Any] = open_run("latest").plan()["prompt_sha256"].to_pylist()
        return found

    assert hashes("--seed", "5") == hashes("--seed", "5")
    assert not set(hashes()) & set(hashes())


def test_a_run_that_is_cut_scores_what_there_is_and_resume_scores_the_rest(
    cli: Cli, sims: Sims, answers: Path
) -> None:
    url = engine(sims, answers, 1.0, "--ttft", "60ms")
    process = spawn("capability", "run", url, *PROBE, "--items", "50")
    wait_for_rows(process, 3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    run = open_run("latest")
    part = json.loads((run.folder / "capability.json").read_text())
    assert 0 < part["total"]["solved"] == part["total"]["n"] < 50, err
    assert part["missing"] == 50 - part["total"]["n"]
    assert "items were asked: the run was cut." in " ".join(out.split())
    done = cli("runs", "resume", "latest").ended()
    assert "50/50" in done.out
    whole = json.loads((run.folder / "capability.json").read_text())
    assert (whole["total"]["n"], whole["missing"]) == (50, 0)


def test_failed_requests_are_counted_apart(cli: Cli, sims: Sims, answers: Path) -> None:
    url = engine(sims, answers, 1.0, "--fault", "http_500:share=0.4")
    done = cli("capability", "run", url, *PROBE, "--items", "60", "--no-check", "-m", "truth", "-c", "4")
    found = cli("capability", "score", "latest", "--json", "-").report
    assert 0 < found["failed"] < 60
    assert found["total"]["n"] == 60 - found["failed"]
    assert found["total"]["share"] == 1.0
    assert found["failed_as_wrong"]["share"] == pytest.approx(1 - found["failed"] / 60, abs=0.1)
    text = " ".join(done.out.split())
    assert f"{found['failed']} of 60 requests failed" in text
    assert "With failures counted as wrong" in text


def test_an_answer_that_the_limit_cuts_is_not_solved_and_said(cli: Cli, sims: Sims, answers: Path) -> None:
    url = engine(sims, answers, 1.0)
    limit = ("--max-tokens", "20", "--json", "-")
    done = cli("capability", "run", url, *PROBE, "--items", "12", *limit).ended()
    found = done.report
    assert (found["total"]["solved"], found["truncated"], found["unanswered"]) == (0, 12, 12)
    assert "Cut by the limit of 20 tokens (--max-tokens): 12 of 12." in done.err


def test_the_board_and_the_list_have_the_share_of_the_offer(cli: Cli, sims: Sims, answers: Path) -> None:
    for quality, provider in ((1.0, "good"), (0.5, "poor")):
        url = engine(sims, answers, quality)
        cli("capability", "run", url, *PROBE, "--items", "40", "--provider", provider).ended()
    listed = json.loads(cli("capability", "list", "--json").out)["scores"]
    shares = {one["provider"]: one["share"] for one in listed}
    assert shares["good"] == 1.0 > shares["poor"]
    assert {one["n"] for one in listed} == {40}
    table = cli("capability", "list").out
    assert "truth @ good" in table
    assert "100.0" in table
