"""Each `paceline ...` line in the README and the guides is one that the command line takes."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from paceline.cli.main import app

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?:[A-Z_]+=\S+ +)*paceline( .*)")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guides").glob("*.md"))]


def lines() -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        for block in BLOCK.findall(page.read_text()):
            for line in block.replace("\\\n", " ").splitlines():
                given = COMMAND.fullmatch(line.strip())
                if given:
                    found.append((page.name, given[1].strip()))
    return found


def arguments(line: str) -> list[str]:
    """What the shell hands over: to the first pipe, redirection or `&`, without a comment."""
    lexer = shlex.shlex(re.sub(r" \d>", " >", line), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = list(lexer)
    ends = [place for place, word in enumerate(words) if set(word) <= set("|&;<>")]
    return words[: ends[0]] if ends else words


def test_the_readme_shows_both_halves() -> None:
    shown = {line.split()[0] for page, line in lines() if page == "README.md"}
    assert {"measure", "compare", "gateway", "keys", "usage"} <= shown


@pytest.mark.parametrize(("page", "line"), lines())
def test_it_is_taken(page: str, line: str) -> None:
    command: Any = typer.main.get_command(app)
    left, context = arguments(line), None
    while True:
        context = command.make_context(command.name, left, parent=context)
        left = [*getattr(context, "_protected_args", []), *context.args]
        if not left or not hasattr(command, "commands"):
            break
        assert left[0] in command.commands, f"{page}: paceline {line}"
        command, left = command.commands[left[0]], left[1:]
