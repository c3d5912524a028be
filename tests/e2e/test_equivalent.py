"""`paceline equivalent` against servers whose answers are known."""

import json
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from paceline.measure.sim import SimProcess
from paceline.store.runs import list_runs, open_run
from paceline.workloads.capability.items import Items
from paceline.workloads.capability.spec import ProbeSpec
from tests.e2e.conftest import Cli, Sims, spawn
from tests.e2e.test_interrupted import wait_for_rows
from tests.support.answers import write_answers
from tests.support.fake_server import Answer, FakeServer, error, good, serving, stream
from tests.support.twins import Model

FEW = ("--items", "0", "-c", "4", "--output-tokens", "12", "--prompt-tokens", "40", "--json", "-")


@pytest.fixture(scope="module")
def fast() -> Iterator[SimProcess]:
    """As `sim`, and says the same, in half of the time."""
    with SimProcess(["--ttft", "10ms", "--itl", "1ms"]) as engine:
        yield engine


class Server(FakeServer):
    """Answers by a model, in one piece of a stream each word."""

    def __init__(self, model: Model, seed: int = 1) -> None:
        super().__init__()
        self.model = model
        self.chance = Random(seed)
        self.lock = threading.Lock()
        self.on_post = self.answer

    def answer(self, body: dict[str, Any]) -> Answer:
        if body.get("max_tokens") == 1:
            return good(body)
        with self.lock:
            text = self.model.say(body["messages"][-1]["content"], self.chance)
        words = [f"{word} " for word in text.split()]
        events: list[Any] = [
            {"model": body["model"], "choices": [{"delta": {"content": word}}]} for word in words
        ]
        events.append({"model": body["model"], "choices": [{"delta": {}, "finish_reason": "stop"}]})
        return stream(*events)


def test_a_faster_tier_that_is_the_same_model(
    cli: Cli, sim: SimProcess, fast: SimProcess, tmp_path: Path
) -> None:
    done = cli(
        *("equivalent", sim.url, fast.url, *FEW, "--prompts", "40", "--name", "tiers"),
        *("--html", tmp_path / "e.html", "--markdown", tmp_path / "e.md"),
    ).ended()
    found = done.report
    assert found["schema"] == "paceline.equivalence/1"
    assert found["verdict"]["outcome"] == "same"
    assert found["compared"] == found["prompts"] == 40
    assert [found["texts"][pair]["value"] for pair in ("a", "b", "ab")] == [1.0, 1.0, 1.0]
    assert "SAME" in done.err
    assert (tmp_path / "e.md").read_text().startswith("# Are A and B the same model?\n\n**SAME**")
    assert "Same answers; B&#39;s" in (tmp_path / "e.html").read_text()
    # Exactly half: 20 and 2 ms against 10 and 1.
    ratio = {one["metric"]: one["ratio"]["value"] for one in found["speed"]}
    assert ratio["output_tok_s"] == pytest.approx(2.0, rel=0.15)

    # The runs are ordinary ones, each prompt in them twice, and the store gives the same again.
    for name in ("tiers-a", "tiers-b"):
        run = open_run(name)
        hashes = run.plan()["prompt_sha256"].to_pylist()
        assert set(Counter(hashes).values()) == {2}
        assert hashes[:40] == hashes[40:]
        assert run.manifest.workload["temperature"] == 0.0
    again = cli("equivalent", "tiers-a", "tiers-b", "--json", "-").ended()
    assert again.report == found


def test_other_weights_are_different(cli: Cli, sim: SimProcess, sims: Sims) -> None:
    other = sims("--ttft", "5ms", "--itl", "1ms", "--seed", "7")
    asked = ("equivalent", sim.url, other.url, *FEW, "--prompts", "12", "--name", "two")
    done = cli(*asked).ended()
    found = done.report
    assert done.code == 0
    assert found["verdict"]["outcome"] == "different"
    assert found["texts"]["a"]["value"] == found["texts"]["b"]["value"] == 1.0
    assert found["texts"]["ab"]["value"] == 0.0
    example = found["examples"][0]
    assert example["a"][: example["at"]] == example["b"][: example["at"]]
    assert example["a"] != example["b"]
    assert example["prompt"] is not None
    assert cli("equivalent", "two-a", "two-b", "--fail-if-different").code == 1


