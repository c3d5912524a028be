"""Engines that are Python packages: the program that starts one, and its release, without importing it."""

import importlib.util
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from paceline.engines.binary import Said, ask, unusable

_ANSWER_S = 60.0
_HEAD_BYTES = 64 * 1024
_INTERPRETER = re.compile(r"(/[^\s'\"]*/python[\w.]*)")


@dataclass(frozen=True, slots=True)
class Package:
    """What to look for. module: its name in Python. program: its console script.

    distributions: names that it has on an index, the usual one first. run: module that `python -m` starts, as
    the program does; None where there is none.
    """

    module: str
    program: str
    distributions: tuple[str, ...]
    run: str | None


@dataclass(frozen=True, slots=True)
class Program:
    """argv: what starts it. found: where it was found, in words. libraries: where its packages lie."""

    argv: tuple[str, ...]
    found: str
    version: str | None
    libraries: Path | None

    def has(self, distribution: str) -> bool:
        """Whether another package lies beside it."""
        return self.libraries is not None and _release(self.libraries, distribution) is not None


def find_program(package: Package, given: Path | None) -> Program | str:
    """The program that was given, else the one on the PATH, else the package beside Paceline; or why not."""
    if given is not None:
        return _of_script(package, given.expanduser(), "given")
    on_path = shutil.which(package.program)
    reasons = []
    if on_path is not None:
        found = _of_script(package, Path(on_path), "on the PATH")
        if isinstance(found, Program):
            return found
        reasons.append(found)
    beside = _beside(package)
    if beside is not None:
        return beside
    return "; ".join(reasons) or f"no {package.program} on the PATH, and no Python package {package.module}"


def _of_script(package: Package, script: Path, found: str) -> Program | str:
    reason = unusable(script)
    if reason is not None:
        return f"{script} {reason}"
    absolute = script.absolute()
    head = _head(absolute)
    if package.module not in head and absolute.name != package.program:
        return f"{script} is not a program of {package.module}"
    libraries = next((one for one in _libraries(absolute, head) if _version(package, one)), None)
    version = _version(package, libraries) if libraries else _asked(absolute)
    return Program((str(absolute),), found, version, libraries)


def _head(script: Path) -> str:
    """The beginning of a script; empty for a program in machine code."""
    try:
        with script.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return ""
    return head.decode("utf-8", "replace") if head.startswith(b"#!") else ""


def _libraries(script: Path, head: str) -> Iterator[Path]:
    """Folders of packages of the interpreter that a script names, or of the environment that it lies in."""
    named = _INTERPRETER.search(head[:1024])
    for binary in ([Path(named.group(1))] if named else []) + [script, script.resolve()]:
        for pattern in ("lib/python3*/site-packages", "lib/python3*/dist-packages"):
            yield from sorted(binary.parent.parent.glob(pattern))


def _version(package: Package, libraries: Path) -> str | None:
    for name in package.distributions:
        release = _release(libraries, name)
        if release is not None:
            return release
    return None


def _release(libraries: Path, distribution: str) -> str | None:
    """By the name of the folder that an installer leaves beside a package."""
    stem = distribution.replace("-", "_")
    for folder in libraries.glob(f"{stem}-*.dist-info"):
        return folder.name.removeprefix(f"{stem}-").removesuffix(".dist-info")
    return None


def _asked(script: Path) -> str | None:
    """By its own word. It may load for long, and may refuse to on a machine that it cannot serve."""
    said = ask((str(script),), ("--version",), {}, _ANSWER_S)
    if not isinstance(said, Said) or said.exit_code != 0:
        return None
    found = re.search(r"\b\d+\.\d+[\w.+]*", said.text)
    return found.group(0) if found else None


def _beside(package: Package) -> Program | None:
    """The package in the environment that Paceline itself runs in. It is not imported."""
    try:
        spec = importlib.util.find_spec(package.module)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent
    version = None
    for name in package.distributions:
        try:
            version = version or metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    script = Path(sys.executable).with_name(package.program)
    where = f"the Python package {package.module} beside Paceline"
    if script.exists():
        return Program((str(script),), where, version, folder.parent)
    if package.run is None:
        return None
    return Program((sys.executable, "-m", package.run), where, version, folder.parent)
