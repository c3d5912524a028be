"""From engines with known speeds and prices to the offer that was planted as the best."""

import json
from pathlib import Path
from typing import Any

import pytest

from paceline.control.read import read_config
from paceline.workloads.capability.items import Items
from paceline.workloads.capability.spec import ProbeSpec
from tests.e2e.conftest import Cli, Sims
from tests.support.answers import write_answers

# The cheapest is too slow, the dearest is no faster than the one between.
OFFERS = {
    "slow": ("250ms", 0.1),
    "right": ("5ms", 0.4),
    "dear": ("5ms", 2.0),
}
SMALL = ("--prompt-tokens", "16", "--output-tokens", "8", "--concurrency", "4")
SLO = ("--slo", "ttft_ms=200", "--slo-share", "80%")


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    file = tmp_path / "own.toml"
    file.write_text(
        "".join(
            f'[[price]]\nmodel = "tiny"\nprovider = "{name}"\n'
            f"input_usd_per_mtok = {usd}\noutput_usd_per_mtok = {4 * usd}\nas_of = 2026-11-01\n"
            for name, (_, usd) in OFFERS.items()
        )
    )
    return file


@pytest.fixture
def urls(sims: Sims) -> dict[str, str]:
    return {
        name: sims("--ttft", ttft, "--itl", "1ms", "--model", "tiny").url
        for name, (ttft, _) in OFFERS.items()
    }


def measured(cli: Cli, urls: dict[str, str], requests: int) -> None:
    for name, url in urls.items():
        # Of the slow one few show that it is too slow.
        count = min(requests, 100) if name == "slow" else requests
        options = ("--model", "tiny", "--provider", name, "-n", str(count), "--warmup", "2", "--no-check")
        cli("measure", url, *SMALL, *options).ended()


def advised(cli: Cli, prices: Path, *options: str) -> dict[str, Any]:
    found = cli("advise", "--prices", str(prices), *SLO, "--json", "-", *options)
    assert found.code in (0, 1), found.err
    return found.report


def needs_all(document: dict[str, Any]) -> None:
    """A busy machine makes runs invalid, which give no figures."""
    if len(document["offers"]) < len(OFFERS):
        pytest.skip("this machine was too busy to measure all")


def test_the_planted_best_is_named_and_its_routing_is_accepted(
    cli: Cli, urls: dict[str, str], prices: Path, tmp_path: Path
) -> None:
    measured(cli, urls, 400)
    document = advised(cli, prices)
    needs_all(document)
    assert document["best"], document["says"]
    assert document["best"] == {"model": "tiny", "provider": "right", "tier": "standard"}
    status = {one["provider"]: one["status"] for one in document["offers"]}
    assert status == {"slow": "fails", "right": "meets", "dear": "meets"}
    assert document["runner_up"]["provider"] == "dear"
    assert document["binding"][0]["instead"]["provider"] == "slow"

    page, config = tmp_path / "advice.html", tmp_path / "routes.toml"
    done = cli(
        *("advise", "--prices", str(prices), *SLO, "--explain", "--html", str(page)),
        *("--emit", "gateway", "--out", str(config)),
    )
    assert done.code == 0, done.err
    assert done.out.startswith("Take tiny @ right")
    assert all(len(line) <= 80 for line in done.out.splitlines())
    assert "Where each number comes from" in done.out
    assert "Take tiny @ right" in page.read_text()

    offers = read_config(config).config.offers
    assert [one.provider for one in offers] == ["right", "dear"]
    assert [one.base_url for one in offers] == [urls["right"], urls["dear"]]
    assert offers[0].price is not None
    assert offers[0].price.output_usd_per_mtok == pytest.approx(1.6)
    checked = cli("gateway", "check", "--config", str(config), "--json")
    assert checked.code == 0, checked.err
    assert json.loads(checked.out)["ok"]


def test_quality_decides_where_the_cheap_one_is_dull(
    cli: Cli, sims: Sims, prices: Path, tmp_path: Path
) -> None:
    probe = ProbeSpec(families=("products", "spell_backward"), items=80, seed=5)
    answers = write_answers(Items(probe), tmp_path / "answers.jsonl")
    quick = ("--ttft", "2ms", "--itl", "200us", "--model", "tiny", "--answers", str(answers), "--quality")
    for name, quality in (("right", "0.3"), ("dear", "0.95")):
        url = sims(*quick, quality).url
        whose = ("--model", "tiny", "--provider", name, "--no-check")
        families = ("--families", "products,spell_backward", "--seed", "5", "--items", "80")
        cli("capability", "run", url, *families, "-c", "8", *whose).ended()
        cli("measure", url, *SMALL, "-n", "60", *whose).ended()
    lengths = ("--workload", "16 in, 8 out", "--slo", "", "--capability", ">= 0.6")
    done = cli("advise", *lengths, "--prices", str(prices), "--json", "-")
    document = done.report
    if len(document["offers"]) < 2:
        pytest.skip("this machine was too busy to measure both")
    status = {one["provider"]: one["status"] for one in document["offers"]}
    assert status == {"right": "fails", "dear": "meets"}, document["says"]
    assert document["best"]["provider"] == "dear"
    assert [one["instead"]["provider"] for one in document["binding"]] == ["right"]


def test_what_is_missing_is_measured_once_and_then_judged(
    cli: Cli, urls: dict[str, str], prices: Path
) -> None:
    measured(cli, urls, 12)
    before = advised(cli, prices)
    needs_all(before)
    assert before["outcome"] == "not enough data"
    assert before["best"] is None
    refused = cli("advise", "--prices", str(prices), *SLO, "--measure-more")
    assert refused.code == 2
    assert "--yes" in refused.err

    done = cli(
        *("advise", "--prices", str(prices), *SLO, "--json", "-"),
        *("--measure-more", "--max-requests", "90", "--yes"),
    )
    assert done.code in (0, 1), done.err
    after = done.report
    counts = {one["provider"]: len(one["runs"]) for one in after["offers"]}
    assert counts == {"slow": 2, "right": 2, "dear": 2} or "invalid" in done.err
    for one in after["offers"]:
        assert 12 < one["requests"] <= 12 + 90


def test_wrong_questions_are_refused_before_anything_is_read(cli: Cli) -> None:
    for options, word in (
        (("--slo", "tttft_ms=5"), "tttft_ms"),
        (("--slo", "connect_ms=5"), "connect_ms"),
        (("--capability", "0.7"), "--capability"),
        (("--budget", "5/week"), "--budget"),
        (("--error", "200%"), "--error"),
        (("--emit", "nginx"), "--emit"),
        (("--out", "x.toml"), "--emit"),
    ):
        done = cli("advise", *options)
        assert done.code == 2, done.err
        assert word in done.err


def test_an_empty_store_says_what_to_do(cli: Cli) -> None:
    done = cli("advise")
    assert done.code == 1
    assert "paceline measure" in done.out