def test_a_noisy_server_is_not_told_from_itself_and_a_drifted_model_is(cli: Cli) -> None:
    noisy, drifted = Model(flips=0.01), Model(flips=0.01, other=0.5)
    with serving(Server(noisy, 1)) as a, serving(Server(noisy, 2)) as b, serving(Server(drifted, 3)) as c:
        same = cli("equivalent", a.url, b.url, "-m", "tiny", *FEW, "--prompts", "40").ended().report
        other = cli("equivalent", a.url, c.url, "-m", "tiny", *FEW, "--prompts", "40").ended().report
    assert same["verdict"]["outcome"] != "different"
    assert same["texts"]["a"]["value"] < 1.0
    assert other["verdict"]["outcome"] == "different"


def test_a_tier_of_one_url_is_another_body(cli: Cli) -> None:
    with serving(FakeServer()) as server:
        done = cli(
            *("equivalent", server.url, server.url, "-m", "tiny", *FEW, "--prompts", "4", "--name", "tier"),
            *(
                "--extra-body",
                '{"service_tier": "default"}',
                "--extra-body-b",
                '{"service_tier": "priority"}',
            ),
        ).ended()
        tiers = Counter(body.get("service_tier") for body in server.bodies)
    assert tiers["default"] == tiers["priority"] == 9
    assert done.report["b"]["extra"] == {"service_tier": "priority"}
    assert any("one host" in note for note in done.report["notes"])
    assert done.report["verdict"]["outcome"] == "not enough data"


def test_one_side_that_answers_nothing(cli: Cli) -> None:
    def nothing(body: dict[str, Any]) -> Answer:
        if body.get("max_tokens") == 1:
            return good(body)
        return stream({"choices": [{"delta": {"content": ""}, "finish_reason": "stop"}]})

    with serving(FakeServer()) as a, serving(FakeServer(on_post=nothing)) as b:
        done = cli("equivalent", a.url, b.url, "-m", "tiny", *FEW, "--prompts", "12")
    assert done.code == 1
    found = json.loads(done.out)
    assert found["b"]["by_kind"]["empty"] == 24
    assert found["verdict"]["outcome"] == "different"
    assert "B leaves 12 prompts unanswered" in found["verdict"]["reasons"][0]
    assert any("run B is invalid" in note for note in found["notes"])


def test_one_side_that_dies_between_the_passes(cli: Cli) -> None:
    told = Counter[str]()

    def dies(body: dict[str, Any]) -> Answer:
        told["asked"] += 1
        return good(body) if told["asked"] <= 13 else error(503, "gone")

    with serving(FakeServer()) as a, serving(FakeServer(on_post=dies)) as b:
        done = cli("equivalent", a.url, b.url, "-m", "tiny", *FEW, "--prompts", "12")
    assert done.code == 1
    found = json.loads(done.out)
    assert found["verdict"]["outcome"] == "not enough data"
    assert found["b"]["by_failure"] == {"http_error": 12}
    assert found["compared"] == 0


def test_one_side_that_streams_garbage(cli: Cli) -> None:
    def garbage(body: dict[str, Any]) -> Answer:
        if body.get("max_tokens") == 1:
            return good(body)
        return stream("{not json", {"choices": "none"}, done=False)

    with serving(FakeServer()) as a, serving(FakeServer(on_post=garbage)) as b:
        done = cli("equivalent", a.url, b.url, "-m", "tiny", *FEW, "--prompts", "6")
    assert done.code == 1
    found = json.loads(done.out)
    assert found["verdict"]["outcome"] == "not enough data"
    assert found["b"]["by_kind"]["answered"] == 0


def test_texts_that_would_steer_a_terminal_or_a_page(cli: Cli, tmp_path: Path) -> None:
    def nasty(body: dict[str, Any]) -> Answer:
        text = "\x1b[2J</script><script>alert(1)</script>" + body["messages"][-1]["content"][:9]
        return stream(
            {"model": "<b>\x1b[31m", "choices": [{"delta": {"content": text}, "finish_reason": "stop"}]}
        )

    html = tmp_path / "e.html"
    with serving(FakeServer()) as a, serving(FakeServer(on_post=nasty)) as b:
        asked = ("equivalent", a.url, b.url, "-m", "tiny", *FEW[:-2], "--prompts", "5", "--name", "bad")
        done = cli(*asked, "--html", html).ended()
    assert "\x1b" not in done.out + done.err
    assert "<script>alert(1)" not in html.read_text()
    assert "<b>" not in html.read_text()


def test_a_model_that_refuses_the_temperature(cli: Cli) -> None:
    def refuses(body: dict[str, Any]) -> Answer:
        if "temperature" in body:
            return error(400, "Unsupported parameter: 'temperature'", param="temperature")
        return good(body)

    with serving(FakeServer(on_post=refuses)) as server:
        asked = ("equivalent", server.url, server.url, "-m", "tiny", *FEW, "--prompts", "5")
        done = cli(*asked)
        assert done.code == 2
        assert "hint: send none, to both: --temperature none" in done.err
        assert list_runs() == []
        done = cli(*asked, "--temperature", "none").ended()
    assert any("no temperature was sent" in note for note in done.report["notes"])


