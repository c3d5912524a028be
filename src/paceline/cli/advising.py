"""From the options of `paceline advise` to a board, a query and an advice; a form asks by the same way."""

from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from paceline.errors import ConfigError

if TYPE_CHECKING:
    from paceline.advisor.advise import Advice, AdviceQuery
    from paceline.advisor.board import Board, BoardQuery
    from paceline.advisor.constraints import CapabilityConstraint, Constraint
    from paceline.cli.commands.advise import AskedFlags, EvidenceFlags
    from paceline.workloads.spec import WorkloadSpec


@dataclass(frozen=True)
class Asked:
    """A question that can be asked again when there are more runs.

    workload: a file of the user's, whose limits count in place of those of the runs. looks: how often it will
    be asked; the error is shared among them.
    """

    board: "BoardQuery"
    prices: Path | None
    flags: "AskedFlags"
    looks: int
    workload: "WorkloadSpec | None" = None

    @classmethod
    def of(cls, evidence: "EvidenceFlags", asked: "AskedFlags", *, looks: int, now: datetime) -> "Asked":
        """Raises ConfigError for what cannot be asked, before a run is read."""
        from paceline.advisor.board import BoardQuery
        from paceline.cli.choosing import known_offers
        from paceline.cli.evidence_options import begin_of
        from paceline.cli.moments import parse_moment

        known = known_offers()
        name, workload = _workload(evidence.workload)
        benchmarks = [one.benchmark for one in _capabilities(asked)]
        a_day = evidence.jobs_per_day
        if a_day is None and workload is not None:
            a_day = workload.jobs_per_day
        query = BoardQuery(
            workload=name,
            load=evidence.load,
            since=begin_of(evidence.since, now),
            at=None if evidence.at is None else parse_moment(evidence.at, "--at", now),
            jobs_per_day=a_day,
            known=known,
        )
        if len(benchmarks) == 1 and benchmarks[0] is not None:
            query = replace(query, benchmark=benchmarks[0])
        found = cls(query, evidence.prices, asked, looks, workload)
        found.query(workload)
        return found

    def answer(self) -> "Advice":
        """The advice of what is stored now. Raises StoreError, ConfigError."""
        from paceline.advisor.advise import advise
        from paceline.advisor.board import build_board
        from paceline.advisor.board_workload import workload_of
        from paceline.advisor.capability import capability_of
        from paceline.catalogue.price_book import PriceBook
        from paceline.cli.evidence_options import watch
        from paceline.store.paths import home

        prices = PriceBook.load(home(), self.prices, self.board.known)
        board = build_board(self.board, prices, watch=watch)
        workload = self.workload or workload_of(board)
        query = self.query(workload)
        _check_days(query, board)
        return advise(
            board,
            query,
            capability=lambda key, benchmark: capability_of(
                board.scores, key, benchmark or board.query.benchmark
            ),
        )

    def query(self, workload: "WorkloadSpec | None") -> "AdviceQuery":
        """What is asked, with the workload's own limits where nothing else is said. Raises ConfigError."""
        from paceline.advisor.advise import AdviceQuery
        from paceline.advisor.constraints import (
            SuccessConstraint,
            parse_budget,
            parse_slos,
            slo_constraints,
        )
        from paceline.units import parse_percentage

        flags = self.flags
        share = _between(parse_percentage(flags.slo_share, "--slo-share"), "--slo-share")
        constraints: list[Constraint] = []
        if flags.slo is not None:
            constraints += parse_slos(flags.slo, share)
        elif workload is not None:
            constraints += slo_constraints(workload.slo, workload.job_slo, share)
        constraints += _capabilities(flags)
        constraints += [parse_budget(text) for text in flags.budget or ()]
        if flags.success is not None:
            constraints.append(
                SuccessConstraint(_between(parse_percentage(flags.success, "--success"), "--success"))
            )
        worth = flags.worth
        if worth is None and workload is not None:
            worth = workload.worth_usd_per_hour
        error = _between(parse_percentage(flags.error, "--error"), "--error")
        return AdviceQuery(tuple(constraints), worth or None, error=error / self.looks)


def _workload(asked: str | None) -> "tuple[str | None, WorkloadSpec | None]":
    """The name that runs have it by; of a file also what it says now."""
    if asked is None or not asked.endswith(".toml"):
        return asked, None
    from paceline.workloads.files import load_workload

    spec = load_workload(asked)
    return spec.name, spec


def _capabilities(flags: "AskedFlags") -> "list[CapabilityConstraint]":
    from paceline.advisor.constraints import parse_capability

    return [parse_capability(text) for text in flags.capability or ()]


def _check_days(query: "AdviceQuery", board: "Board") -> None:
    from paceline.advisor.constraints import BudgetConstraint

    a_day = any(isinstance(one, BudgetConstraint) and one.per != "job" for one in query.constraints)
    if a_day and board.rows and all(row.bill.jobs_per_day is None for row in board.rows):
        raise ConfigError(
            "--budget a day or month needs the number of jobs a day",
            "add --jobs-per-day, as in --jobs-per-day 2000",
        )


def _between(share: float, option: str) -> float:
    if not 0.0 < share < 1.0:
        raise ConfigError(f"{option}: it must lie between 0% and 100%", f"for example {option} 95%")
    return share
