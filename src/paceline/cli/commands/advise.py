"""`paceline advise`: which model, provider and tier to take, or what is missing to say it."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paceline.cli.evidence_options import EVER, EVIDENCE, At, Load, Prices, Since
from paceline.cli.option_groups import with_groups
from paceline.cli.options import RESULT, HtmlPath, MarkdownPath
from paceline.errors import ConfigError

if TYPE_CHECKING:
    from paceline.advisor.advise import Advice

_ASKED = "What an offer must be"
_MORE = "Measuring more"


@dataclass(frozen=True)
class EvidenceFlags:
    """Which stored runs, and which prices."""

    workload: Annotated[
        str | None,
        typer.Option(
            help="Only this workload, by its name or file. Default: the one that most offers were measured "
            "with.",
            rich_help_panel=EVIDENCE,
        ),
    ] = None
    load: Load = None
    since: Since = EVER
    at: At = None
    prices: Prices = None
    jobs_per_day: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1e12,
            help="Jobs a day, for bills a day and a month. Default: the workload's own number.",
            rich_help_panel=EVIDENCE,
        ),
    ] = None


@dataclass(frozen=True)
class AskedFlags:
    """What is asked of an offer."""

    slo: Annotated[
        str | None,
        typer.Option(
            help="Limits of a request, as in ttft_ms=500,itl_ms=50, of a job (job_ms=9000), or of a "
            "percentile (p95:ttft_ms=500). Default: the workload's own; '' for none.",
            rich_help_panel=_ASKED,
        ),
    ] = None
    slo_share: Annotated[
        str,
        typer.Option(help="So many of the attempted requests must meet every limit.", rich_help_panel=_ASKED),
    ] = "95%"
    capability: Annotated[
        list[str] | None,
        typer.Option(
            help="The least share solved, as in '>= 0.7', or of another benchmark 'gpqa >= 0.5'; may be "
            "repeated.",
            rich_help_panel=_ASKED,
        ),
    ] = None
    budget: Annotated[
        list[str] | None,
        typer.Option(
            help="The most that it may cost in USD: 0.01/job, 50/day or 1500/month; may be repeated.",
            rich_help_panel=_ASKED,
        ),
    ] = None
    success: Annotated[
        str | None,
        typer.Option(
            help="So many of the attempted requests must end well, as in 99%.", rich_help_panel=_ASKED
        ),
    ] = None
    worth: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1e12,
            help="What an hour saved is worth, in USD: bill and time are then weighed together. Default: the "
            "workload's own; 0 for none.",
            rich_help_panel=_ASKED,
        ),
    ] = None
    error: Annotated[str, typer.Option(help="How probable a wrong name may be.", rich_help_panel=_ASKED)] = (
        "5%"
    )


@dataclass(frozen=True)
class ResultFlags:
    """Where the advice goes."""

    explain: Annotated[
        bool, typer.Option("--explain", help="Say where each number comes from.", rich_help_panel=RESULT)
    ] = False
    json: Annotated[
        Path | None, typer.Option(help="Write paceline.advice/1 here; - is stdout.", rich_help_panel=RESULT)
    ] = None
    html: HtmlPath = None
    markdown: MarkdownPath = None
    emit: Annotated[
        str | None,
        typer.Option(help="gateway: write the routing config of the advice.", rich_help_panel=RESULT),
    ] = None
    out: Annotated[
        Path | None,
        typer.Option(help="Where --emit writes. Default: stdout.", rich_help_panel=RESULT),
    ] = None

    def paths(self) -> dict[str, Path | None]:
        """By option."""
        return {"--json": self.json, "--html": self.html, "--markdown": self.markdown, "--out": self.out}


@dataclass(frozen=True)
class MoreFlags:
    """Requests that would settle what is open."""

    measure_more: Annotated[
        bool,
        typer.Option(
            "--measure-more",
            help="Send the requests that would settle what is open, once, and advise again.",
            rich_help_panel=_MORE,
        ),
    ] = False
    max_requests: Annotated[
        int, typer.Option(min=1, help="At most so many requests an offer.", rich_help_panel=_MORE)
    ] = 500
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Send them without asking.", rich_help_panel=_MORE)
    ] = False
    header: Annotated[
        list[str] | None,
        typer.Option(
            "--header",
            "-H",
            help="A header 'Name: value' that the runs were made with; may be repeated.",
            rich_help_panel=_MORE,
        ),
    ] = None
    api_key_env: Annotated[
        str | None,
        typer.Option(
            help="Environment variable with the key, where it is another now.", rich_help_panel=_MORE
        ),
    ] = None
    ca_file: Annotated[
        Path | None,
        typer.Option(help="Trust this CA (PEM), where it lies elsewhere now.", rich_help_panel=_MORE),
    ] = None


@with_groups
def advise(evidence: EvidenceFlags, asked: AskedFlags, result: ResultFlags, more: MoreFlags) -> int:
    """Say which offer is good enough, fast enough and cheapest, by stored runs.

    Constraints are judged on bounds: an offer meets one, fails it, or there
    is not enough data. A name is only given where it is wrong in at most
    --error; else it is said what is missing. Exit code: 0 a name was given;
    1 there is none; 2 wrong usage.
    """
    from paceline.cli.output import check_outputs

    if result.emit not in (None, "gateway"):
        raise ConfigError(f"--emit: there is no {result.emit!r}", "write --emit gateway")
    if result.out is not None and result.emit is None:
        raise ConfigError("--out says where --emit writes, which is not given", "add --emit gateway")
    check_outputs(result.paths())
    from paceline.cli.advising import Asked

    question = Asked.of(evidence, asked, looks=2 if more.measure_more else 1, now=datetime.now(UTC))
    advice = question.answer()
    if more.measure_more:
        from paceline.cli.measuring_more import measure_more

        if measure_more(advice, more):
            advice = question.answer()
    _tell(advice, result)
    return 0 if advice.best is not None else 1


def _tell(advice: "Advice", result: ResultFlags) -> None:
    """Print it, and write what was asked for; what goes to stdout as data is alone there."""
    from paceline.cli.output import ASK_AGAIN, STDOUT, talk, write_output, write_outputs

    config = None
    if result.emit is not None:
        from paceline.cli.emitting import gateway_config

        config = gateway_config(advice)
    data_on_stdout = STDOUT in result.paths().values() or (config is not None and result.out is None)
    _print(advice, result, on_stderr=data_on_stdout)
    paths = {option: path for option, path in result.paths().items() if option != "--out"}
    write_outputs(paths, lambda option: _rendered(advice, option), hint=ASK_AGAIN)
    if config is not None:
        target = result.out or STDOUT
        write_output(target, config, hint=ASK_AGAIN)
        if target != STDOUT:
            talk(f"wrote {target}; `paceline gateway check --config {target}` says whether it is fine")


def _print(advice: "Advice", result: ResultFlags, *, on_stderr: bool) -> None:
    from paceline.advisor.explain import FORMULAS, origins
    from paceline.cli.output import harmless, talk, terminal_columns
    from paceline.report.advice_text import advice_text

    found = origins(advice) if result.explain else []
    text = advice_text(advice, terminal_columns(), origins=found, formulas=FORMULAS)
    if on_stderr:
        talk(text.rstrip("\n"))
    else:
        typer.echo(harmless(text), nl=False)


def _rendered(advice: "Advice", option: str) -> str:
    from paceline.advisor.explain import FORMULAS, origins

    if option == "--json":
        from paceline.report.advice_dict import advice_json

        return advice_json(advice, origins(advice), FORMULAS)
    if option == "--html":
        from paceline.report.advice_html import render_advice_html

        return render_advice_html(advice, origins(advice), FORMULAS)
    from paceline.report.advice_text import advice_markdown

    return advice_markdown(advice)
