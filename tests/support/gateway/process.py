"""A gateway as its user starts it: a `paceline.toml`, the command, and what it leaves in its ledger."""

import contextlib
import json
import os
import re
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import httpx

from paceline.protocols import Protocol
from tests.support.gateway.answers import Answer
from tests.support.gateway.asks import path
from tests.support.gateway.engines import WAIT_S, wait_for

Entry = dict[str, Any]
Config = dict[str, Any]

# What tests do not mean must not happen by itself: no exploring, no probing, no breaker, no end of retries.
CALM = {
    "explore_share": 0.0,
    "retry_share": 1.0,
    "breaker_failures": 1_000,
    "attempts": 4,
}


def toml(value: Any) -> str:
    """A value as TOML writes it; tables inline."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)} = {toml(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml(one) for one in value) + "]"
    return json.dumps(value)


def document(config: Config) -> str:
    """`{"gateway": {...}, "model": [...], "offer": [...]}` as a file."""
    lines = ["[gateway]", *(f"{name} = {toml(value)}" for name, value in config["gateway"].items())]
    for table in ("model", "offer"):
        for one in config.get(table, ()):
            lines += ["", f"[[{table}]]", *(f"{name} = {toml(value)}" for name, value in one.items())]
    return "\n".join(lines) + "\n"


def config_of(*offers: Config, models: tuple[Config, ...] = (), **gateway: Any) -> Config:
    """A whole config; `gateway` is laid over one in which nothing happens by itself."""
    policy = CALM | gateway.pop("policy", {})
    clients = gateway.pop("clients", {})
    base = {
        "listen": "127.0.0.1:0",
        "admin_listen": "127.0.0.1:0",
        "require_key": False,
        "seed": 1,
        "threads": 1,
    }
    whole: Config = {"gateway": {**base, **gateway, "policy": policy}, "offer": list(offers)}
    if clients:
        whole["gateway"]["clients"] = clients
    if models:
        whole["model"] = list(models)
    return whole


def offer(name: str, url: str, **more: Any) -> Config:
    """An offer of the reference engine's model under the name `demo`, which speaks every protocol."""
    every = [
        "openai-chat",
        "openai-completions",
        "openai-responses",
        "openai-embeddings",
        "anthropic-messages",
    ]
    return {
        "id": name, "model": "demo", "base_url": url, "protocol": every, "upstream_model": "truth",
        "price": {"input_usd_per_mtok": 1.0, "output_usd_per_mtok": 2.0},
    } | more  # fmt: skip


def cost_usd(price: Mapping[str, float], prompt: int, completion: int, cached: int = 0) -> float:
    """By hand, from the offer's own price."""
    read = price.get("cache_read_usd_per_mtok", price["input_usd_per_mtok"])
    tokens = (
        (prompt - cached) * price["input_usd_per_mtok"]
        + cached * read
        + completion * price["output_usd_per_mtok"]
    )
    return tokens / 1e6 + price.get("request_usd", 0.0)


