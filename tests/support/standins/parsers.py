"""Parsers that take exactly the options that the real engines of one release take."""

import argparse
from pathlib import Path

LISTS = Path(__file__).parents[3] / "src" / "paceline" / "engines" / "options"


def add_options(parser: argparse.ArgumentParser, engine: str) -> None:
    """The long options of a release, by kind; see the head of each list."""
    for line in (LISTS / f"{engine}.tsv").read_text(encoding="utf-8").splitlines()[2:]:
        names, kind, last = (*line.split("\t"), "")[:3]
        flags = [f"--{name}" for name in names.split()]
        dest = flags[0].removeprefix("--").replace("-", "_")
        match kind:
            case "flag":
                parser.add_argument(*flags, action="store_true", dest=dest)
            case "switch":
                parser.add_argument(*flags, action="store_true", dest=dest)
                parser.add_argument(*(f"--{name}" for name in last.split()), action="store_false", dest=dest)
            case _:
                nargs = {"value": None, "optional": "?", "values": "+"}[kind]
                parser.add_argument(*flags, nargs=nargs, choices=last.split() or None, dest=dest)
