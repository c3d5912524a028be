import tomllib
from typing import Any

import pytest

from paceline.toml_lines import Path, key_lines, line_of

TEXT = '''# a comment = with an equals sign
[gateway]
listen = "127.0.0.1:8080"  # [not a table]
clients.connections = 5

[gateway.policy]
attempts = 3

[[model]]
id = "a"
aliases = [
    "b", # [x]
    "c]",
]

[[offer]]
id = 'one'
price = { input_usd_per_mtok = 1.5, ref = "x, y = 3" }
[offer.limits]
"con currency" = 3

[[offer]]
id = """
two [[offer]]
"""
extra_body = { a = [1, { b = 2 }] }
'''


def paths_of(value: Any, path: Path = ()) -> set[Path]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = {(*path, key) for key, _ in below}
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return found.union(*(paths_of(inner, (*path, key)) for key, inner in below))


def test_every_key_has_its_line() -> None:
    lines = key_lines(TEXT)
    assert lines.keys() == paths_of(tomllib.loads(TEXT))
    rows = TEXT.splitlines()
    for path, line in lines.items():
        if isinstance(path[-1], str):
            assert path[-1] in rows[line - 1], path


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("gateway", "clients", "connections"), 4),
        (("model", 0, "aliases", 1), 13),
        (("offer", 0, "price", "ref"), 18),
        (("offer", 0, "limits", "con currency"), 20),
        (("offer", 1), 22),
        (("offer", 1, "extra_body", "a", 1, "b"), 26),
    ],
)
def test_lines_of_some(path: Path, line: int) -> None:
    assert key_lines(TEXT)[path] == line


def test_what_is_not_written_has_the_line_of_what_is_around_it() -> None:
    lines = key_lines(TEXT)
    assert line_of(lines, ("offer", 0, "limits", "queue")) == 19
    assert line_of(lines, ("offer", 1, "base_url")) == 22
    assert line_of(lines, ("nothing",)) is None


def test_a_text_of_many_levels_ends() -> None:
    assert key_lines("a = " + "[" * 100_000)[("a",)] == 1
