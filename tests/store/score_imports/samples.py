"""Where files as other tools write them lie; made by hand after the tools' own sources."""

from pathlib import Path

DATA = Path(__file__).parents[2] / "data" / "scores"
