"""What the gateway's benchmarks share: proxies before one reference engine, their CPU and their memory.

- `direct`: no proxy, the floor.
- `nginx`: one worker, `proxy_buffering off`, connections to the engine kept alive, and an access log with
  the upstream's times: a line a request, written when it ends, which is what it has of metering.
- `gateway`: `paceline gateway` with one event loop. A key is needed, with a budget that each request is
  reserved from and settled with; prices are known; each request is a line in the ledger. CPU and memory
  are those of the data plane; the control process, which turns the ledger into stored rows, is counted
  apart.

With two or more cores the proxies run on the last one, and the engine and the load generator on the
first, so that a proxy's figures do not hold the client's turn on the core; without, all share one. The
gateway's control process is on the first.

`PACELINE_BENCH_PROXIES` (`direct,nginx,gateway`) says which are run, `PACELINE_BENCH_NGINX` which nginx.
"""

import json
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from benches import common

CORES = sorted(os.sched_getaffinity(0))
PROXY_CPU = CORES[-1] if len(CORES) > 1 else None
OTHER_CPU = CORES[0] if len(CORES) > 1 else None
START_LIMIT_S = 60
NGINX = os.environ.get("PACELINE_BENCH_NGINX", "nginx")
MODEL = "truth"
CLI = "from paceline.cli.main import main; main()"


class ProxyError(Exception):
    """A proxy could not be started."""


@dataclass
class Proxy:
    """Something to send requests to, and the processes whose CPU and memory are its own."""

    name: str
    address: str
    headers: list[tuple[str, str]] = field(default_factory=list)
    pids: list[int] = field(default_factory=list)
    control_pids: list[int] = field(default_factory=list)
    folder: Path | None = None
    ids: Callable[[], dict[str, str]] | None = None
    admin_address: str | None = None

    def cpu_ns(self) -> int:
        """CPU time of its processes so far."""
        return sum(cpu_ns(pid) for pid in self.pids)

    def control_cpu_ns(self) -> int:
        """CPU time so far of what runs beside: the gateway's control process."""
        return sum(cpu_ns(pid) for pid in self.control_pids)

    def upstream_ids(self) -> dict[str, str]:
        """Ids that it gave its answers -> the engine's; empty where it hands on the engine's."""
        return self.ids() if self.ids else {}

    def memory(self) -> "Memory":
        """Memory of its processes now."""
        return sum((memory(pid) for pid in self.pids), Memory(0, 0, 0, 0))


@dataclass(frozen=True)
class Memory:
    """Resident and proportional set, what is private of it, in bytes; and open descriptors."""

    rss: int
    pss: int
    private: int
    descriptors: int

    def __add__(self, other: "Memory") -> "Memory":
        return Memory(
            self.rss + other.rss,
            self.pss + other.pss,
            self.private + other.private,
            self.descriptors + other.descriptors,
        )


def cpu_ns(pid: int) -> int:
    """CPU time of all threads of a process: the scheduler's count, in ns, where `/proc/PID/stat` has ticks of
    10 ms."""
    return sum(int(path.read_text().split()[0]) for path in Path(f"/proc/{pid}/task").glob("*/schedstat"))


def memory(pid: int) -> Memory:
    """Of `/proc/PID/smaps_rollup` and `/proc/PID/fd`."""
    kib: dict[str, int] = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, value = line.split(":")
        kib[name] = int(value.split()[0])
    return Memory(
        kib["Rss"] * 1024,
        kib["Pss"] * 1024,
        (kib["Private_Clean"] + kib["Private_Dirty"]) * 1024,
        len(list(Path(f"/proc/{pid}/fd").iterdir())),
    )


def children(pid: int) -> list[int]:
    """Processes that a process has started, and that run."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        found += [int(child) for child in task.read_text().split()]
    return sorted(found)


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(done: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    """Waits for a server. ProxyError when it ends, or is not ready in time; it says what the log says."""
    until = time.monotonic() + START_LIMIT_S
    while True:
        if done():
            return
        if process.poll() is not None or time.monotonic() > until:
            lines = log.read_text(errors="replace").strip().splitlines()
            raise ProxyError(f"it does not serve: {lines[-1][:300] if lines else 'no output'}")
        time.sleep(0.05)


def listening(address: str) -> bool:
    """Something takes connections there."""
    host, port = address.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), 1).close()
    except OSError:
        return False
    return True


def answers(url: str) -> bool:
    """The page is there."""
    try:
        with urlopen(url, timeout=2) as response:
            return bool(response.status == 200)
    except OSError:
        return False


@contextmanager
def server(
    command: Sequence[str],
    folder: Path,
    ready: Callable[[], bool],
    env: dict[str, str] | None = None,
    cpu: int | None = PROXY_CPU,
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is `ready`, on a core, with its output in `folder/log.txt`.

    It is told to end by SIGTERM, and where it does not heed that, killed.
    """
    log = folder / "log.txt"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*common.pinned(cpu), *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=os.environ | (env or {}),
            cwd=folder,
        )
    try:
        wait_until(ready, process, log)
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


NGINX_CONF = """
worker_processes 1;
daemon off;
error_log stderr;
pid nginx.pid;
worker_rlimit_nofile {descriptors};
events {{ worker_connections 8192; }}
http {{
  log_format metered '$msec $remote_addr "$request" $status $bytes_sent $request_time'
                     ' $upstream_addr $upstream_status $upstream_header_time $upstream_response_time';
  access_log access.log metered;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  client_body_buffer_size 1m;
  keepalive_requests 100000000;
  keepalive_timeout 600s;
  tcp_nodelay on;
  upstream engine {{ server {engine}; keepalive 4096; keepalive_requests 100000000; }}
  server {{
    listen {address} backlog=4096;
    location / {{
      proxy_pass http://engine;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_read_timeout 600s;
    }}
  }}
}}
"""


