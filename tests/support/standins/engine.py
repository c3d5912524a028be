"""An engine for tests that behaves as it is told: `/health` and `/v1/models`, and every way to fail.

python engine.py --port 20001 --load-s 2 --far-children 1 --ignore-term
"""

import argparse
import os
import signal
import socket
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Timer

MODELS = b'{"object": "list", "data": [{"id": "stand-in", "object": "model"}]}'


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--load-s", type=float, default=0.0, help="answers nothing for so long")
    parser.add_argument("--loading-status", type=int, help="but answers this while it loads")
    parser.add_argument("--say", action="append", default=[], help="a line of its log, at the start")
    parser.add_argument("--show", action="append", default=[], help="says the value of this variable")
    parser.add_argument("--fail-at-load", type=int, help="ends with this exit code when it has loaded")
    parser.add_argument("--die-after-s", type=float, help="ends by SIGKILL so long after it was ready")
    parser.add_argument("--die-on", help="ends by SIGKILL on a request of this path")
    parser.add_argument("--ignore-term", action="store_true")
    parser.add_argument("--children", type=int, default=0, help="processes of its own, in its session")
    parser.add_argument("--far-children", type=int, default=0, help="in sessions of their own, orphans")
    parser.add_argument("--hide", action="store_true", help="children have an empty environment")
    parser.add_argument("--flood-bytes", type=int, default=0, help="says so much before it is ready")
    parser.add_argument("--binary", action="store_true", help="says bytes that are no text")
    parser.add_argument("--mute", action="store_true", help="holds the port and never answers")
    parser.add_argument("--reuse-port", action="store_true", help="shares its port, as llama-server does")
    parser.add_argument("--no-output", action="store_true", help="closes stdout and stderr")
    return parser.parse_args(arguments)


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


def wait_for_ever(name: str, *, ignore_term: bool, hide: bool) -> None:
    """What a child does."""
    if ignore_term:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    say(f"{name} {os.getpid()}")
    code = "import signal\nwhile True: signal.pause()"
    os.execve(sys.executable, [sys.executable, "-I", "-S", "-c", code], {} if hide else dict(os.environ))


def start_children(asked: argparse.Namespace) -> None:
    """Until all have said who they are: each closes its copy of the pipe by becoming another program."""
    read, write = os.pipe()
    for _ in range(asked.children):
        if os.fork() == 0:
            wait_for_ever("child", ignore_term=asked.ignore_term, hide=asked.hide)
    for _ in range(asked.far_children):
        first = os.fork()
        if first == 0:
            os.setsid()
            if os.fork() == 0:
                wait_for_ever("far child", ignore_term=asked.ignore_term, hide=asked.hide)
            os._exit(0)
        os.waitpid(first, 0)
    os.close(write)
    os.read(read, 1)
    os.close(read)


class Handler(BaseHTTPRequestHandler):
    ready = False
    loading_status = 503
    die_on: str | None = None

    def do_GET(self) -> None:
        if self.path == self.die_on:
            os.kill(os.getpid(), signal.SIGKILL)
        known = self.path in ("/health", "/v1/models")
        body = MODELS if self.path == "/v1/models" else b"{}"
        self.send_response((200 if self.ready else self.loading_status) if known else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        say(f"request: {format % arguments}")


class Server(ThreadingHTTPServer):
    allow_reuse_address = True
    daemon_threads = True


def server(asked: argparse.Namespace) -> Server:
    made = Server((asked.host, asked.port), Handler, bind_and_activate=False)
    if asked.reuse_port:
        made.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        made.server_bind()
    except OSError as error:
        sys.exit(f"cannot bind {asked.host}:{asked.port}: {error.strerror}")
    made.server_activate()
    return made


def load(asked: argparse.Namespace) -> None:
    for line in asked.say:
        say(line)
    for name in asked.show:
        say(f"{name} is {os.environ.get(name)}")
    for _ in range(asked.flood_bytes // 1_000):
        say("x" * 999)
    if asked.binary:
        os.write(1, bytes(range(256)) * 4 + b"\n")
    time.sleep(asked.load_s)
    if asked.fail_at_load is not None:
        sys.exit(asked.fail_at_load)


def main() -> None:
    asked = parsed(sys.argv[1:])
    if asked.ignore_term:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    start_children(asked)
    if asked.no_output:
        for handle in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), handle)
    Handler.die_on = asked.die_on
    if asked.loading_status is not None:
        Handler.loading_status = asked.loading_status
        Timer(asked.load_s, setattr, (Handler, "ready", True)).start()
        asked.load_s = 0.0
        load(asked)
    else:
        load(asked)
        Handler.ready = True
    serving = server(asked)
    say("ready")
    if asked.die_after_s is not None:
        Timer(asked.die_after_s, os.kill, (os.getpid(), signal.SIGKILL)).start()
    while asked.mute:
        signal.pause()
    serving.serve_forever()


if __name__ == "__main__":
    main()
