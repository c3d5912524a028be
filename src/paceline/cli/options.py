"""The option groups of commands that measure, and what they mean.

Imports nothing heavy before it is asked to.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paceline.errors import ConfigError

if TYPE_CHECKING:
    from paceline.measure.job import Credentials
    from paceline.measure.load_spec import LoadPlan
    from paceline.protocols import Protocol
    from paceline.settings import MeasureSettings

LOAD = "Load"
ENDPOINT = "Endpoint"
RESULT = "Result"


HtmlPath = Annotated[
    Path | None,
    typer.Option("--html", help="Write a self-contained HTML report here.", rich_help_panel=RESULT),
]
MarkdownPath = Annotated[
    Path | None, typer.Option("--markdown", help="Write a Markdown report here.", rich_help_panel=RESULT)
]


class ResultPaths:
    """Of a group of options: where each form of a result goes, by its fields `json_path`, `html_path`..."""

    def paths(self) -> dict[str, Path | None]:
        """By option."""
        forms = ("json", "html", "markdown", "csv")
        return {f"--{form}": getattr(self, f"{form}_path") for form in forms if hasattr(self, f"{form}_path")}


@dataclass(frozen=True)
class LoadFlags:
    """When requests are sent, and how many."""

    concurrency: Annotated[
        int | None,
        typer.Option(
            "--concurrency",
            "-c",
            help="Requests always in flight (default 1). With --rate or --ramp a cap: a request that is due "
            "then waits for a slot and counts as late.",
            rich_help_panel=LOAD,
        ),
    ] = None
    rate: Annotated[
        float | None, typer.Option("--rate", "-r", help="Requests a second.", rich_help_panel=LOAD)
    ] = None
    arrival: Annotated[
        str | None,
        typer.Option(help="With --rate: poisson (default), constant or gamma.", rich_help_panel=LOAD),
    ] = None
    burstiness: Annotated[
        float | None,
        typer.Option(help="With --arrival gamma: 1 is Poisson, less is burstier.", rich_help_panel=LOAD),
    ] = None
    ramp: Annotated[
        str | None,
        typer.Option(
            help="A rate that changes, FROM:TO in requests/s, over --duration.", rich_help_panel=LOAD
        ),
    ] = None
    requests: Annotated[
        int | None,
        typer.Option(
            "--requests",
            "-n",
            help="Requests to measure (default 100 without --duration).",
            rich_help_panel=LOAD,
        ),
    ] = None
    jobs: Annotated[
        int | None,
        typer.Option(
            help="Jobs to measure, where a job is several calls (default 20). --concurrency and --rate then "
            "count jobs as well.",
            rich_help_panel=LOAD,
        ),
    ] = None
    duration: Annotated[
        str | None,
        typer.Option("--duration", "-d", help="How long to measure, as in 30s or 5m.", rich_help_panel=LOAD),
    ] = None
    warmup: Annotated[
        str | None,
        typer.Option(
            help="Sent first and left out of the figures: requests (20) or time (10s).", rich_help_panel=LOAD
        ),
    ] = None
    timeout: Annotated[
        str | None,
        typer.Option(help="A request that is not complete by then has failed (120s).", rich_help_panel=LOAD),
    ] = None
    seed: Annotated[int, typer.Option(help="Seed of arrivals and requests.", rich_help_panel=LOAD)] = 1
    threads: Annotated[
        int | None,
        typer.Option(help="Load threads (default: one for each 1000 streams).", rich_help_panel=LOAD),
    ] = None
    new_connections: Annotated[
        bool,
        typer.Option("--new-connections", help="A new connection for each request.", rich_help_panel=LOAD),
    ] = False
    no_text: Annotated[
        bool, typer.Option("--no-text", help="Do not keep the generated text.", rich_help_panel=LOAD)
    ] = False

    def plan(self, own: "MeasureSettings", *, has_jobs: bool = False, replay: bool = False) -> "LoadPlan":
        """What they mean, over the user's own settings. Raises ConfigError.

        has_jobs: the workload's jobs are of several calls. replay: the workload brings its own instants.
        """
        from paceline.measure.load_spec import LoadOptions, plan_load

        return plan_load(
            LoadOptions(
                concurrency=self.concurrency,
                rate_requests_s=self.rate,
                arrival=self.arrival,
                burstiness=self.burstiness,
                ramp=self.ramp,
                requests=self.requests,
                duration=self.duration,
                warmup=self.warmup,
                timeout=self.timeout or own.timeout,
                seed=self.seed,
                threads=self.threads if self.threads is not None else own.threads,
                new_connections=self.new_connections,
                keep_text=not self.no_text,
                jobs=self.jobs,
                has_jobs=has_jobs,
                replay=replay,
            )
        )


@dataclass(frozen=True)
class EndpointFlags:
    """How the endpoint is reached."""

    protocol: Annotated[
        str | None,
        typer.Option(
            help="chat, completions, responses, messages or embeddings; else told by the URL's end, by "
            "`paceline probe`, or found by asking.",
            rich_help_panel=ENDPOINT,
        ),
    ] = None
    header: Annotated[
        list[str] | None,
        typer.Option(
            "--header", "-H", help="A header 'Name: value'; may be repeated.", rich_help_panel=ENDPOINT
        ),
    ] = None
    api_key_env: Annotated[
        str | None,
        typer.Option(help="Environment variable that holds the API key.", rich_help_panel=ENDPOINT),
    ] = None
    ca_file: Annotated[
        Path | None,
        typer.Option(help="Trust this CA (PEM) in place of the system's.", rich_help_panel=ENDPOINT),
    ] = None
    check: Annotated[
        bool,
        typer.Option(
            "--check/--no-check",
            help="Ask the endpoint for one token before load begins.",
            rich_help_panel=ENDPOINT,
        ),
    ] = True

    provider: Annotated[
        str | None,
        typer.Option(
            help="Who serves it, for the board (default: your offer of this URL, else its host).",
            rich_help_panel=ENDPOINT,
        ),
    ] = None
    tier: Annotated[
        str | None,
        typer.Option(
            help="standard, fast, ultra or flex (default: your offer's, else what the body asks for).",
            rich_help_panel=ENDPOINT,
        ),
    ] = None

    def offer(self) -> dict[str, str | None] | None:
        """Whose offer it is, as far as that was said. Raises ConfigError."""
        return named_offer(self.provider, self.tier)

    def credentials(self, own: "MeasureSettings") -> "Credentials":
        """How secrets are to be had; headers come on top of the user's own, and go before them."""
        from paceline.measure.job import Credentials

        given = tuple(self.header or ())
        return Credentials(
            headers=(*given, *_others(own.headers(), given)),
            api_key_env=self.api_key_env or own.api_key_env,
            ca_file=self.ca_file or own.ca_file,
        )

    def wire_protocol(self) -> "Protocol | None":
        """The protocol that was named. Raises ConfigError for one that there is not."""
        from paceline.protocols import parse_protocol

        return None if self.protocol is None else parse_protocol(self.protocol)


