"""The option groups of commands that measure, and what they mean.

Imports nothing heavy before it is asked to.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paceline.errors import ConfigError

if TYPE_CHECKING:
    from paceline.measure.job import Credentials
    from paceline.measure.load_spec import LoadPlan
    from paceline.settings import MeasureSettings
    from paceline.workloads.spec import WorkloadSpec

LOAD = "Load"
REQUESTS = "Requests"
ENDPOINT = "Endpoint"
RESULT = "Result"

PROTOCOLS = {"chat": "openai-chat", "completions": "openai-completions"}


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

    def plan(self, own: "MeasureSettings") -> "LoadPlan":
        """What they mean, over the user's own settings. Raises ConfigError."""
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
            )
        )


@dataclass(frozen=True)
class RequestFlags:
    """What requests look like."""

    prompt_tokens: Annotated[
        str,
        typer.Option(
            help="Length of prompts: 512, uniform:64:256, normal:512:64, lognormal:512:0.5, choice:128,512.",
            rich_help_panel=REQUESTS,
        ),
    ] = "512"
    output_tokens: Annotated[
        str | None,
        typer.Option(
            help="Length that answers are limited to, written likewise (128).", rich_help_panel=REQUESTS
        ),
    ] = None
    max_tokens: Annotated[
        int | None, typer.Option(help="Upper limit on every answer.", rich_help_panel=REQUESTS)
    ] = None
    shared_prefix: Annotated[
        int,
        typer.Option(
            help="Tokens that all prompts begin with, for a prefix cache to find.", rich_help_panel=REQUESTS
        ),
    ] = 0
    unique_prefix: Annotated[
        bool,
        typer.Option(
            "--unique-prefix/--no-unique-prefix",
            help="Each prompt's own text begins as no other does, so that no cache helps.",
            rich_help_panel=REQUESTS,
        ),
    ] = True
    salt: Annotated[
        int | None,
        typer.Option(
            help="Repeats the beginnings of an earlier run's prompts (its prefix_salt); else they are new.",
            rich_help_panel=REQUESTS,
        ),
    ] = None
    tokenizer: Annotated[
        str | None,
        typer.Option(
            help="Path or name of a tokenizer, for exact lengths; `words` for words.",
            rich_help_panel=REQUESTS,
        ),
    ] = None
    system: Annotated[str | None, typer.Option(help="System prompt.", rich_help_panel=REQUESTS)] = None
    temperature: Annotated[
        float | None, typer.Option(help="Sampling temperature.", rich_help_panel=REQUESTS)
    ] = None
    extra_body: Annotated[
        str | None,
        typer.Option(
            help="Further fields of the body as JSON, as in '{\"ignore_eos\": true}'.",
            rich_help_panel=REQUESTS,
        ),
    ] = None
    stream: Annotated[
        bool, typer.Option("--stream/--no-stream", help="Ask for a stream.", rich_help_panel=REQUESTS)
    ] = True
    usage: Annotated[
        bool,
        typer.Option(
            "--usage/--no-usage", help="Ask for token counts in the stream.", rich_help_panel=REQUESTS
        ),
    ] = True

    def workload(self, seed: int, own: "MeasureSettings") -> "WorkloadSpec":
        """What they mean, over the user's own settings. Raises ConfigError."""
        from paceline.workloads.spec import WorkloadSpec

        output: str | None = self.output_tokens
        if output is None and self.max_tokens is None:
            output = "128"
        spec = WorkloadSpec.parse(
            {
                "prompt_tokens": self.prompt_tokens,
                "output_tokens": output,
                "max_tokens": self.max_tokens,
                "shared_prefix_tokens": self.shared_prefix,
                "unique_prefix": self.unique_prefix,
                "system": self.system,
                "tokenizer": self.tokenizer or own.tokenizer,
                "seed": seed,
                "temperature": self.temperature,
                "streaming": self.stream,
                "stream_usage": self.usage,
                "extra": _extra(self.extra_body),
                "prefix_salt": self.salt or 0,
            },
            "requests",
        )
        # A server remembers earlier runs of a seed, and would answer the same prompts from its cache.
        return spec.fresh() if self.salt is None else spec


@dataclass(frozen=True)
class EndpointFlags:
    """How the endpoint is reached."""

    protocol: Annotated[
        str | None,
        typer.Option(
            help="chat (default) or completions; also told by the URL's end.", rich_help_panel=ENDPOINT
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

    def credentials(self, own: "MeasureSettings") -> "Credentials":
        """How secrets are to be had; headers come on top of the user's own, and go before them."""
        from paceline.measure.job import Credentials

        given = tuple(self.header or ())
        return Credentials(
            headers=(*given, *_others(own.headers(), given)),
            api_key_env=self.api_key_env or own.api_key_env,
            ca_file=self.ca_file or own.ca_file,
        )

    def wire_protocol(self) -> Any:
        """The protocol's full name. Raises ConfigError."""
        return wire_protocol(self.protocol)


@dataclass(frozen=True)
class ReportFlags:
    """Where a report goes besides the terminal."""

    json_path: Annotated[
        Path | None,
        typer.Option("--json", help="Write paceline.report/1 here; - is stdout.", rich_help_panel=RESULT),
    ] = None
    html_path: Annotated[
        Path | None,
        typer.Option("--html", help="Write a self-contained HTML report here.", rich_help_panel=RESULT),
    ] = None
    markdown_path: Annotated[
        Path | None, typer.Option("--markdown", help="Write a Markdown report here.", rich_help_panel=RESULT)
    ] = None
    csv_path: Annotated[
        Path | None, typer.Option("--csv", help="Write one line a request here.", rich_help_panel=RESULT)
    ] = None

    def paths(self) -> dict[str, Path | None]:
        """By option."""
        return {
            "--json": self.json_path,
            "--html": self.html_path,
            "--markdown": self.markdown_path,
            "--csv": self.csv_path,
        }


def wire_protocol(name: str | None) -> Any:
    """`chat` -> `openai-chat`; full names stay. Raises ConfigError for others."""
    if name is None or name in PROTOCOLS.values():
        return name
    if name not in PROTOCOLS:
        raise ConfigError(f"--protocol {name} is unknown", f"it is {' or '.join(PROTOCOLS)}")
    return PROTOCOLS[name]


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
    from paceline.stats.metrics import METRICS

    for name in (part.partition("=")[0].strip() for part in text.split(",")):
        near = closest(name, list(METRICS)) if name and name not in METRICS else None
        if near is not None:
            raise ConfigError(f"--slo: there is no metric {name!r}", f"did you mean {near}?")
    return Slo.parse(text).limits


# Shells take double quotes away.
_EXTRA_HINT = "write one object, in single quotes: --extra-body '{\"ignore_eos\": true}'"


def _extra(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        document = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"--extra-body is not JSON: {error}", _EXTRA_HINT) from None
    if not isinstance(document, dict):
        raise ConfigError("--extra-body is not a JSON object", _EXTRA_HINT)
    return document
