"""docs/reference/cli.md names every command and every option, and none that there is not."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.text import Text

from paceline.cli.main import app

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "cli.md"
SECTION = re.compile(r"^## `(paceline [a-z ]+?)(?: [A-Z.]+)*`$", re.MULTILINE)
OPTION_ROW = re.compile(r"^\| (`-.*?`) \|", re.MULTILINE)


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path, command
        return
    # Those that do something without a command of their own, too.
    if command.invoke_without_command and path != "paceline":
        yield path, command
    for name, one in inner.items():
        yield from commands(one, f"{path} {name}")


ROOT: Any = typer.main.get_command(app)
COMMANDS = dict(commands(ROOT, "paceline"))


def sections() -> dict[str, str]:
    text = PAGE.read_text()
    heads = list(SECTION.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return {head.group(1): text[head.end() : end] for head, end in zip(heads, ends, strict=True)}


def options_of(command: Any) -> set[str]:
    return {
        name
        for parameter in command.params
        if parameter.param_type_name == "option" and parameter.name != "help"
        for name in (*parameter.opts, *parameter.secondary_opts)
    }


def documented(text: str) -> set[str]:
    return {name for row in OPTION_ROW.findall(text) for name in re.findall(r"`(-[^`]*)`", row)}


def test_every_command_has_a_section_and_every_section_a_command() -> None:
    assert set(sections()) == set(COMMANDS)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_option_is_documented_and_exists(name: str) -> None:
    assert documented(sections()[name]) == options_of(COMMANDS[name])


def test_the_options_of_all_commands_are_documented() -> None:
    head = PAGE.read_text().partition("\n## ")[0]
    assert documented(head) == options_of(ROOT) | {"--help"}


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_arguments_are_in_the_heading(name: str) -> None:
    arguments = [one for one in COMMANDS[name].params if one.param_type_name == "argument"]
    heading = next(
        line for line in PAGE.read_text().splitlines() if re.match(rf"## `{name}( [A-Z.]+)*`$", line)
    )
    assert len(heading.removeprefix(f"## `{name}").removesuffix("`").split()) == len(arguments)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_no_word_of_a_help_is_taken_for_markup(name: str) -> None:
    texts = [COMMANDS[name].help, *(getattr(one, "help", None) for one in COMMANDS[name].params)]
    for text in filter(None, texts):
        assert Text.from_markup(text).plain == text.replace("\\[", "[")
