import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from paceline.measure.sim import SimProcess
from paceline.store.runs import list_runs, open_run
from tests.e2e.conftest import SMALL, Cli, Sims


@pytest.fixture(scope="module")
def slow() -> Iterator[SimProcess]:
    """Twice as slow as `sim`."""
    with SimProcess(["--ttft", "40ms", "--itl", "4ms"]) as engine:
        yield engine


def verdicts(document: dict[str, object]) -> dict[str, str]:
    results = document["results"]
    assert isinstance(results, list)
    return {f"{result['metric']} {result['statistic']}": result["verdict"]["outcome"] for result in results}


def test_two_endpoints_are_measured_in_turn(
    cli: Cli, sim: SimProcess, slow: SimProcess, tmp_path: Path
) -> None:
    html = tmp_path / "c.html"
    done = cli(
        "compare", slow.url, sim.url, *SMALL, "-c", "2", "-n", "60", "--name", "pair",
        "--json", "-", "--html", html, "--markdown", tmp_path / "c.md", "--fail-if-slower", "5%",
    )  # fmt: skip
    done.ended()
    document = done.report
    assert document["schema"] == "paceline.comparison/1"
    assert document["interleaved"]
    found = verdicts(document)
    assert found["ttft_ms p50"] == found["e2e_ms p50"] == found["itl_ms p50"] == "faster"
    assert "<html" in html.read_text()
    assert sorted(entry.name or "" for entry in list_runs()) == ["pair-a", "pair-b"]
    assert len(open_run("pair-a").manifest.segments) == len(open_run("pair-b").manifest.segments) >= 5

    # The same two, now as stored runs, the other way round: B is slower.
    again = cli("compare", "pair-b", "pair-a", "--fail-if-slower", "5%")
    assert again.code == 1
    assert "B is slower: TTFT p50" in again.err
    for options in (("pair-b", "pair-a"), ("pair-a", "pair-b", "--fail-if-slower", "5%")):
        assert "B is slower" not in cli("compare", *options).ended().err


def test_one_endpoint_against_itself_is_no_slower(cli: Cli, sim: SimProcess) -> None:
    done = cli(
        "compare", sim.url, sim.url, *SMALL, "-c", "2", "-n", "60", "--json", "-", "--fail-if-slower", "20%"
    )
    done.ended()
    assert verdicts(done.report)["ttft_ms p50"] in ("no difference", "not enough data")
    plans = [open_run(entry.id).plan().column("prompt_sha256").to_pylist() for entry in list_runs()]
    assert not set(plans[0]) & set(plans[1])


def test_two_models_and_two_keys(cli: Cli, sims: Sims, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_A", "sk-a")
    monkeypatch.setenv("KEY_B", "sk-b")
    timing = ("--ttft", "5ms", "--itl", "1ms")
    first = sims("--model", "alpha", "--api-key-env", "KEY_A", *timing)
    second = sims("--model", "beta", "--api-key-env", "KEY_B", *timing)
    done = cli(
        "compare", first.url, second.url, *SMALL, "-n", "10", "-m", "alpha", "--model-b", "beta",
        "--api-key-env", "KEY_A", "--api-key-env-b", "KEY_B", "--json", "-",
    )  # fmt: skip
    done.ended()
    assert [done.report[side]["run"]["model"] for side in "ab"] == ["alpha", "beta"]


def test_the_key_of_one_host_is_not_sent_to_another(
    cli: Cli, sims: Sims, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY_A", "sk-a")
    engine = sims("--api-key-env", "KEY_A", "--ttft", "5ms", "--itl", "1ms")
    # The same machine by another name: neither is asked anything.
    other = engine.url.replace("127.0.0.1", "localhost")
    asked = ("compare", engine.url, other, *SMALL, "-n", "10", "--api-key-env", "KEY_A")
    done = cli(*asked)
    assert done.code == 2
    assert "the key is for 127.0.0.1, and would be sent to localhost too" in done.err
    assert "hint: say what B gets: --api-key-env-b" in done.err
    assert list_runs() == []
    cli(*asked, "--api-key-env-b", "KEY_A").ended()
    assert len(list_runs()) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("latest", "http://127.0.0.1:1"), "of one kind"),
        (("one", "two", "-c", "4"), "as they are"),
        (("one", "two", "--fail-if-slower", "5"), "--fail-if-slower"),
        (("http://127.0.0.1:1", "http://127.0.0.1:1", "--ramp", "1:5", "-d", "10s"), "127.0.0.1:1"),
    ],
)
def test_what_cannot_be_compared(cli: Cli, arguments: tuple[str, ...], words: str) -> None:
    done = cli("compare", *arguments)
    assert done.code == 2
    assert words in done.err
    assert done.out == ""


def test_a_ramp_is_not_interleaved(cli: Cli, sim: SimProcess) -> None:
    done = cli("compare", sim.url, sim.url, "--ramp", "1:5", "-d", "10s")
    assert done.code == 2
    assert "ramp" in done.err
    assert list_runs() == []


def test_failures_of_one_side_make_the_comparison_invalid(cli: Cli, sim: SimProcess, sims: Sims) -> None:
    broken = sims("--fault", "cut:after_events=2", "--ttft", "5ms", "--itl", "1ms")
    done = cli("compare", sim.url, broken.url, *SMALL, "-n", "10", "--no-check", "-m", "truth", "--json", "-")
    assert done.code == 1
    document = json.loads(done.out)
    assert document["b"]["trust"]["verdict"] == "invalid"