def test_scores_of_nine_and_seven_in_ten(cli: Cli, sims: Sims, tmp_path: Path) -> None:
    known = write_answers(Items(ProbeSpec(items=150, seed=5)), tmp_path / "answers.jsonl")
    engine = ("--ttft", "1ms", "--itl", "50us", "--output-tokens", "40", "--answers", str(known))
    # Of two engines with one seed the better one gets right all that the worse one does.
    good, bad = sims(*engine, "--quality", "0.9"), sims(*engine, "--quality", "0.7")
    asked = ("--prompts", "150", "--items", "150", "--seed", "5", "-c", "8", "--json", "-")
    done = cli("equivalent", good.url, bad.url, *asked, "--score-margin", "5%", "--name", "quality").ended()
    found = done.report["scores"]
    assert found["n"] == 150
    assert abs(found["a"]["value"] - 0.9) < 0.08
    assert abs(found["b"]["value"] - 0.7) < 0.12
    assert found["only_b"] == 0
    assert found["difference"]["value"] == pytest.approx(-found["only_a"] / 150)
    assert found["p_value"] == pytest.approx(2 * 0.5 ** found["only_a"])
    findings = done.report["verdict"]["findings"]
    assert findings["scores"]["outcome"] == findings["texts"]["outcome"] == "different"
    # The answers differ exactly where one solves what the other does not.
    assert 1.0 - done.report["texts"]["ab"]["value"] == pytest.approx(found["only_a"] / 150)
    # It is no probe of capability, which asks each problem once.
    assert cli("capability", "score", "quality-a").code == 2


def test_your_own_prompts(cli: Cli, sim: SimProcess, fast: SimProcess, tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("\n".join(f"What is {n} times {n}?" for n in range(7)))
    done = cli("equivalent", sim.url, fast.url, *FEW[2:], "--data", mine).ended()
    assert done.report["prompts"] == done.report["compared"] == 7


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--items", "9", "--prompts", "4"), "--items 9 is more than"),
        (("--temperature", "warm"), "--temperature warm is no number"),
        (("--margin", "5"), "--margin"),
        (("--data-column", "x"), "--data"),
        (("--extra-body-b", "{"), "--extra-body"),
        (("--extra-body", '{"n": 2}'), "cannot be measured"),
        (("--name", "latest "), None),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_asked(
    cli: Cli, options: tuple[str, ...], words: str | None
) -> None:
    done = cli("equivalent", "http://127.0.0.1:1", "http://127.0.0.1:1", *options)
    assert done.code == 2
    if words is not None:
        assert words in done.err
    assert list_runs() == []


def test_broken_off_it_says_what_there_is(sim: SimProcess) -> None:
    long = ("--items", "0", "--prompts", "300", "--output-tokens", "32")
    process = spawn("equivalent", sim.url, sim.url, *long, "--name", "cut")
    wait_for_rows(process, 1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert "interrupted" in err
    assert "Traceback" not in err
    assert "error:" not in err
    assert process.returncode in (0, 1)
    assert "NOT ENOUGH DATA" in out or "nothing to judge" in err
    assert {open_run(entry.id).state for entry in list_runs()} == {"interrupted"}


def test_stored_runs_that_cannot_be_compared(cli: Cli, sim: SimProcess) -> None:
    few = ("--prompt-tokens", "16", "--output-tokens", "4", "-n", "6")
    for name, more in (
        ("one", ()),
        ("two", ()),
        ("mute", ("--no-text", "--salt", "5")),
        ("five", ("--salt", "5")),
        ("again", ("--salt", "5")),
    ):
        cli("measure", sim.url, *few, "--name", name, *more).ended()
    for pair, words in (
        (("one", "two"), "no prompt in common"),
        (("five", "mute"), "--no-text"),
        (("one", sim.url), "of one kind"),
        (("one", "nobody"), "nobody"),
    ):
        done = cli("equivalent", *pair)
        assert done.code == 2
        assert words in done.err
    assert "options of prompts" in cli("equivalent", "one", "two", "--prompts", "5").err
    # The same is said, though each prompt was asked once, and six are too few.
    done = cli("equivalent", "five", "again", "--json", "-").ended()
    assert done.report["asked_once"]
    assert done.report["verdict"]["outcome"] == "not enough data"
