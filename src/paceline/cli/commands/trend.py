"""`paceline trend`: has an offer's speed changed, or is it noise?"""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paceline.errors import ConfigError

if TYPE_CHECKING:
    from paceline.advisor.trend import TrendFigure

_EVER = "all"


def trend(
    workload: Annotated[
        str | None, typer.Option(help="Only runs of this workload; live for the gateway's traffic.")
    ] = None,
    load: Annotated[str | None, typer.Option(help="Only this load, as in 'closed 8'.")] = None,
    since: Annotated[
        str, typer.Option(help="From when on: 7d, 36h, a day (2026-11-30), a moment, or all. In UTC.")
    ] = "30d",
    figure: Annotated[
        str, typer.Option(help="ttft_p50_ms, ttfat_p50_ms, output_tok_s or e2e_p50_ms.")
    ] = "ttft_p50_ms",
    json: Annotated[Path | None, typer.Option(help="Write paceline.trend/1 to a file; - for stdout.")] = None,
) -> int:
    """Show each offer's speed by the hour, and whether a change is real or noise."""
    from paceline.advisor.digests import all_digests
    from paceline.advisor.evidence import pooled
    from paceline.advisor.trend import trends
    from paceline.cli.choosing import known_offers
    from paceline.cli.moments import parse_moment
    from paceline.cli.output import ASK_AGAIN, STDOUT, check_outputs, harmless, write_outputs
    from paceline.report.trend_text import trends_json, trends_text

    name = _figure(figure)
    begin = None if since == _EVER else parse_moment(since, "--since", datetime.now(UTC))
    known = known_offers()
    check_outputs({"--json": json})
    digests = [one for one in all_digests().digests if begin is None or one.started_at >= begin]
    mine = [
        one
        for one in pooled(digests, known)
        if workload in (None, one.workload, one.workload_key) and load in (None, one.load)
    ]
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
    from paceline.config import closest

    for known in COLUMN_OF:
        if known == name:
            return known
    near = closest(name, list(COLUMN_OF))
    hint = f"did you mean {near}?" if near else f"figures are: {', '.join(COLUMN_OF)}"
    raise ConfigError(f"--figure: there is no figure {name!r}", hint)
