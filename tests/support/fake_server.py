"""A small OpenAI-like server in a thread, that misbehaves as told."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]


@dataclass
class Answer:
    """What to send back: a status, headers and a body; `cut` closes before the body is whole."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "application/json"})
    body: bytes = b"{}"
    cut: bool = False


NOT_FOUND = Answer(404, body=b'{"detail": "Not Found"}')


@dataclass
class Seen:
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: Body | None


def error(status: int, message: str, **more: Any) -> Answer:
    return Answer(status, body=json.dumps({"error": {"message": message, **more}}).encode())


def stream(*events: Any, done: bool = True, kind: str = "text/event-stream") -> Answer:
    """Events as data lines; a string goes out as it is."""
    lines = [f"data: {one if isinstance(one, str) else json.dumps(one)}\n\n" for one in events]
    return Answer(headers={"content-type": kind}, body="".join([*lines, "data: [DONE]\n\n" * done]).encode())


def good(body: Body) -> Answer:
    """A well-behaved answer to a request, streaming or whole, chat or completions."""
    chat = "messages" in body
    if not body["stream"]:
        choice = {"message": {"content": "Hi"}} if chat else {"text": "Hi"}
        return Answer(
            body=json.dumps(
                {"model": body["model"], "choices": [choice], "usage": {"completion_tokens": 1}}
            ).encode()
        )
    events: list[Any] = [
        {"model": body["model"], "choices": [{"delta": {"role": "assistant"}} if chat else {"text": ""}]},
        {"model": body["model"], "choices": [{"delta": {"content": "Hi"}} if chat else {"text": "Hi"}]},
    ]
    if "stream_options" in body:
        events.append({"model": body["model"], "choices": [], "usage": {"completion_tokens": 1}})
    return stream(*events)


@dataclass
class FakeServer:
    """Set `on_post` and `paths` to misbehave; `seen` holds what came, in order.

    `on_request` answers a POST to any path, in place of `on_post` and `post_paths`.
    """

    models: tuple[str, ...] | None = ("tiny", "large")
    post_paths: tuple[str, ...] = ("/v1/chat/completions", "/v1/completions")
    on_post: Callable[[Body], Answer] = good
    on_request: Callable[[str, Body], Answer] | None = None
    gets: dict[str, Answer] = field(default_factory=dict)
    extra_headers: dict[str, str] = field(default_factory=dict)
    closes_after_streams: bool = False
    seen: list[Seen] = field(default_factory=list)
    url: str = ""

    def get(self, path: str) -> Answer:
        if path in self.gets:
            return self.gets[path]
        if path == "/v1/models" and self.models is not None:
            listed = {"object": "list", "data": [{"id": name} for name in self.models]}
            return Answer(body=json.dumps(listed).encode())
        return NOT_FOUND

    @property
    def bodies(self) -> list[Body]:
        return [one.body for one in self.seen if one.body is not None]


@contextmanager
def serving(server: FakeServer, tls: ssl.SSLContext | None = None) -> Iterator[FakeServer]:
    """Serve on 127.0.0.1 at a free port until the block ends; `server.url` is its origin."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            self._note(None)
            self._reply(server.get(self.path))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            self._note(body)
            path = self.path.partition("?")[0]
            if server.on_request is not None:
                self._reply(server.on_request(path, body))
            elif path in server.post_paths:
                self._reply(server.on_post(body))
            else:
                self._reply(NOT_FOUND)

        def _note(self, body: Body | None) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            server.seen.append(Seen(self.command, self.path, headers, body))

        def _reply(self, answer: Answer) -> None:
            self.send_response(answer.status)
            for name, value in (answer.headers | server.extra_headers).items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(answer.body) + answer.cut))
            self.end_headers()
            self.wfile.write(answer.body)
            streamed = answer.headers.get("content-type") == "text/event-stream"
            self.close_connection = answer.cut or (streamed and server.closes_after_streams)

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    if tls is not None:
        http.socket = tls.wrap_socket(http.socket, server_side=True)
    server.url = f"{'https' if tls else 'http'}://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