class Gateway:
    """A running `paceline gateway`, started by this process and known by its pid. It ends with `kill`."""

    def __init__(
        self,
        home: Path,
        config: Config,
        environment: Mapping[str, str] | None = None,
        verify: ssl.SSLContext | None = None,
    ) -> None:
        self.home = home
        # Who trusts its certificate; none: it speaks plainly.
        self._verify = verify
        self.file = home / "paceline.toml"
        self._environment = dict(environment or {})
        self._process: subprocess.Popen[str] | None = None
        self.url = self.admin = ""
        self.log = home / "gateway.log"
        home.mkdir(parents=True, exist_ok=True)
        self.write(config)

    def write(self, config: Config) -> None:
        """Another configuration, put in place at once."""
        fresh = self.file.with_suffix(".new")
        fresh.write_text(document(config))
        fresh.replace(self.file)
        self.look()

    def look(self) -> None:
        """Have it look at its config and keys now, not within the second."""
        if self._process is not None:
            self.signal(signal.SIGHUP)

    def start(self) -> Self:
        command = [sys.executable, "-m", "paceline", "gateway", "--config", str(self.file), "--json"]
        with self.log.open("a") as log:
            self._process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, "PACELINE_HOME": str(self.home), **self._environment},
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the gateway did not start: {self.log.read_text()}"
        addresses = json.loads(line)
        self.url = f"{'https' if self._verify else 'http'}://{addresses['listen']}"
        self.admin = f"http://{addresses['admin_listen']}"
        wait_for("a gateway that is ready", self._is_ready)
        return self

    def _is_ready(self) -> bool | None:
        with contextlib.suppress(httpx.TransportError):
            return self.get("/readyz").status_code == 200 or None
        return None

    @property
    def pid(self) -> int:
        """Of the control process."""
        assert self._process is not None
        return self._process.pid

    @property
    def data_plane_pid(self) -> int:
        """Of its child, which serves."""
        (child,) = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return int(child)

    def memory_bytes(self) -> int:
        """Resident, of the process that serves."""
        status = Path(f"/proc/{self.data_plane_pid}/status").read_text()
        found = re.search(r"^VmRSS:\s+(\d+) kB", status, re.MULTILINE)
        assert found is not None
        return int(found.group(1)) * 1_024

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def wait(self) -> int:
        """Until it has ended; its exit code."""
        assert self._process is not None
        return self._process.wait(WAIT_S)

    def stop(self) -> None:
        """Ask it to end, and wait until it has."""
        self.signal(signal.SIGTERM)
        self.wait()
        self.kill()

    def kill(self) -> None:
        """End it at once, in whatever state it is: what it would still write is of no interest any more."""
        process = self._process
        if process is None:
            return
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError, ValueError):
                os.kill(self.data_plane_pid, signal.SIGKILL)
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()

    def client(self, **more: Any) -> httpx.Client:
        """A client of its own, with as many connections as it takes."""
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)
        verify = self._verify or False
        return httpx.Client(
            base_url=self.url, timeout=60, trust_env=False, limits=limits, verify=verify, **more
        )

    def ask(
        self,
        protocol: Protocol,
        body: dict[str, Any],
        *,
        client: httpx.Client | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request and all that comes of it."""
        with contextlib.ExitStack() as stack:
            asker = client or stack.enter_context(self.client())
            return read(asker, protocol, body, headers or {})

    def get(self, at: str, headers: Mapping[str, str] | None = None) -> httpx.Response:
        with self.client() as client:
            return client.get(at, headers=dict(headers or {}))

    def metrics(self) -> dict[str, float]:
        """Each sample of the metrics page by its name and labels."""
        lines = httpx.get(f"{self.admin}/metrics", trust_env=False).text.splitlines()
        pairs = (line.rpartition(" ") for line in lines if line and not line.startswith("#"))
        return {name: float(value) for name, _, value in pairs}

    def ledger(self) -> list[Entry]:
        """All entries, in order."""
        folder = self.home / "gateway" / "ledger"
        entries: list[Entry] = []
        for segment in sorted(folder.glob("*.jsonl")):
            # The last piece is a line that is being written, or nothing.
            entries += [json.loads(line) for line in segment.read_bytes().split(b"\n")[:-1]]
        return [entry for entry in entries if "id" in entry]

    def entries(self, requests: int, **wanted: Any) -> list[Entry]:
        """Those whose fields are as wanted, once there are so many."""

        def look() -> list[Entry] | None:
            found = [
                one for one in self.ledger() if all(one[name] == value for name, value in wanted.items())
            ]
            return found if len(found) >= requests else None

        return wait_for(f"{requests} entries with {wanted}", look)

    def entry(self, **wanted: Any) -> Entry:
        """The only one that is as wanted."""
        (found,) = self.entries(1, **wanted)
        return found


def read(
    client: httpx.Client, protocol: Protocol, body: dict[str, Any], headers: Mapping[str, str]
) -> Answer:
    """One request and all that comes of it."""
    answer = Answer(protocol, bool(body.get("stream")))
    try:
        with client.stream("POST", path(protocol), json=body, headers=dict(headers)) as response:
            answer.status, answer.headers = response.status_code, response.headers
            for piece in response.iter_raw():
                answer.raw += piece
    except httpx.TransportError as error:
        answer.broken = f"{type(error).__name__}: {error}"
    return answer


@contextmanager
def gateways(folder: Path) -> Iterator[Any]:
    """Starts gateways, `gateway(config)`, which end with the block."""
    started: list[Gateway] = []

    def start(
        config: Config, environment: Mapping[str, str] | None = None, verify: ssl.SSLContext | None = None
    ) -> Gateway:
        gateway = Gateway(folder / f"home-{len(started)}", config, environment, verify)
        started.append(gateway)
        return gateway.start()

    try:
        yield start
    finally:
        for gateway in started:
            gateway.kill()
