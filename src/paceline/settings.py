"""`paceline.toml`: a user's own defaults. An option on the command line always goes before them."""

import os
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from paceline.config import validate
from paceline.errors import ConfigError, UsageError
from paceline.units import parse_duration_ns
from paceline.whole_file import read_whole

CONFIG_VARIABLE = "PACELINE_CONFIG"
FILE_NAME = "paceline.toml"


def _duration(text: str) -> str:
    try:
        parse_duration_ns(text, "duration")
    except UsageError as error:
        raise ValueError(f"{error.message}; {error.hint}") from None
    return text


def _user_path(path: Path) -> Path:
    return path.expanduser()


_MOST_BYTES = 1_000_000
_Model = ConfigDict(extra="forbid", frozen=True)
_Path = Annotated[Path, AfterValidator(_user_path)]


class MeasureSettings(BaseModel):
    """`[measure]`: defaults of commands that measure. None: the command's own default.

    timeout: a duration as on the command line (`120s`). slo: metric to limit, `ttft_ms = 500`. api_key_env:
    the variable that holds the key. headers_env: header name to the variable that holds its value. Secrets
    themselves have no place in the file. server_metrics, server_metrics_every, server_metrics_table, gpu: as
    the options of these names.
    """

    model_config = _Model

    threads: Annotated[int, Field(ge=1, le=256)] | None = None
    timeout: Annotated[str, AfterValidator(_duration)] | None = None
    slo: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = Field(default_factory=dict)
    tokenizer: str | None = None
    api_key_env: str | None = None
    headers_env: dict[str, str] = Field(default_factory=dict)
    ca_file: _Path | None = None
    server_metrics: str | None = None
    server_metrics_every: Annotated[str, AfterValidator(_duration)] | None = None
    server_metrics_table: _Path | None = None
    gpu: bool | None = None

    def headers(self) -> tuple[str, ...]:
        """`Name: value` of each header of headers_env; ConfigError when a variable is not set. Secret."""
        missing = [variable for variable in self.headers_env.values() if not os.environ.get(variable)]
        if missing:
            raise ConfigError(
                f"measure.headers_env: the environment variable {missing[0]} is not set",
                f"set it, or take it out of {FILE_NAME}",
            )
        return tuple(f"{name}: {os.environ[variable]}" for name, variable in self.headers_env.items())


class StoreSettings(BaseModel):
    """`[store]`: where runs are kept; $PACELINE_HOME goes before it."""

    model_config = _Model

    home: _Path | None = None


class Settings(BaseModel):
    """The whole file. `[gateway]`, `[[model]]` and `[[offer]]` are the gateway's, which checks them."""

    model_config = _Model

    measure: MeasureSettings = Field(default_factory=MeasureSettings)
    store: StoreSettings = Field(default_factory=StoreSettings)
    gateway: Any = Field(default=None, repr=False)
    model: Any = Field(default=None, repr=False)
    offer: Any = Field(default=None, repr=False)


def settings_file(path: Path | None = None) -> tuple[Path, bool]:
    """The file to read, and whether it was named: the given path, $PACELINE_CONFIG, the user's own."""
    if path is not None:
        return path.expanduser(), True
    named = os.environ.get(CONFIG_VARIABLE, "").strip()
    if named:
        return Path(named).expanduser(), True
    from platformdirs import user_config_path

    return user_config_path("paceline", appauthor=False) / FILE_NAME, False


def load_settings(path: Path | None = None) -> Settings:
    """The user's settings; all defaults where there is no file and none was named.

    Raises ConfigError for a named file that is missing, for what is not TOML (with its line), and for keys
    and values that are not known, with the closest name.
    """
    file, named = settings_file(path)
    try:
        text = read_whole(file, _MOST_BYTES).decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        if not named:
            return Settings()
        raise ConfigError(
            f"the config file {file} does not exist", f"check the path of --config or ${CONFIG_VARIABLE}"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(f"the config file {file} cannot be read: {reason}") from None
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        where = f"{file}:{line.group(1)}" if line else str(file)
        raise ConfigError(
            f"{where}: not TOML: {error}", "check quotes, brackets and = on that line"
        ) from None
    except RecursionError:
        raise ConfigError(f"{file}: nested too deeply", "settings have at most three levels") from None
    return validate(Settings, data, str(file))
