"""Programs that a user names or that lie on the PATH: whether they run here, and what they are."""

import errno
import os
import platform
import re
import signal
import struct
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

# What a program may print of itself; the rest is not read.
_MOST_BYTES = 1 << 20
# e_machine of the ELF header, and the name that `uname -m` has for it.
_ELF_MACHINES = {
    3: "i686",
    40: "armv7l",
    62: "x86_64",
    183: "aarch64",
    243: "riscv64",
    21: "ppc64le",
    22: "s390x",
}
_SAME = {"amd64": "x86_64", "arm64": "aarch64"}


@dataclass(frozen=True, slots=True)
class Said:
    """What a program said before it ended. exit_code: below 0 for the signal that ended it."""

    exit_code: int
    text: str


def unusable(path: Path) -> str | None:
    """Why a file cannot be run here, in words that follow its name; None where nothing speaks against it."""
    try:
        if path.is_dir():
            return "is a folder, not a program"
        with path.open("rb") as file:
            head = file.read(20)
    except FileNotFoundError:
        return "does not exist"
    except NotADirectoryError:
        return "does not exist: a part of that path is a file"
    except OSError as error:
        return f"cannot be read: {os.strerror(error.errno or errno.EIO)}"
    if not os.access(path, os.X_OK):
        return "is not executable"
    made_for = _architecture(head)
    here = _SAME.get(platform.machine().lower(), platform.machine())
    if made_for is not None and made_for != here:
        return f"is a program for {made_for}, and this machine is {here}"
    return None


def ask(
    argv: Sequence[str], options: Sequence[str], environment: Mapping[str, str], timeout_s: float
) -> Said | str:
    """What a program answers to an option such as `--version`, on both outputs; or why it does not.

    It and its children are ended after `timeout_s`.
    """
    with tempfile.TemporaryFile() as out:
        try:
            process = subprocess.Popen(
                [*argv, *options],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
                env={**os.environ, **environment},
            )
        except OSError as error:
            if error.errno == errno.ENOEXEC:
                return "is not a program for this machine"
            return f"cannot be run: {error.strerror or error}"
        except ValueError as error:
            return f"cannot be run: {error}"
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return f"does not answer `{' '.join(options)}` within {timeout_s:g} s"
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        out.seek(0)
        return Said(code, out.read(_MOST_BYTES).decode("utf-8", "replace"))


def missing_library(text: str) -> str | None:
    """The shared library that the loader did not find, from what it says."""
    found = re.search(
        r"error while loading shared libraries: ([^\s:]+)|Library not loaded: (\S+)"
        r"|symbol lookup error: ([^\s:]+)|[^\s:]+: version `[^']+' not found \(required by ([^\s)]+)\)",
        text,
    )
    return next((one for one in found.groups() if one), None) if found else None


def _architecture(head: bytes) -> str | None:
    """Of an ELF file by its first twenty bytes; None for scripts and what is not known."""
    if len(head) < 20 or head[:4] != b"\x7fELF":
        return None
    order = ">" if head[5] == 2 else "<"
    (machine,) = struct.unpack(f"{order}H", head[18:20])
    return _ELF_MACHINES.get(machine)
