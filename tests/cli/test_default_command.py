"""`paceline serve MODEL` and `paceline serve list` are both commands."""

from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from paceline.cli.default_command import DefaultGroup

app = typer.Typer(cls=DefaultGroup)


@app.command("start")
def start(model: str, port: Annotated[int, typer.Option()] = 0) -> None:
    typer.echo(f"start {model} {port}")


@app.command("list")
def list_() -> None:
    typer.echo("the list")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gemma"], "start gemma 0"),
        (["--port", "7", "gemma"], "start gemma 7"),
        (["gemma", "--port", "7"], "start gemma 7"),
        (["list"], "the list"),
        (["./list"], "start ./list 0"),
        (["start", "list"], "start list 0"),
    ],
)
def test_what_is_no_command_is_given_to_the_default(arguments: list[str], said: str) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.output.strip() == said
    assert result.exit_code == 0


def test_help_of_the_group_names_all_commands() -> None:
    output = CliRunner().invoke(app, ["--help"]).output
    assert "start" in output
    assert "list" in output


def test_an_option_that_is_not_there_is_refused() -> None:
    assert CliRunner().invoke(app, ["gemma", "--prot", "7"]).exit_code == 2
