"""Options of sweep and capacity, and where a study's report goes."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paceline.cli.options import RESULT, HtmlPath, MarkdownPath, ResultPaths

if TYPE_CHECKING:
    from paceline.measure.job import Credentials

STUDY = "Study"


@dataclass(frozen=True)
class StudyReportFlags(ResultPaths):
    """Where a study's report goes besides the terminal."""

    json_path: Annotated[
        Path | None,
        typer.Option(
            "--json", help="Write paceline.study-report/1 here; - is stdout.", rich_help_panel=RESULT
        ),
    ] = None
    html_path: HtmlPath = None
    markdown_path: MarkdownPath = None
    csv_path: Annotated[
        Path | None, typer.Option("--csv", help="Write one line a point here.", rich_help_panel=RESULT)
    ] = None


@dataclass(frozen=True)
class CredentialFlags:
    """What a resumed study needs anew of the credentials."""

    header: Annotated[
        list[str] | None,
        typer.Option("--header", "-H", help="A header 'Name: value' that the study was made with."),
    ] = None
    api_key_env: Annotated[
        str | None, typer.Option(help="Environment variable with the key, where it is another now.")
    ] = None
    ca_file: Annotated[
        Path | None, typer.Option(help="Trust this CA (PEM), where it lies elsewhere now.")
    ] = None

    def credentials(self) -> "Credentials":
        """How secrets are to be had."""
        from paceline.measure.job import Credentials

        return Credentials(tuple(self.header or ()), self.api_key_env, self.ca_file)
