"""Stands in for `sglang` of release 0.5.23: its options, the lines of its start, its processes, how it fails.

By its source: schedulers and a detokenizer are children; the server listens when they have loaded, answers
503 to `/health` until its own first request was served, and dies by SIGKILL where a scheduler fails.
"""

import argparse
import os
import signal
import socket
import sys
import time
from pathlib import Path
from threading import Thread

from tests.support.standins.openai_server import FAULT, Handler, Server, bound_socket, load, say
from tests.support.standins.parsers import add_options
from tests.support.standins.words import SGLANG_DEATHS, SGLANG_REFUSALS

VERSION = "0.5.23"


class Health:
    """Whether the server's own first request was served, and whether each question costs a token."""

    ready = False
    generates = os.environ.get("SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION", "true").lower() in ("true", "1")

    @classmethod
    def status(cls) -> int:
        if cls.ready and cls.generates:
            time.sleep(1.0)
        return 200 if cls.ready else 503


def main() -> None:
    arguments = sys.argv[1:]
    if arguments == ["version"]:
        print(f"sglang version: {VERSION}")  # noqa: T201
        return
    asked = parsed(arguments)
    log(f"server_args=ServerArgs(model_path='{asked.model_path}')")
    if FAULT in SGLANG_REFUSALS:
        sys.exit(f"Traceback (most recent call last):\n{SGLANG_REFUSALS[FAULT]}")
    model = str(asked.model_path)
    if model.startswith("/") and not Path(model).exists():
        sys.exit(
            f"huggingface_hub.errors.HFValidationError: Repo id must be in the form 'repo_name': '{model}'."
        )
    children = start_children(asked)
    load(0.8)
    if FAULT in SGLANG_DEATHS:
        die(children)
    log(
        "Load weight end. elapsed=12.20 s, type=LlamaForCausalLM, avail mem=7.20 GB.",
        " TP0",
    )
    log("KV Cache is allocated. #tokens: 42211, K size: 2.58 GB, V size: 2.58 GB", " TP0")
    log(
        "max_total_num_tokens=42211, chunked_prefill_size=2048, max_running_requests=48",
        " TP0",
    )
    serve(asked, children)


def parsed(arguments: list[str]) -> argparse.Namespace:
    if arguments[:1] != ["serve"]:
        sys.exit("usage: sglang [-h] {serve,generate,version} ...")
    parser = argparse.ArgumentParser(prog="sglang serve")
    add_options(parser, "sglang")
    asked = parser.parse_args(arguments[1:])
    if asked.model_path is None:
        parser.error("the following arguments are required: --model-path")
    return asked


def start_children(asked: argparse.Namespace) -> list[int]:
    """Schedulers and the detokenizer, which outlive their parent, as processes that hang in a kernel do."""
    children = []
    count = int(asked.tp_size or 1) * int(asked.dp_size or 1)
    for name in (*(f"scheduler TP{rank}" for rank in range(count)), "detokenizer"):
        child = os.fork()
        if child == 0:
            log(f"{name} process {os.getpid()}")
            while True:
                time.sleep(60)
        children.append(child)
    log("Load weight begin. avail mem=23.10 GB", " TP0")
    return children


def die(children: list[int]) -> None:
    log(f"Scheduler hit an exception: Traceback (most recent call last):\n{SGLANG_DEATHS[FAULT]}\n", " TP0")
    log("Received sigquit from a child process. It usually means the child failed.")
    for child in children:
        os.kill(child, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def serve(asked: argparse.Namespace, children: list[int]) -> None:
    host, port = asked.host or "127.0.0.1", int(asked.port or 30000)
    try:
        listening: socket.socket = bound_socket(host, port)
    except OSError as error:
        say(
            f"ERROR:    [Errno {error.errno}] error while attempting to bind on address ('{host}', {port}):"
            " address already in use"
        )
        end(children)
        sys.exit(1)
    Handler.served_name = str(asked.served_model_name or asked.model_path)
    Handler.health = staticmethod(Health.status)
    server = Server(listening)
    say(f"INFO:     Uvicorn running on http://{host}:{port} (Press CTRL+C to quit)")
    signal.signal(signal.SIGTERM, lambda *_: Thread(target=server.shutdown).start())
    Thread(target=warm_up, daemon=True).start()
    server.serve_forever(0.02)
    end(children)


def warm_up() -> None:
    load(0.2)
    Health.ready = True
    log("The server is fired up and ready to roll!")


def end(children: list[int]) -> None:
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def log(text: str, who: str = "") -> None:
    for line in text.splitlines():
        say(f"[2026-11-30 20:22:54{who}] {line}")
