"""Workload files: those that are built in, by name, and a user's own, by path."""

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from paceline.config import closest
from paceline.errors import ConfigError
from paceline.workloads.spec import WorkloadSpec

# Far above any file that a person writes; a wrong path may lead to anything.
MAX_FILE_BYTES = 1_000_000


def built_in_names() -> list[str]:
    """Names of the built-in workloads, in order."""
    folder = files("paceline.workloads").joinpath("built_in")
    return sorted(one.name.removesuffix(".toml") for one in folder.iterdir() if one.name.endswith(".toml"))


def built_in_text(name: str) -> str:
    """The file of a built-in workload as it was written. Raises ConfigError for a name that there is not."""
    names = built_in_names()
    if name not in names:
        raise _unknown(name, names)
    return files("paceline.workloads").joinpath(f"built_in/{name}.toml").read_text(encoding="utf-8")


def load_workload(name_or_path: str) -> WorkloadSpec:
    """The built-in workload of that name, else the file at that path.

    A workload without a name is called as its file; paths in `[data]` and `[trace]` start from the file's
    folder. Raises ConfigError that says what is wrong, in which file, and under which key.
    """
    names = built_in_names()
    if name_or_path in names:
        return parse_workload(built_in_text(name_or_path), f"built-in workload {name_or_path}")
    path = Path(name_or_path).expanduser()
    if not path.exists():
        raise _unknown(name_or_path, names)
    data = _toml(_read(path), str(path))
    data.setdefault("name", path.stem)
    for section in ("data", "trace"):
        _from_folder(data.get(section), path.parent)
    return WorkloadSpec.parse(data, str(path))


def parse_workload(text: str, where: str) -> WorkloadSpec:
    """A workload from the text of its file. Raises ConfigError."""
    return WorkloadSpec.parse(_toml(text, where), where)


def _toml(text: str, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"{where} is not TOML: {error}", "`paceline workload show chat` prints one that is"
        ) from None
    except RecursionError:
        raise ConfigError(f"{where} is nested too deeply", "a workload has at most four levels") from None


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_FILE_BYTES + 1)
        if len(raw) > MAX_FILE_BYTES:
            raise ConfigError(
                f"{path} has more than {MAX_FILE_BYTES:,} bytes",
                "a workload file is short; is it another's path?",
            )
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8: byte {error.start}", "save it as UTF-8") from None
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}", "give the path of a workload file (.toml)"
        ) from None


def _from_folder(section: Any, folder: Path) -> None:
    """A relative `path` starts from the folder of the file that it stands in."""
    if isinstance(section, dict) and isinstance(section.get("path"), str):
        given = Path(section["path"]).expanduser()
        section["path"] = str(given if given.is_absolute() else folder / given)


def _unknown(name: str, names: list[str]) -> ConfigError:
    near = closest(name, names)
    hint = f"did you mean {near}? " if near else ""
    return ConfigError(
        f"workload {name!r} is neither built in nor a file",
        f"{hint}built in are: {', '.join(names)}; a path leads to a file of your own",
    )
