"""Where Paceline keeps what it has measured."""

import os
from pathlib import Path

HOME_VARIABLE = "PACELINE_HOME"
MANIFEST_NAME = "run.json"


def home() -> Path:
    """`$PACELINE_HOME`, or else the user's data directory. Not created here."""
    named = os.environ.get(HOME_VARIABLE, "").strip()
    if named:
        return Path(named).expanduser().absolute()
    from platformdirs import user_data_path

    return user_data_path("paceline", appauthor=False)


def runs_folder(at: Path | None = None) -> Path:
    """The folder that holds one folder a run; `at`: another home."""
    return (at or home()) / "runs"


def index_file(at: Path | None = None) -> Path:
    """The index over all runs; `at`: another home."""
    return (at or home()) / "index.sqlite"


def ledger_folder(at: Path | None = None) -> Path:
    """The folder of the gateway's ledger; `at`: another home."""
    return (at or home()) / "gateway" / "ledger"


def traffic_folder(at: Path | None = None) -> Path:
    """The folder of what the gateway's requests were, in Parquet; `at`: another home."""
    return (at or home()) / "traffic" / "requests"
