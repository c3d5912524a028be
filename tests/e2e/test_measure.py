import json
from pathlib import Path
from typing import Any

import pytest

from paceline.measure.sim import SimProcess
from paceline.store.runs import open_run
from tests.e2e.conftest import SMALL, Cli, Sims


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (("-c", "4", "-n", "20"), "closed"),
        (("--rate", "60", "--arrival", "constant", "-n", "20"), "constant"),
        (("--rate", "60", "-n", "20"), "poisson"),
        (("--rate", "60", "--burstiness", "0.5", "-n", "20"), "gamma"),
        (("--ramp", "10:80", "-d", "600ms"), "ramp"),
        (("--rate", "200", "-c", "2", "-n", "20"), "poisson"),
    ],
)
def test_each_arrival_process(cli: Cli, sim: SimProcess, arguments: tuple[str, ...], kind: str) -> None:
    done = cli("measure", sim.url, *SMALL, *arguments, "--json", "-")
    done.ended()
    report = done.report
    assert report["schema"] == "paceline.report/1"
    assert report["run"]["workload"]["load"]["arrival"]["kind"] == kind
    outcomes = report["outcomes"]
    assert outcomes["ok"] == outcomes["attempted"] > 5
    if kind != "ramp":
        assert outcomes["attempted"] == 20
    # How exact they are is test_golden's matter; a busy machine may make the engine late, never early.
    assert report["metrics"]["ttft_ms"]["p50"]["value"] > 19.9
    assert report["metrics"]["e2e_ms"]["p50"]["value"] > 33.9
    assert report["tokens"]["completion"] == 8 * outcomes["ok"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--protocol", "completions"),
        ("--no-stream",),
        ("--no-stream", "--protocol", "completions"),
        ("--new-connections",),
        ("--no-text",),
        ("--tokenizer", "words"),
        ("--shared-prefix", "32"),
        ("--max-tokens", "5"),
    ],
)
def test_each_kind_of_request(cli: Cli, sim: SimProcess, arguments: tuple[str, ...]) -> None:
    done = cli("measure", sim.url, *SMALL, *arguments, "-c", "2", "-n", "8", "--json", "-")
    done.ended()
    assert done.report["outcomes"] == {"attempted": 8, "ok": 8, "by_outcome": {"ok": 8}}
    rows = open_run("latest").rows().to_pylist()
    tokens = 5 if "--max-tokens" in arguments else 8
    assert {row["completion_tokens"] for row in rows} == {tokens}
    assert {row["streaming"] for row in rows} == {"--no-stream" not in arguments}
    if "--new-connections" in arguments:
        assert not any(row["connection_reused"] for row in rows)
        assert all(row["connect_ns"] is not None for row in rows)
    assert (rows[0]["text"] == "") == ("--no-text" in arguments)


def test_warmup_is_sent_and_left_out(cli: Cli, sim: SimProcess) -> None:
    done = cli("measure", sim.url, *SMALL, "-c", "2", "-n", "6", "--warmup", "4", "--json", "-")
    assert done.report["outcomes"]["attempted"] == 6
    phases = open_run("latest").rows().column("phase").to_pylist()
    assert (phases.count("measure"), phases.count("warmup")) == (6, 4)


def test_every_format_comes_from_one_run(cli: Cli, sim: SimProcess, tmp_path: Path) -> None:
    paths = {option: tmp_path / f"r.{option[2:]}" for option in ("--json", "--html", "--markdown", "--csv")}
    files = [part for option, path in paths.items() for part in (option, str(path))]
    done = cli(
        "measure", sim.url, *SMALL, "-c", "2", "-n", "12", "--name", "first", "--slo", "ttft_ms=500", *files
    )
    done.ended()
    report: dict[str, Any] = json.loads(paths["--json"].read_text())
    assert report["throughput"]["goodput_requests_s"] > 0
    assert report["run"]["id"] in done.out
    assert (
        "closed loop of 2 in flight; 12 requests\n  prompts of about 16 tokens, answers of 8 tokens"
        in done.err
    )
    assert "<html" in paths["--html"].read_text()
    assert "TTFT" in paths["--markdown"].read_text()
    assert len(paths["--csv"].read_text().splitlines()) == 13
    shown = cli("runs", "show", "first", "--json", "-")
    assert shown.report["metrics"] == report["metrics"]
    # Nothing half written lies about.
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == sorted(
        path.name for path in paths.values()
    )


def test_the_same_seed_and_salt_ask_the_same(cli: Cli, sim: SimProcess) -> None:
    hashes = []
    for options in (("--seed", "7", "--salt", "3"), ("--seed", "7", "--salt", "3"), ("--seed", "7")):
        cli("measure", sim.url, *SMALL, "-n", "3", *options)
        hashes.append(open_run("latest").plan().column("prompt_sha256").to_pylist())
    assert hashes[0] == hashes[1] != hashes[2]


def test_reasoning_and_tool_calls_are_tokens(cli: Cli, sims: Sims) -> None:
    special = ("--output-tokens", "16", "--reasoning-tokens", "4", "--tool-tokens", "4")
    engine = sims("--ttft", "10ms", "--itl", "2ms", *special)
    done = cli("measure", engine.url, "--max-tokens", "16", "-n", "4", "--json", "-")
    done.ended()
    metrics = done.report["metrics"]
    gap = metrics["ttfat_ms"]["p50"]["value"] - metrics["ttft_ms"]["p50"]["value"]
    assert gap > 0
    kinds = open_run("latest").rows().column("event_kind").to_pylist()[0]
    assert kinds == [2] * 4 + [1] * 8 + [4] * 4


def test_a_key_reaches_the_endpoint_and_no_record(
    cli: Cli, sims: Sims, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    monkeypatch.setenv("SECRET_OF_TEST", "sk-very-secret-17")
    engine = sims("--api-key-env", "SECRET_OF_TEST", "--ttft", "5ms", "--itl", "1ms")
    done = cli(
        "measure",
        engine.url,
        *SMALL,
        "-n",
        "4",
        "--api-key-env",
        "SECRET_OF_TEST",
        "-H",
        "x-other: hidden-42",
    )
    done.ended()
    everything = done.out + done.err
    for path in home.rglob("*"):
        if path.is_file():
            everything += path.read_bytes().decode("latin-1")
    assert "sk-very-secret-17" not in everything
    assert "hidden-42" not in everything
