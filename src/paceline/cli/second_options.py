"""The second endpoint of two: asked as the first is, where nothing else is said.

Imports nothing heavy before it is asked to.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from paceline.measure.job import Job

SECOND = "Endpoint B, where it differs from A"


@dataclass(frozen=True)
class SecondFlags:
    """What differs in the second endpoint."""

    model_b: Annotated[str | None, typer.Option(help="Model of B.", rich_help_panel=SECOND)] = None
    protocol_b: Annotated[str | None, typer.Option(help="Protocol of B.", rich_help_panel=SECOND)] = None
    header_b: Annotated[
        list[str] | None,
        typer.Option(help="A header for B, in place of A's; may be repeated.", rich_help_panel=SECOND),
    ] = None
    api_key_env_b: Annotated[
        str | None,
        typer.Option(
            help="Environment variable with B's key; needed where B is on another host, '' for none.",
            rich_help_panel=SECOND,
        ),
    ] = None
    ca_file_b: Annotated[Path | None, typer.Option(help="CA of B.", rich_help_panel=SECOND)] = None
    provider_b: Annotated[
        str | None, typer.Option(help="Who serves B, for the board.", rich_help_panel=SECOND)
    ] = None
    tier_b: Annotated[
        str | None, typer.Option(help="Tier of B: standard, fast, ultra or flex.", rich_help_panel=SECOND)
    ] = None

    def job(self, first: "Job", url: str, name: str | None) -> "Job":
        """B's job, from A's. Raises ConfigError for a key that is not B's."""
        from paceline.cli.options import named_offer
        from paceline.cli.second_credentials import second_credentials
        from paceline.endpoints.target import Target
        from paceline.protocols import parse_protocol

        return replace(
            first,
            url=url,
            model=self.model_b or first.model,
            protocol=first.protocol if self.protocol_b is None else parse_protocol(self.protocol_b),
            credentials=second_credentials(
                first.credentials,
                (Target.parse(first.url).host, Target.parse(url).host),
                headers=self.header_b,
                api_key_env=self.api_key_env_b,
                ca_file=self.ca_file_b,
            ),
            name=None if name is None else f"{name}-b",
            # On another host A's provider says nothing of B.
            offer=named_offer(self.provider_b, self.tier_b, "-b"),
        )
