"""`paceline board`: every offer that was measured, side by side."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paceline.cli.evidence_options import EVER, EVIDENCE, At, Load, Prices, Since, begin_of, watch
from paceline.cli.options import RESULT, HtmlPath, MarkdownPath

if TYPE_CHECKING:
    from paceline.advisor.board import Board

_SHOW = "Show"


def board(  # noqa: PLR0917
    workload: Annotated[
        str | None,
        typer.Option(
            help="Only this workload, by its name. Default: the one that most offers were measured with.",
            rich_help_panel=EVIDENCE,
        ),
    ] = None,
    load: Load = None,
    since: Since = EVER,
    at: At = None,
    capability: Annotated[
        str,
        typer.Option(help="The benchmark of the column `capability`.", rich_help_panel=_SHOW),
    ] = "probe",
    sort: Annotated[
        str,
        typer.Option(
            help="The figure to sort by, as ttft_p50_ms, output_tok_s or usd_per_job; the best first.",
            rich_help_panel=_SHOW,
        ),
    ] = "ttft_p50_ms",
    jobs_per_day: Annotated[
        float | None,
        typer.Option(
            min=0.0, max=1e12, help="Jobs a day, for bills a day and a month.", rich_help_panel=EVIDENCE
        ),
    ] = None,
    prices: Prices = None,
    json: Annotated[
        Path | None,
        typer.Option(help="Write paceline.board/1 here; - is stdout.", rich_help_panel=RESULT),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(help="Write one line an offer here; - is stdout.", rich_help_panel=RESULT),
    ] = None,
    html: HtmlPath = None,
    markdown: MarkdownPath = None,
) -> int:
    """Compare every model, provider and tier that was measured: speed, stability, capability and bill."""
    from paceline.advisor.board import BoardQuery, build_board
    from paceline.catalogue.price_book import PriceBook
    from paceline.cli.choosing import known_offers
    from paceline.cli.moments import parse_moment
    from paceline.cli.output import ASK_AGAIN, STDOUT, check_outputs, write_outputs
    from paceline.store.paths import home

    known = known_offers()
    paths = {"--json": json, "--csv": csv, "--html": html, "--markdown": markdown}
    check_outputs(paths)
    now = datetime.now(UTC)
    query = BoardQuery(
        workload=workload,
        load=load,
        since=begin_of(since, now),
        at=None if at is None else parse_moment(at, "--at", now),
        benchmark=capability,
        sort=sort,
        jobs_per_day=jobs_per_day,
        known=known,
    )
    found = build_board(query, PriceBook.load(home(), prices, known), watch=watch)
    if STDOUT not in paths.values():
        _print(found)
    write_outputs(paths, lambda option: _rendered(found, option), hint=ASK_AGAIN)
    return 0


def _print(found: "Board") -> None:
    from paceline.cli.output import harmless, terminal_columns
    from paceline.report.board_text import board_text

    typer.echo(harmless(board_text(found, terminal_columns())), nl=False)


def _rendered(found: "Board", option: str) -> str:
    if option == "--json":
        from paceline.report.board_dict import board_json

        return board_json(found)
    if option == "--csv":
        from paceline.report.board_dict import board_csv

        return board_csv(found)
    if option == "--html":
        from paceline.advisor.trend import trends
        from paceline.report.board_html import render_board_html

        return render_board_html(found, trends=trends([row.evidence for row in found.rows]))
    from paceline.report.board_text import board_markdown

    return board_markdown(found)
