"""`paceline bill`: what a job of a workload costs at each offer."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paceline.cli.evidence_options import EVIDENCE, At, Prices, Refs, chosen_digests, say_left_out
from paceline.cli.options import RESULT, named_offer
from paceline.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paceline.advisor.bills import BilledOffer, Bills, Priced
    from paceline.advisor.evidence import OfferEvidence
    from paceline.advisor.identity import KnownOffer, OfferKey
    from paceline.workloads.spec import WorkloadSpec

_WHICH_JOBS = "say which jobs: --workload chat"


def bill(  # noqa: PLR0917
    refs: Refs = None,
    workload: Annotated[
        str | None,
        typer.Option(
            "--workload",
            "-w",
            help="Only this workload, by its name or file. Default: all that were measured.",
            rich_help_panel=EVIDENCE,
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            help="An offer, measured or not: PROVIDER:MODEL as openai:gpt-5-mini, or the id of an "
            "\\[\\[offer]]; may be repeated. Needs --workload.",
        ),
    ] = None,
    tier: Annotated[
        str | None, typer.Option(help="The tier of --model: standard, fast, ultra or flex.")
    ] = None,
    batch: Annotated[
        bool, typer.Option("--batch", help="Price the jobs as those of the providers' batch APIs.")
    ] = False,
    at: At = None,
    prices: Prices = None,
    jobs_per_day: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1e12,
            help="Jobs a day, for bills a day and a month. Default: the workload's own number.",
            rich_help_panel=EVIDENCE,
        ),
    ] = None,
    json: Annotated[
        Path | None, typer.Option(help="Write paceline.bill/1 here; - is stdout.", rich_help_panel=RESULT)
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(help="Write one line an offer here; - is stdout.", rich_help_panel=RESULT),
    ] = None,
) -> int:
    """Show what one job of a workload costs at each offer, by what was measured.

    Tokens as measured, reasoning and cache among them, at the prices of one
    day; own hardware by its hours. Each figure says where its price is from.
    """
    from paceline.advisor.bills import Priced, in_order
    from paceline.catalogue.price_book import PriceBook
    from paceline.cli.choosing import known_offers
    from paceline.cli.moments import parse_moment
    from paceline.cli.output import check_outputs
    from paceline.store.paths import home

    known = known_offers()
    check_outputs({"--json": json, "--csv": csv})
    _check(refs, workload, model, tier)
    now = datetime.now(UTC)
    moment = now if at is None else parse_moment(at, "--at", now)
    asked = _Asked(
        priced=Priced(PriceBook.load(home(), prices, known), moment, batch),
        known=known,
        spec=None if workload is None else _workload(workload, needed=bool(model)),
        jobs_per_day=jobs_per_day,
    )
    measured = _measured(refs, asked, workload)
    rows = asked.measured(measured) if not model else asked.models(model, tier, measured)
    if not rows:
        which = f" of workload {workload!r}" if workload else ""
        raise ConfigError(
            f"there are no runs{which} to bill",
            "measure first: paceline measure URL --model M; or name an offer: --model openai:gpt-5-mini "
            "--workload chat",
        )
    _show(in_order(rows, moment), json, csv)
    return 0


def _show(bills: "Bills", json: Path | None, csv: Path | None) -> None:
    from paceline.cli.output import ASK_AGAIN, STDOUT, harmless, write_outputs
    from paceline.report.bill_dict import bills_csv, bills_json
    from paceline.report.bill_text import bills_text

    if STDOUT not in (json, csv):
        typer.echo(harmless(bills_text(bills)), nl=False)
    renderers = {"--json": bills_json, "--csv": bills_csv}
    write_outputs({"--json": json, "--csv": csv}, lambda option: renderers[option](bills), hint=ASK_AGAIN)


def _check(refs: list[str] | None, workload: str | None, model: list[str] | None, tier: str | None) -> None:
    if model and workload is None:
        raise ConfigError("--model needs --workload", _WHICH_JOBS)
    if model and refs:
        raise ConfigError("runs and --model are both given", "leave one of them out")
    if tier is not None and not model:
        raise ConfigError("--tier is of --model", "leave it out: runs say their own tier")
    named_offer(None, tier)


def _workload(name: str, *, needed: bool) -> "WorkloadSpec | None":
    """The workload of that name or file; None where only runs know it. Raises ConfigError."""
    from paceline.workloads.files import built_in_names, load_workload

    if needed or name in built_in_names() or Path(name).expanduser().exists():
        return load_workload(name)
    return None


def _measured(refs: list[str] | None, asked: "_Asked", workload: str | None) -> "list[OfferEvidence]":
    """The evidence that is asked for; runs that give none are named on stderr."""
    from paceline.advisor.evidence import pooled
    from paceline.advisor.identity import workload_key

    found, spec = chosen_digests(refs), asked.spec
    names = {workload, spec.name, workload_key(spec.to_dict())} if spec else {workload}
    mine = [one for one in found.digests if workload is None or {one.workload, one.workload_key} & names]
    say_left_out(replace(found, digests=tuple(mine)))
    return pooled(mine, asked.known)


@dataclass(frozen=True)
class _Asked:
    """What bills are made with."""

    priced: "Priced"
    known: "Sequence[KnownOffer]"
    spec: "WorkloadSpec | None"
    jobs_per_day: float | None

    def measured(self, evidence: "Sequence[OfferEvidence]") -> "list[BilledOffer]":
        """The bills of what was measured; a built-in workload says itself how many jobs a day it has."""
        from paceline.advisor.bills import measured_bill
        from paceline.workloads.files import built_in_names, load_workload

        built_in = built_in_names()
        found = []
        for one in evidence:
            spec = self.spec or (load_workload(one.workload) if one.workload in built_in else None)
            found.append(measured_bill(one, self.priced, spec, jobs_per_day=self.jobs_per_day))
        return found

    def models(
        self, refs: list[str], tier: str | None, evidence: "Sequence[OfferEvidence]"
    ) -> "list[BilledOffer]":
        """Of each offer the bills by what was measured of it, else the one by what the workload asks for."""
        found = []
        for ref in dict.fromkeys(refs):
            own = next((one for one in self.known if one.id == ref), None)
            key = _key(ref, own, tier)
            mine = [one for one in evidence if one.key == key]
            found += self.measured(mine) if mine else [self._unmeasured(key, own)]
        return found

    def _unmeasured(self, key: "OfferKey", own: "KnownOffer | None") -> "BilledOffer":
        from paceline.advisor.bills import unmeasured_bill
        from paceline.catalogue.genai import by_reference
        from paceline.catalogue.price import PriceUnknown

        if self.spec is None:
            raise ConfigError("--model needs --workload", _WHICH_JOBS)
        if own is not None:
            url, model, extra, table = own.base_url, own.upstream_model, own.extra_body, own.price
        else:
            url, model, extra, table = "", key.model, {}, None
        priced_key, price = self.priced.of(key, url, model, extra, table)
        if isinstance(price, PriceUnknown) and own is None:
            # It says what was probably meant.
            by_reference(key.provider, key.model, self.priced.at)
        return unmeasured_bill(priced_key, price, self.spec, jobs_per_day=self.jobs_per_day)


def _key(ref: str, own: "KnownOffer | None", tier: str | None) -> "OfferKey":
    """The offer that --model means. Raises ConfigError."""
    from paceline.advisor.identity import OfferKey

    if own is not None:
        return OfferKey(own.key.model, own.key.provider, tier or own.key.tier)
    provider, _, model = ref.partition(":")
    if not provider or not model:
        raise ConfigError(
            f"--model: {ref!r} is neither an [[offer]] nor provider and model",
            "write both, as openai:gpt-5-mini",
        )
    return OfferKey(model, provider, tier or "standard")