@contextmanager
def nginx(engine: str) -> Iterator[Proxy]:
    """nginx before the engine."""
    with tempfile.TemporaryDirectory(prefix="paceline-nginx-") as name:
        folder = Path(name)
        # Its worker is another user where it was started by root.
        folder.chmod(0o755)
        address = f"127.0.0.1:{free_port()}"
        descriptors = min(16_384, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        conf = folder / "nginx.conf"
        conf.write_text(NGINX_CONF.format(engine=engine, address=address, descriptors=descriptors))
        command = [NGINX, "-p", str(folder), "-c", str(conf), "-e", "stderr"]
        with server(command, folder, lambda: listening(address)) as process:
            yield Proxy("nginx", address, [], [process.pid, *children(process.pid)], [], folder)


@contextmanager
def direct(engine: str) -> Iterator[Proxy]:
    """No proxy."""
    yield Proxy("direct", engine)


@contextmanager
def proxies(engine: str) -> Iterator[list[Proxy]]:
    """The proxies that are wanted and here, `direct` first; one that is not here is skipped, in words."""
    starts = {"direct": direct, "nginx": nginx, "gateway": gateway}
    wanted = os.environ.get("PACELINE_BENCH_PROXIES", ",".join(starts)).split(",")
    with ExitStack() as stack:
        running = []
        for name in wanted:
            if name == "nginx" and shutil.which(NGINX) is None:
                print("nginx: not installed, skipped (PACELINE_BENCH_NGINX may name it)")
                continue
            running.append(stack.enter_context(starts[name](engine)))
        yield running


def settle() -> None:
    """Puts this process on the core of engine and clients, and says how things lie on the machine."""
    if OTHER_CPU is None:
        print("one core: proxy, engine and client share it")
        return
    os.sched_setaffinity(0, {OTHER_CPU})
    load = os.getloadavg()[0]
    print(
        f"proxies on core {PROXY_CPU}, engine and client on core {OTHER_CPU}; load average before: {load:.1f}"
    )


def in_turn(running: Sequence[Proxy], rounds: int, seed: int = 1) -> Iterator[Proxy]:
    """Each proxy once a round, in an order drawn anew."""
    draw = random.Random(seed)
    for _ in range(rounds):
        yield from draw.sample(running, len(running))


@contextmanager
def gateway_of(config: str, *, keyed: bool, cpu: int | None = None) -> Iterator[Proxy]:
    """The gateway of a `paceline.toml`, with a home of its own, its data plane on a core.

    `keyed`: a key is made, whose budget is ample.
    """
    with tempfile.TemporaryDirectory(prefix="paceline-gateway-") as name:
        folder = Path(name)
        file = folder / "paceline.toml"
        file.write_text(config)
        env = {"PACELINE_HOME": str(folder / "home")}
        headers = [("authorization", f"Bearer {make_key(env)}")] if keyed else []
        command = [sys.executable, "-c", CLI, "gateway", "--config", str(file), "--json"]

        def listens() -> str | None:
            lines = (folder / "log.txt").read_text(errors="replace").splitlines()
            return next((line for line in lines if "paceline.listening/1" in line), None)

        # The child takes over where its parent may run, and is moved then.
        beside = None if cpu is None else OTHER_CPU
        with server(command, folder, lambda: listens() is not None, env, beside) as process:
            said = json.loads(listens() or "{}")
            planes = children(process.pid)
            for task in (int(path.name) for pid in planes for path in Path(f"/proc/{pid}/task").iterdir()):
                if cpu is not None:
                    os.sched_setaffinity(task, {cpu})
            proxy = Proxy("gateway", said["listen"], headers, planes, [process.pid], folder)
            proxy.admin_address = said["admin_listen"]
            proxy.ids = lambda: upstream_ids(folder)
            yield proxy


def make_key(env: dict[str, str]) -> str:
    """A client's key, by the command that makes one."""
    command = [sys.executable, "-c", CLI, "keys", "create", "bench"]
    command += ["--budget", "month=1000000", "--budget", "total=1000000"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | env)
    return done.stdout.strip()


def ledger(folder: Path) -> Iterator[dict[str, Any]]:
    """The lines of a gateway's ledger (docs/reference/ledger.md)."""
    for segment in sorted((folder / "home" / "gateway" / "ledger").glob("*.jsonl")):
        for line in segment.read_text().splitlines():
            entry = json.loads(line)
            if "attempts" in entry:
                yield entry


def upstream_ids(folder: Path) -> dict[str, str]:
    """Ids that the gateway gave -> the upstream's, of what was served."""
    return {
        entry["id"]: attempt["row"]["response_id"]
        for entry in ledger(folder)
        for attempt in entry["attempts"]
        if attempt["served"]
    }


@contextmanager
def gateway(engine: str) -> Iterator[Proxy]:
    """The gateway with one offer, which is the engine."""
    config = f"""
[gateway]
listen = "127.0.0.1:0"
admin_listen = "127.0.0.1:0"
threads = 1

[[offer]]
id = "engine"
model = "{MODEL}"
base_url = "http://{engine}/v1"
price = {{ input_usd_per_mtok = 1.0, output_usd_per_mtok = 4.0 }}
"""
    with gateway_of(config, keyed=True, cpu=PROXY_CPU) as proxy:
        yield proxy
