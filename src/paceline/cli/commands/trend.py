"""`paceline trend`: has an offer's speed changed, or is it noise?"""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paceline.cli.evidence_options import EVIDENCE, Since, begin_of, chosen_digests, say_left_out
from paceline.cli.options import RESULT
from paceline.errors import ConfigError

if TYPE_CHECKING:
    from paceline.advisor.trend import TrendFigure


def trend(
    workload: Annotated[
        str | None,
        typer.Option(
            help="Only this workload, by its name; live for the gateway's traffic. Default: all that were "
            "measured.",
            rich_help_panel=EVIDENCE,
        ),
    ] = None,
    load: Annotated[
        str | None,
        typer.Option(
            help="Only this load, as 'closed 8' or 'poisson 5/s'. Default: all.", rich_help_panel=EVIDENCE
        ),
    ] = None,
    since: Since = "30d",
    figure: Annotated[
        str, typer.Option(help="ttft_p50_ms, ttfat_p50_ms, output_tok_s or e2e_p50_ms.")
    ] = "ttft_p50_ms",
    json: Annotated[
        Path | None, typer.Option(help="Write paceline.trend/1 here; - is stdout.", rich_help_panel=RESULT)
    ] = None,
) -> int:
    """Show each offer's speed by the hour, and whether a change is real or noise."""
    from paceline.advisor.evidence import pooled
    from paceline.advisor.trend import trends
    from paceline.cli.choosing import known_offers
    from paceline.cli.output import ASK_AGAIN, STDOUT, check_outputs, harmless, write_outputs
    from paceline.report.trend_text import trends_json, trends_text

    name = _figure(figure)
    begin = begin_of(since, datetime.now(UTC))
    known = known_offers()
    check_outputs({"--json": json})
    stored = chosen_digests(None)
    fitting = [
        one
        for one in stored.digests
        if workload in (None, one.workload, one.workload_key)
        and load in (None, one.load)
        and (begin is None or one.started_at >= begin)
    ]
    say_left_out(replace(stored, digests=tuple(fitting)))
    mine = pooled(fitting, known)
    if not mine:
        raise ConfigError(
            "there are no runs of that workload and load in that time",
            "measure now and then: paceline measure URL --model M; or widen it: --since all",
        )
    found = trends(mine, name)
    if json != STDOUT:
        typer.echo(harmless(trends_text(found)), nl=False)
    write_outputs({"--json": json}, lambda _: trends_json(found), hint=ASK_AGAIN)
    return 0


def _figure(name: str) -> "TrendFigure":
    """Raises ConfigError for a figure that has no trend."""
    from paceline.advisor.trend import COLUMN_OF
    from paceline.config import choice_hint

    for known in COLUMN_OF:
        if known == name:
            return known
    raise ConfigError(f"--figure: there is no figure {name!r}", choice_hint(name, "figures", COLUMN_OF))
