"""Stands in for `vllm` of release 0.33.0: its options, the lines of its start, its processes, how it fails.

Seen of the real one (0.33.0's parser, 0.32.0 serving on processors): a connection is refused while it loads,
since the port is bound at once and listened on late; the engine is a child (EngineCore), with a child of its
own for each GPU (Worker).
"""

import argparse
import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

from tests.support.standins.openai_server import FAULT, Handler, Server, bound_socket, load, say
from tests.support.standins.parsers import add_options
from tests.support.standins.words import VLLM_DEATHS, VLLM_REFUSALS

VERSION = "0.33.0"


def main() -> None:
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-v"]):
        print(VERSION)  # noqa: T201
        return
    asked = parsed(arguments)
    log(f"vLLM server version {VERSION}, serving model {asked.model_tag}")
    listening = bound(asked)
    refuse(asked)
    log("Resolved architecture: LlamaForCausalLM")
    stop = Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    core, ready = start_core(asked)
    if wait_for(core, ready, stop):
        serve(asked, listening, core, stop)
    log("[shutdown] API server: shutdown triggered")
    with suppress(ProcessLookupError, ChildProcessError):
        os.kill(core, signal.SIGTERM)
        os.waitpid(core, 0)


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="vllm")
    serve_parser = parser.add_subparsers(dest="subparser", required=True).add_parser("serve")
    serve_parser.add_argument("model_tag", nargs="?")
    add_options(serve_parser, "vllm")
    plain = []
    words = iter(arguments)
    for word in words:
        head, dot, _ = word.partition(".")
        # A part of an option that is a JSON object: the word after it is its value.
        if dot and head.startswith("--") and head.endswith("-config"):
            next(words, None)
            continue
        plain.append(word)
    return parser.parse_args(plain)


def bound(asked: argparse.Namespace) -> socket.socket:
    try:
        return bound_socket(asked.host or "0.0.0.0", int(asked.port or 8000))
    except OSError as error:
        say("Traceback (most recent call last):\n    sock.bind(addr)")
        sys.exit(f"OSError: [Errno {error.errno}] {error.strerror}")


def refuse(asked: argparse.Namespace) -> None:
    model = str(asked.model_tag)
    if model.startswith("/") and not Path(model).exists():
        sys.exit(
            "huggingface_hub.errors.HFValidationError: Repo id must be in the form 'repo_name' or"
            f" 'namespace/repo_name': '{model}'. Use `repo_type` argument if needed."
        )
    if FAULT in VLLM_REFUSALS:
        sys.exit(VLLM_REFUSALS[FAULT])


def start_core(asked: argparse.Namespace) -> tuple[int, int]:
    """The engine's process, and where it says that it is ready. Like the real one it outlives its parent."""
    ready, tell = os.pipe()
    core = os.fork()
    if core:
        os.close(tell)
        return core, ready
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    count = int(asked.tensor_parallel_size or 1)
    living, alive = os.pipe()
    for rank in range(count):
        if os.fork() == 0:
            os.close(alive)
            log(f"rank {rank} in world size {count}", "Worker")
            # Ends when the engine's process does.
            os.read(living, 1)
            os._exit(0)
    log(f"Starting to load model {asked.model_tag}...", "Worker")
    load(0.7)
    if FAULT in VLLM_DEATHS:
        log(
            f"EngineCore failed to start.\nTraceback (most recent call last):\n{VLLM_DEATHS[FAULT]}",
            "EngineCore",
        )
        os._exit(1)
    log("Model loading took 15.2 GiB memory and 3.1 seconds", "Worker")
    log("Available KV cache memory: 5.31 GiB", "Worker")
    load(0.3)
    log("Graph capturing finished in 4 secs, took 0.60 GiB", "Worker")
    log("init engine (profile, create kv cache, warmup model) took 21.01 s", "EngineCore")
    os.write(tell, b"1")
    while True:
        time.sleep(60)


def wait_for(core: int, ready: int, stop: Event) -> bool:
    """True when the engine is ready, False when told to stop; ends where the engine does."""
    while not stop.is_set():
        if select.select([ready], [], [], 0.02)[0]:
            if os.read(ready, 1):
                return True
            os.waitpid(core, 0)
            say("Traceback (most recent call last):")
            sys.exit("RuntimeError: Engine core initialization failed. See root cause above.")
    return False


def serve(asked: argparse.Namespace, listening: socket.socket, core: int, stop: Event) -> None:
    Handler.served_name = (asked.served_model_name or [str(asked.model_tag)])[0]
    if FAULT == "die-serving":
        Handler.after_request = staticmethod(lambda: os.kill(core, signal.SIGKILL))
    log(f"Starting vLLM server on http://{asked.host}:{asked.port}")
    server = Server(listening)
    say("INFO:     Started server process\nINFO:     Application startup complete.")
    Thread(target=server.serve_forever, daemon=True).start()
    while not stop.wait(0.02):
        # A signal to the whole group ends the engine first.
        if os.waitpid(core, os.WNOHANG)[0] and not stop.wait(0.2):
            dead = "EngineCore encountered an issue. See stack trace (above) for the root cause."
            log(f"vllm.v1.engine.exceptions.EngineDeadError: {dead}")
            # As the real one: exit code 0.
            say("INFO:     Shutting down\nINFO:     Application shutdown complete.")
            sys.exit(0)


def log(text: str, process: str = "APIServer") -> None:
    for line in text.splitlines():
        say(f"({process} pid={os.getpid()}) INFO 11-30 20:22:54 [standin.py:1] {line}")
