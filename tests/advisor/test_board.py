"""Boards of planted runs."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from paceline.advisor.board import Board, BoardQuery, board_of, build_board
from paceline.advisor.digests import AllDigests, Problem
from paceline.advisor.figures import FIGURES
from paceline.advisor.identity import KnownOffer, OfferKey
from paceline.catalogue.price import Price, PriceUnknown, Rates
from paceline.catalogue.price_book import PriceBook
from paceline.errors import ConfigError
from tests.advisor.samples import STARTED_AT, digest
from tests.report.samples import WORKLOAD, store
from tests.support.rows import lognormal_rows


class Prices(PriceBook):
    """Of models whose price is given, USD for a million tokens out."""

    def __init__(self, prices: Mapping[str, float]) -> None:
        super().__init__(None, Path("prices.toml"))
        object.__setattr__(self, "prices", prices)
        object.__setattr__(self, "asked", [])

    def price(self, key: Any, *asked: Any) -> Price | PriceUnknown:
        self.asked.append((key, *asked))  # type: ignore[attr-defined]
        usd = self.prices.get(key.model)  # type: ignore[attr-defined]
        if usd is None:
            return PriceUnknown("nobody knows", "state it")
        return Price("tokens", Rates(0.0, usd), "test", date(2026, 11, 30))


def board(
    *runs: Any, prices: Mapping[str, float] | None = None, at: Path = Path("/nowhere"), **asked: Any
) -> Board:
    return board_of(AllDigests(runs, ()), BoardQuery(**asked), Prices(prices or {}), at=at)


def names(one: Board) -> list[str]:
    return [str(row.key) for row in one.rows]


def run(model: str, ttft_ms: float = 200.0, n: int = 100, **fields: Any) -> Any:
    sample = {"ttft_ms": ttft_ms, **fields.pop("sample", {})}
    return digest(n, run_id=f"20261130-070000-{model}", model=model, sample=sample, **fields)


def test_offers_side_by_side_the_fastest_first() -> None:
    one = board(run("slow", 300.0), run("fast", 100.0), run("fast", 120.0, started_at=STARTED_AT))
    assert names(one) == ["fast @ acme", "slow @ acme"]
    assert (one.workload, one.load, one.runs, one.requests) == ("chat", "closed 8", 3, 300)
    assert one.rows[1].figures["ttft_p50_ms"].value == 300.0
    assert all(list(row.figures) == list(FIGURES) for row in one.rows)
    assert one.elsewhere == ()
    assert one.problems == ()


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("ttft_p50_ms", ["a", "b", "c"]),
        ("output_tok_s", ["b", "a", "c"]),
        ("usd_per_job", ["c", "a", "b"]),
        ("tok_s_per_usd", ["c", "a", "b"]),
    ],
)
def test_sorted_by_any_figure_its_best_first_and_unknown_ones_last(sort: str, order: list[str]) -> None:
    one = board(
        run("b", 200.0, sample={"output_tok_s": 90.0}),
        run("a", 100.0, sample={"output_tok_s": 60.0}),
        run("c", 300.0, sample={"output_tok_s": 30.0}),
        prices={"a": 9.0, "c": 1.0},
        sort=sort,
    )
    assert [row.key.model for row in one.rows] == order


def test_a_figure_that_there_is_none_of_is_refused() -> None:
    with pytest.raises(ConfigError, match="no figure 'ttft'") as error:
        board(run("a"), sort="ttft")
    assert "ttft_p50_ms" in str(error.value.hint)


def test_the_board_is_of_the_workload_and_load_that_most_offers_have() -> None:
    one = board(
        run("a"),
        run("b"),
        run("a", load="closed 64", n=900),
        run("c", workload="voice", workload_key="voice"),
    )
    assert (one.workload, one.load) == ("chat", "closed 8")
    assert names(one) == ["a @ acme", "b @ acme"]
    assert [(each.workload, each.load, each.offers, each.requests) for each in one.choices] == [
        ("chat", "closed 8", 2, 200),
        ("chat", "closed 64", 1, 900),
        ("voice", "closed 8", 1, 100),
    ]
    # `a` is on the board: only `c` cannot be held against it.
    assert [(str(each.key), each.workload) for each in one.elsewhere] == [("c @ acme", "voice")]


def test_another_workload_or_load_may_be_asked_for() -> None:
    runs = [run("a"), run("b"), run("a", load="closed 64"), run("c", workload="voice", workload_key="v1")]
    assert names(board(*runs, load="closed 64")) == ["a @ acme"]
    assert names(board(*runs, workload="voice")) == ["c @ acme"]
    assert names(board(*runs, workload="v1")) == ["c @ acme"]
    with pytest.raises(ConfigError, match="workload 'chatt'") as error:
        board(*runs, workload="chatt")
    assert error.value.hint == "did you mean chat?"
    with pytest.raises(ConfigError, match="load 'closed 64'") as error:
        board(*runs, workload="voice", load="closed 64")


def test_live_traffic_is_a_choice_like_another() -> None:
    live: dict[str, Any] = {"workload": "live", "workload_key": "live", "load": "live", "live_offer": "own"}
    one = board(run("a", **live, state="running"), workload="live")
    assert names(one) == ["a @ acme"]
    assert one.rows[0].marks == ("live", "running")


def test_marks_say_what_is_to_be_known() -> None:
    one = board(run("a", verdict="suspect"), run("b", approximate=True), run("c"))
    assert {row.key.model: row.marks for row in one.rows} == {
        "a": ("suspect",),
        "b": ("approximate",),
        "c": (),
    }
    assert one.rows[0].evidence.suspect == ("20261130-070000-a",)


def test_nothing_is_left_out_in_silence() -> None:
    one = board_of(
        AllDigests(
            (
                run("good"),
                run("bad", verdict="invalid", reasons=("the client was too slow",)),
                run("none", attempted=0, ok=0),
                run("begun", attempted=0, ok=0, state="running"),
            ),
            (Problem("20261101-000000-xxxx", "its run.json cannot be read: put it right"),),
        ),
        BoardQuery(),
        Prices({}),
        at=Path("/nowhere"),
    )
    assert names(one) == ["good @ acme"]
    said = {each.run_id: each.text for each in one.problems}
    assert said == {
        "20261101-000000-xxxx": "its run.json cannot be read: put it right",
        "20261130-070000-bad": "bad @ acme: invalid: the client was too slow "
        "(paceline runs show 20261130-070000-bad)",
        "20261130-070000-none": "none @ acme: no request was measured, warm-up apart: measure it again",
        "20261130-070000-begun": "begun @ acme: no request was measured, warm-up apart: it still goes on",
    }


def test_runs_from_before_are_left_out_when_asked() -> None:
    old = run("old", started_at=STARTED_AT - timedelta(days=40))
    assert names(board(old, run("new"), since=STARTED_AT - timedelta(days=30))) == ["new @ acme"]
    nothing = board(old, since=STARTED_AT)
    assert (nothing.rows, nothing.choices, nothing.workload) == ((), (), None)


def test_prices_are_of_the_day_that_is_asked_for_and_of_the_users_own_offer() -> None:
    own = KnownOffer(
        "own", OfferKey("a", "Own"), "http://127.0.0.1:9000/v1", "a", {}, {"input_usd_per_mtok": 1.0}
    )
    prices, day = Prices({"a": 10.0}), datetime(2026, 6, 1, tzinfo=UTC)
    runs = (run("a", provider=None, extra={"top_p": 1}),)
    one = board_of(AllDigests(runs, ()), BoardQuery(known=(own,), at=day), prices, at=Path("/nowhere"))
    assert str(one.rows[0].key) == "a @ Own"
    assert prices.asked == [  # type: ignore[attr-defined]
        (own.key, "http://127.0.0.1:9000/v1", "a", {"top_p": 1}, {"input_usd_per_mtok": 1.0}, day)
    ]
    # 100 tokens at 10 USD a million.
    assert one.rows[0].figures["usd_per_job"].value == pytest.approx(0.001)


def test_jobs_a_day_make_bills_a_day_and_a_month() -> None:
    bill = board(run("a"), prices={"a": 10.0}, jobs_per_day=1000.0).rows[0].bill
    assert bill.usd_per_day is not None
    assert bill.usd_per_month is not None
    assert bill.usd_per_day.value == pytest.approx(1.0)
    assert bill.usd_per_month.value == pytest.approx(30.0)


def test_jobs_a_day_are_those_of_the_latest_workload_that_says_so() -> None:
    earlier, later = STARTED_AT - timedelta(days=1), STARTED_AT
    runs = [
        run("a", started_at=later, jobs_per_day=5000.0),
        run("b", started_at=earlier, jobs_per_day=10.0),
        run("c", started_at=later + timedelta(days=1)),
    ]
    assert board(*runs).query.jobs_per_day == 5000.0
    assert {row.bill.jobs_per_day for row in board(*runs).rows} == {5000.0}
    assert board(*runs, jobs_per_day=7.0).query.jobs_per_day == 7.0


def test_capability_is_of_the_offers_own_probe_which_is_a_workload_of_its_own() -> None:
    scores = {
        "schema": "paceline.capability/1",
        "version": "1",
        "seed": 7,
        "at": "2026-11-30T07:00:00+00:00",
        "total": {"n": 40, "solved": 30},
        "families": {"sums": {"solved": 15, "n": 20}, "words": {"solved": 15, "n": 20}},
        "asked": {},
    }
    probe = run("a", n=40, workload="capability", workload_key="probe", capability=scores)
    one = board(run("a"), run("b"), probe)
    found = {row.key.model: row.figures["capability"] for row in one.rows}
    assert found["a"].value == 0.75
    assert found["a"].known
    assert found["b"].value is None
    assert "paceline capability" in str(found["b"].note)
    assert ("capability", 1) in [(each.workload, each.offers) for each in one.choices]


def test_damaged_scores_are_a_problem(tmp_path: Path) -> None:
    (tmp_path / "scores").mkdir()
    (tmp_path / "scores" / "x.json").write_text("{")
    one = board(run("a"), at=tmp_path)
    assert [each.run_id for each in one.problems] == [""]
    assert "x.json" in one.problems[0].text


def test_published_claims_stand_apart() -> None:
    one = board(run("gpt-oss-120b"))
    assert len(one.rows) == 1
    claim = next(each for each in one.published if each.model == "gpt-oss-120b")
    assert (claim.output_tok_s, claim.qualifier) == (306, "effort high")
    assert all(each.source and each.as_of for each in one.published)


def test_an_empty_store_has_an_empty_board(tmp_path: Path) -> None:
    one = build_board(BoardQuery(workload="chat"), Prices({}), at=tmp_path)
    assert (one.rows, one.elsewhere, one.problems, one.choices) == ((), (), (), ())
    assert one.workload == "chat"
    assert one.published


def test_from_stored_runs(tmp_path: Path) -> None:
    """Two offers whose truth is planted: intervals hold it, and tell them apart."""
    for seed, (model, ttft_ms, itl_ms) in enumerate((("a", 200.0, 20.0), ("b", 320.0, 5.0))):
        store(
            tmp_path,
            lognormal_rows(420, seed, ttft_ms=ttft_ms, itl_ms=itl_ms, warmup=20),
            model=model,
            offer={"provider": "acme", "tier": "standard"},
            workload={**WORKLOAD, "name": "chat"},
        )
    one = build_board(BoardQuery(), Prices({"a": 10.0}), at=tmp_path)
    assert names(one) == ["a @ acme", "b @ acme"]
    for row, truth_ms in zip(one.rows, (200.0, 320.0), strict=True):
        figure = row.figures["ttft_p50_ms"]
        assert figure.lo is not None
        assert figure.hi is not None
        assert figure.lo < truth_ms < figure.hi
        assert figure.n == 400
    # 32 tokens at 10 USD a million.
    assert one.rows[0].figures["usd_per_job"].value == pytest.approx(0.00032)
    assert (one.requests, one.runs) == (800, 2)
