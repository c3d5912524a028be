"""What the stand-ins of Python engines share: a server that streams text, and what they are told to do.

PACELINE_STANDIN names a fault; PACELINE_STANDIN_LOAD_S is how long loading takes.
"""

import json
import os
import socket
import sys
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

FAULT = os.environ.get("PACELINE_STANDIN", "")
LOAD_S = float(os.environ.get("PACELINE_STANDIN_LOAD_S", "0.2"))
# Words that greedy decoding writes, whatever was asked.
TEXT = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201


def load(share: float = 1.0) -> None:
    time.sleep(LOAD_S * share)


class Handler(BaseHTTPRequestHandler):
    """Chat by the OpenAI protocol. Set on the class: its name, its health, what a request sets off."""

    protocol_version = "HTTP/1.1"
    served_name = ""
    usual_tokens = 16
    has_models = True
    health: Callable[[], int] = staticmethod(lambda: 200)
    after_request: Callable[[], None] = staticmethod(lambda: None)

    def do_GET(self) -> None:
        if self.path == "/health":
            self._answer(type(self).health(), b"")
        elif self.path == "/v1/models" and self.has_models:
            models = [{"id": self.served_name, "object": "model", "owned_by": "x"}]
            self._answer(200, json.dumps({"object": "list", "data": models}).encode())
        else:
            self._answer(404, b'{"detail":"Not Found"}')

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))))
        if self.path != "/v1/chat/completions":
            self._answer(404, b'{"detail":"Not Found"}')
        elif self.served_name and asked.get("model") != self.served_name:
            self._answer(404, b'{"error":{"message":"The model does not exist.","code":404}}')
        else:
            self._stream(asked)
            type(self).after_request()

    def _stream(self, asked: dict[str, Any]) -> None:
        wanted = asked.get("max_tokens") or asked.get("max_completion_tokens") or self.usual_tokens
        count = int(wanted) if asked.get("ignore_eos") else min(int(wanted), self.usual_tokens)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Connection", "close")
        self.end_headers()
        self._event(asked, {"role": "assistant", "content": ""}, None)
        for number in range(count):
            last = number == count - 1
            word = f" {TEXT[number % len(TEXT)]}"
            self._event(asked, {"content": word}, ("length" if count == wanted else "stop") if last else None)
        if (asked.get("stream_options") or {}).get("include_usage"):
            usage = {"prompt_tokens": 7, "completion_tokens": count, "total_tokens": 7 + count}
            self._event(asked, None, None, usage)
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def _event(
        self,
        asked: dict[str, Any],
        delta: dict[str, str] | None,
        finish: str | None,
        usage: dict[str, int] | None = None,
    ) -> None:
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
        chunk: dict[str, Any] = {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": asked.get("model"),
            "choices": choices,
        }
        if usage is not None:
            chunk["usage"] = usage
        self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        say(f"INFO:     {self.client_address[0]}:{self.client_address[1]} - {format % arguments}")


class Server(ThreadingHTTPServer):
    """Listens on a socket that was bound before."""

    daemon_threads = True

    def __init__(self, bound: socket.socket) -> None:
        super().__init__(bound.getsockname(), Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = bound
        self.server_activate()


def bound_socket(host: str, port: int) -> socket.socket:
    """Bound, not listening: a client is refused. Raises OSError."""
    made = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((host, port))
    return made
