from pathlib import Path
from typing import Any

import pytest

from paceline.errors import ConfigError
from paceline.workloads.equivalence import INSTRUCTIONS, EquivalenceSource
from paceline.workloads.jobs import Job
from paceline.workloads.sources import job_source, n_jobs, pinned
from paceline.workloads.spec import WorkloadSpec


def source(**fields: Any) -> EquivalenceSource:
    given = {"prompt_tokens": "30", "unique_prefix": False, "seed": 3, **fields}
    found = job_source(WorkloadSpec.parse(given))
    assert isinstance(found, EquivalenceSource)
    return found


def text(job: Job | None) -> str:
    assert job is not None
    (call,) = job.calls
    piece = call.turns[-1].text[0]
    assert isinstance(piece, str)
    return piece


def test_each_prompt_comes_once_in_each_pass_and_in_one_order() -> None:
    made = source(equivalence={"texts": 200, "passes": 2})
    texts = [text(made.job(place)) for place in range(400)]
    assert texts[:200] == texts[200:]
    assert len(set(texts[:200])) == 200
    assert made.job(400) is None
    assert n_jobs(made) == 400
    assert {one.rsplit("\n\n", 1)[1] for one in texts} == set(INSTRUCTIONS)


def test_the_seed_decides() -> None:
    first, again, other = (source(equivalence={"texts": 9}, seed=seed) for seed in (1, 1, 2))
    assert [text(first.job(k)) for k in range(18)] == [text(again.job(k)) for k in range(18)]
    assert not {text(first.job(k)) for k in range(9)} & {text(other.job(k)) for k in range(9)}


def test_limits_and_the_system_prompt() -> None:
    made = source(equivalence={"texts": 3}, output_tokens="200", max_tokens=150, system="Be brief.")
    job = made.job(0)
    assert job is not None
    assert job.calls[0].output_tokens == 150
    assert [turn.role for turn in job.calls[0].turns] == ["system", "user"]


def test_prompts_of_a_file_and_of_a_probe_come_too(tmp_path: Path) -> None:
    pytest.importorskip("reasoning_gym")
    mine = tmp_path / "mine.txt"
    mine.write_text("one?\ntwo?\nthree?\n")
    data = {"path": str(mine), "on_end": "stop"}
    made = source(data=data, equivalence={"texts": 2, "passes": 2})
    texts = [text(made.job(place)) for place in range(10)]
    assert {"one?", "two?", "three?"} < set(texts)
    assert made.n_prompts == 5
    probe = source(probe={"items": 4, "seed": 1}, equivalence={"texts": 0})
    assert probe.n_jobs == 8
    spec = WorkloadSpec.parse({"probe": {"items": 4, "seed": 1}, "equivalence": {"texts": 0}})
    kept = pinned(spec, probe)
    assert kept.probe is not None
    assert kept.probe.library is not None


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"equivalence": {"texts": 0}}, "no prompt"),
        ({"equivalence": {"texts": 1}, "call": [{"name": "ask"}]}, "stand alone"),
    ],
)
def test_what_cannot_be(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        source(**fields)


def test_a_file_that_begins_again_and_one_of_conversations_are_refused(tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("one?\n")
    with pytest.raises(ConfigError, match="begin again"):
        source(data={"path": str(mine)}, equivalence={"texts": 0})
    talks = tmp_path / "talks.jsonl"
    turns = [{"role": role, "content": "x"} for role in ("user", "assistant", "user")]
    talks.write_text('{"messages": ' + str(turns).replace("'", '"') + "}\n")
    with pytest.raises(ConfigError, match="several calls"):
        source(data={"path": str(talks), "on_end": "stop"}, equivalence={"texts": 0})
