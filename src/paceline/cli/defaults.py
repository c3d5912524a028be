"""The user's settings file, under the options of the command line."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paceline.settings import Settings


def name_settings(path: Path | None) -> None:
    """Remember the file that --config names. Reads nothing, since help must stay quick."""
    if path is not None:
        from paceline.settings import CONFIG_VARIABLE

        os.environ[CONFIG_VARIABLE] = str(path)


def settings() -> "Settings":
    """The settings, with their home of runs put into effect. Raises ConfigError."""
    from paceline.settings import load_settings
    from paceline.store.paths import HOME_VARIABLE

    found = load_settings()
    if found.store.home is not None and not os.environ.get(HOME_VARIABLE, "").strip():
        os.environ[HOME_VARIABLE] = str(found.store.home)
    return found


def gateway_file(config: Path | None) -> Path:
    """The gateway's config: what --config or $PACELINE_CONFIG names, ./paceline.toml, or the user's own."""
    from paceline.settings import FILE_NAME, settings_file

    name_settings(config)
    file, named = settings_file()
    here = Path(FILE_NAME)
    if not named and here.is_file():
        # What the file says of the store counts as well.
        name_settings(here)
        return here
    return file
