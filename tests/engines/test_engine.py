"""The command of an engine, as it is shown."""

import subprocess

import pytest

from paceline.engines.engine import Command


@pytest.mark.parametrize(
    "word",
    [
        "plain",
        "",
        "two words",
        "it's",
        'a "quote"',
        "$HOME `date` \\",
        "\x1b]0;title\x07\x1b[31m",
        "line\nline\r\t",
        "\x1b1'2\\3$4",
        "right to left \u202e, next line \u0085",
        "bytes \udcff",
    ],
)
def test_a_shown_command_is_one_harmless_line_that_a_shell_takes(word: str) -> None:
    shown = Command(("printf", "%s|", word, "end")).shown()
    assert shown.isprintable()
    said = subprocess.run(["bash", "-c", shown], capture_output=True, check=True).stdout
    assert said == word.encode(errors="surrogateescape") + b"|end|"
