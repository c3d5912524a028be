"""Programs that cannot be run say why; those that can answer within bounds."""

import os
import platform
import time
from pathlib import Path

import pytest

from paceline.engines.binary import Said, ask, missing_library, unusable

OTHER = 183 if platform.machine() == "x86_64" else 62


def program(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


def elf(path: Path, machine: int) -> Path:
    path.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00" + machine.to_bytes(2, "little"))
    path.chmod(0o755)
    return path


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_what_speaks_against_a_file(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("text")
    assert unusable(tmp_path / "none") == "does not exist"
    assert unusable(plain / "below") == "does not exist: a part of that path is a file"
    assert unusable(tmp_path) == "is a folder, not a program"
    assert unusable(plain) == "is not executable"
    assert unusable(program(tmp_path / "script", "#!/bin/sh\n")) is None


def test_a_program_for_another_machine_is_named_as_such(tmp_path: Path) -> None:
    said = unusable(elf(tmp_path / "other", OTHER))
    assert said is not None
    assert said.startswith(f"is a program for {'aarch64' if OTHER == 183 else 'x86_64'}")
    assert said.endswith(f"this machine is {platform.machine()}")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    hidden = program(tmp_path / "hidden", "#!/bin/sh\n")
    hidden.chmod(0o111)
    assert unusable(hidden) == "cannot be read: Permission denied"


def test_both_outputs_are_read(tmp_path: Path) -> None:
    script = program(tmp_path / "script", '#!/bin/sh\necho "$1 $MORE"; echo bad >&2; exit 3\n')
    said = ask([str(script)], ["--version"], {"MORE": "more"}, 20.0)
    assert said == Said(3, "--version more\nbad\n")


def test_a_program_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    script = program(tmp_path / "script", f"#!/bin/sh\nsleep 1000 &\necho $! > {tmp_path}/child\nwait\n")
    # Long enough that the child has been written down, even under load.
    said = ask([str(script)], ["--help"], {}, 1.0)
    assert said == "does not answer `--help` within 1 s"
    child = int((tmp_path / "child").read_text())
    deadline = time.monotonic() + 20.0
    while lives(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not lives(child)


def test_what_is_no_program_is_no_crash(tmp_path: Path) -> None:
    nothing = tmp_path / "nothing"
    nothing.write_bytes(bytes(64))
    nothing.chmod(0o755)
    assert ask([str(nothing)], [], {}, 20.0) == "is not a program for this machine"
    assert ask([str(tmp_path / "none")], [], {}, 20.0) == "cannot be run: No such file or directory"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "x: error while loading shared libraries: libllama.so.0: cannot open shared object",
            "libllama.so.0",
        ),
        ("./x: /lib/libc.so.6: version `GLIBC_2.38' not found (required by ./x)", "./x"),
        ("x: symbol lookup error: /a/libx.so: undefined symbol: f", "/a/libx.so"),
        ("all is well", None),
    ],
)
def test_the_library_that_the_loader_misses(text: str, name: str | None) -> None:
    assert missing_library(text) == name