@dataclass(frozen=True)
class ReportFlags(ResultPaths):
    """Where a report goes besides the terminal."""

    json_path: Annotated[
        Path | None,
        typer.Option("--json", help="Write paceline.report/1 here; - is stdout.", rich_help_panel=RESULT),
    ] = None
    html_path: HtmlPath = None
    markdown_path: MarkdownPath = None
    csv_path: Annotated[
        Path | None, typer.Option("--csv", help="Write one line a request here.", rich_help_panel=RESULT)
    ] = None


def named_offer(provider: str | None, tier: str | None, suffix: str = "") -> dict[str, str | None] | None:
    """`offer` of a run's manifest; `suffix`: of the options, as in `--tier-b`. Raises ConfigError."""
    from paceline.store.manifest import TIERS

    if tier is not None and tier not in TIERS:
        raise ConfigError(f"--tier{suffix}: there is no tier {tier!r}", f"tiers are: {', '.join(TIERS)}")
    if provider is not None and not (provider.strip() and len(provider) <= 100 and provider.isprintable()):
        raise ConfigError(
            f"--provider{suffix}: {provider!r} cannot be a name", "use 1 to 100 printable characters"
        )
    if provider is None and tier is None:
        return None
    return {"provider": None if provider is None else provider.strip(), "tier": tier}


def _others(headers: tuple[str, ...], given: tuple[str, ...]) -> list[str]:
    """The headers whose names are not among those given."""
    names = {header.partition(":")[0].strip().lower() for header in given}
    return [header for header in headers if header.partition(":")[0].strip().lower() not in names]


def parse_slo(text: str | None, own: "MeasureSettings") -> dict[str, float] | None:
    """`ttft_ms=500,itl_ms=50` -> limits; without a text the user's own. Raises ConfigError."""
    if text is None and not own.slo:
        return None
    text = text if text is not None else ",".join(f"{name}={limit}" for name, limit in own.slo.items())
    from paceline.config import closest
    from paceline.stats.goodput import Slo
    from paceline.stats.metrics import JOB_METRICS, METRICS

    for name in (part.partition("=")[0].strip() for part in text.split(",")):
        near = closest(name, list(METRICS)) if name and name not in METRICS | JOB_METRICS else None
        if near is not None:
            raise ConfigError(f"--slo: there is no metric {name!r}", f"did you mean {near}?")
    return Slo.parse(text).limits
