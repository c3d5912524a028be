"""The options of what is sampled of the server's side while a run goes on.

Imports nothing heavy before it is asked to.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from paceline.measure.scrape import ServerWatch
    from paceline.settings import MeasureSettings

SERVER = "Server side"


@dataclass(frozen=True)
class ServerFlags:
    """The server's own metrics, and this machine's GPUs."""

    server_metrics: Annotated[
        str | None,
        typer.Option(
            help="Where the server has its Prometheus metrics: a URL, off, or auto (default: /metrics of "
            "the endpoint, where there is one).",
            rich_help_panel=SERVER,
        ),
    ] = None
    server_metrics_every: Annotated[
        str | None,
        typer.Option(
            help="How often they are asked for (1s; 200ms where callers hang up), at least 100ms.",
            rich_help_panel=SERVER,
        ),
    ] = None
    server_metrics_table: Annotated[
        Path | None,
        typer.Option(
            help="What another engine's metrics are called, over the table that is built in.",
            rich_help_panel=SERVER,
        ),
    ] = None
    gpu: Annotated[
        bool | None,
        typer.Option(
            "--gpu/--no-gpu",
            help="Sample this machine's NVIDIA GPUs (default: where the endpoint is on this machine).",
            rich_help_panel=SERVER,
        ),
    ] = None

    def watch(self, own: "MeasureSettings", *, hangs_up: bool = False) -> "ServerWatch":
        """What they mean, over the user's own settings. Raises ConfigError.

        hangs_up: the workload's callers do; how a server takes that is seen only by looking often.
        """
        from paceline.measure.scrape import AUTO, DEFAULT_EVERY_NS, HANGUP_EVERY_NS, ServerWatch
        from paceline.units import parse_duration_ns

        usual = HANGUP_EVERY_NS if hangs_up else DEFAULT_EVERY_NS
        every = self.server_metrics_every or own.server_metrics_every
        return ServerWatch(
            metrics=self.server_metrics or own.server_metrics or AUTO,
            every_ns=usual if every is None else parse_duration_ns(every, "--server-metrics-every"),
            table=self.server_metrics_table or own.server_metrics_table,
            gpu=self.gpu if self.gpu is not None else own.gpu,
        )
