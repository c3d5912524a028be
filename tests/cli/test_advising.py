from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from paceline.advisor.advise import AdviceQuery
from paceline.cli.advising import Asked
from paceline.cli.commands.advise import AskedFlags, EvidenceFlags
from paceline.errors import PacelineError
from paceline.workloads.files import load_workload

NOW = datetime(2026, 11, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACELINE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def asked(evidence: EvidenceFlags | None = None, *, looks: int = 1, **flags: Any) -> Asked:
    return Asked.of(
        evidence or EvidenceFlags(),
        replace(AskedFlags(), **flags),
        looks=looks,
        now=NOW,
    )


def names(query: AdviceQuery) -> list[str]:
    return [one.name for one in query.constraints]


def test_what_is_not_said_is_as_the_workload_has_it() -> None:
    chat = load_workload("chat").model_copy(update={"worth_usd_per_hour": 60.0})
    query = asked().query(chat)
    assert names(query) == ["ttft_ms=1000,tpot_ms=189"]
    assert query.worth_usd_per_hour == 60.0
    assert names(asked().query(load_workload("agent"))) == ["job_ms=300000"]
    assert asked().query(None).constraints == ()


def test_what_is_said_goes_before_it() -> None:
    chat = load_workload("chat").model_copy(update={"worth_usd_per_hour": 60.0})
    query = asked(
        slo="e2e_ms=9000",
        slo_share="90%",
        capability=[">= 0.7", "gpqa >= 0.5"],
        budget=["0.01/job"],
        success="99%",
        worth=0.0,
    ).query(chat)
    assert names(query) == [
        "e2e_ms=9000", "capability >= 0.7", "gpqa >= 0.5", "0.01 USD/job", "success >= 0.99",
    ]  # fmt: skip
    assert query.worth_usd_per_hour is None
    assert asked(slo="").query(chat).constraints == ()


def test_two_looks_share_the_error() -> None:
    assert asked(looks=2).query(None).error == 0.025
    assert asked(looks=2, error="1%").query(None).error == 0.005


def test_one_benchmark_is_the_boards() -> None:
    assert asked(capability=["gpqa >= 0.5"]).board.benchmark == "gpqa"
    assert asked(capability=["gpqa >= 0.5", ">= 0.7"]).board.benchmark == "probe"


def test_a_workload_file_names_the_runs_and_says_its_own_limits(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('schema = "paceline.workload/1"\nname = "own"\n[slo]\nttft_ms = 400\n')
    found = asked(EvidenceFlags(workload=str(file)))
    assert found.board.workload == "own"
    assert found.workload is not None
    assert names(found.query(found.workload)) == ["ttft_ms=400"]


@pytest.mark.parametrize(
    "flags", [{"slo_share": "100%"}, {"error": "0%"}, {"success": "0.5"}, {"budget": ["1"]}, {"slo": "x=1"}]
)
def test_wrong_questions_are_refused(flags: dict[str, Any]) -> None:
    with pytest.raises(PacelineError) as caught:
        asked(**flags)
    assert caught.value.exit_code == 2
