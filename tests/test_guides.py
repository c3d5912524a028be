"""The guides' commands are commands, and their options are options of those commands. Nothing is run."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from paceline.cli.default_command import DEFAULT, DefaultGroup
from paceline.cli.main import app

GUIDES = sorted((Path(__file__).resolve().parent.parent / "docs" / "guides").glob("*.md"))
FENCED = re.compile(r"^```(?:sh|yaml)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHELL_ENDS = {"|", "||", "&&", ";", "&", ">", ">>", "<"}
ROOT: Any = typer.main.get_command(app)


def command_lines(page: Path) -> list[str]:
    """All `paceline ...` commands of a page's fenced blocks, with a YAML step's `run:` taken off."""
    lines = (line.strip() for block in FENCED.findall(page.read_text()) for line in block.splitlines())
    bare = (re.sub(r"^run: |^(?:[A-Z_]+=\S+ )+", "", line) for line in lines)
    return [line for line in bare if line.startswith("paceline ")]


def words_of(line: str) -> list[str]:
    """The command's own words: up to a pipe or a redirection."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    words: list[str] = []
    for word in lexer:
        if word in SHELL_ENDS:
            if word.startswith((">", "<")) and words[-1].isdigit():
                words.pop()
            break
        words.append(word)
    return words


def unknown_in(line: str) -> str | None:
    """What of the line the command line would not take, or None.

    The parser of the command itself decides; callbacks and conversions, which would act, are not called.
    """
    command, words = ROOT, list(words_of(line)[1:])
    while (inner := getattr(command, "commands", None)) is not None:
        if command.invoke_without_command and (not words or words[0].startswith("-")):
            break
        if isinstance(command, DefaultGroup) and words and words[0] not in inner:
            words.insert(0, DEFAULT)
        if not words or words[0] not in inner:
            return f"{line}: no command {words[:1]}"
        command, words = inner[words[0]], words[1:]
    context = command.context_class(command, info_name="paceline")
    try:
        values, _, _ = command.make_parser(context).parse_args(list(words))
    except Exception as error:  # its classes differ between Typer's versions
        return f"{line}: {error}"
    missing = [
        p.name
        for p in command.params
        if p.param_type_name == "argument" and p.required and not values.get(p.name)
    ]
    return f"{line}: no {missing}" if missing else None


def cases() -> Iterator[Any]:
    for page in GUIDES:
        for line in command_lines(page):
            yield pytest.param(line, id=f"{page.stem}: {line[:60]}")


@pytest.mark.parametrize("line", list(cases()))
def test_a_guides_command_exists_with_its_options(line: str) -> None:
    assert unknown_in(line) is None


def test_each_guide_shows_commands() -> None:
    assert {page.stem for page in GUIDES if command_lines(page)} == {page.stem for page in GUIDES}


@pytest.mark.parametrize(
    "line",
    [
        "paceline mesure http://x",
        "paceline runs",
        "paceline measure http://x --no-such-option",
        "paceline measure http://x -n",
        "paceline measure",
        "paceline runs list latest too-much --nope",
    ],
)
def test_what_does_not_exist_is_found(line: str) -> None:
    assert unknown_in(line) is not None


def test_words_end_at_a_pipe_and_at_a_redirection() -> None:
    assert words_of("paceline measure u -n 2 --json - 2>/dev/null | python -c 'x | y'") == [
        "paceline", "measure", "u", "-n", "2", "--json", "-",
    ]  # fmt: skip
