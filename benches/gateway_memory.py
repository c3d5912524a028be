"""Memory of a proxy at 1,000 streams at once, after them, and with 1,000 idle connections, beside nginx.

1,000 streams of 20 tok/s, each of 200 tokens, all at once: memory is read ten times while all are under
way, and the most counts. Then 5 s after the last has ended, and then with 1,000 more connections on which
one request was made and nothing follows. Target: under 64 MB of resident memory at 1,000 streams.

Resident (RSS) counts all pages of a process, shared ones too; PSS counts shared ones in parts. nginx'
figures are those of its master and its worker together; the gateway's those of its data plane, with its
control process apart. `descriptors` are the open ones, of which a stream needs two.
"""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from benches import common
from benches.gateway_proxy import Memory, Proxy, memory, proxies, settle

STREAMS = 1_000
IDLE = 1_000
OUTPUT_TOKENS = 200
TTFT_US, ITL_US = 500_000, 50_000
LOOKS = 10


def at_streams(proxy: Proxy) -> Memory:
    """The most memory that was seen while all streams were under way."""
    spec = common.load_spec(proxy, STREAMS, STREAMS, headers=proxy.headers)
    problems: list[Exception] = []

    def load() -> None:
        try:
            common.run_load(spec, common.bodies(STREAMS, OUTPUT_TOKENS))
        except RuntimeError as problem:
            problems.append(problem)

    before = proxy.memory().descriptors
    thread = threading.Thread(target=load)
    thread.start()
    seen: list[Memory] = []
    for _ in range(LOOKS):
        time.sleep(0.75)
        now = proxy.memory()
        if now.descriptors - before >= 2 * STREAMS - 50:
            seen.append(now)
    thread.join()
    if problems:
        raise problems[0]
    if not seen:
        raise RuntimeError(f"{proxy.name} never had {STREAMS} streams at once")
    return max(seen, key=lambda one: one.rss)


@contextmanager
def idle_connections(proxy: Proxy) -> Iterator[None]:
    """Connections on which one request was answered, and nothing follows."""
    host, port = proxy.address.rsplit(":", 1)
    message = {"role": "user", "content": "Say something."}
    body = json.dumps({"model": "truth", "messages": [message], "max_tokens": 1}).encode()
    headers = "".join(f"{name}: {value}\r\n" for name, value in proxy.headers)
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: {proxy.address}\r\ncontent-type: application/json\r\n"
        f"{headers}content-length: {len(body)}\r\n\r\n"
    )
    sockets = [socket.create_connection((host, int(port))) for _ in range(IDLE)]
    try:
        for one in sockets:
            one.sendall(head.encode() + body)
        for one in sockets:
            if b" 200 " not in one.recv(65_536):
                raise RuntimeError(f"{proxy.name} did not answer on an idle connection")
        yield
    finally:
        for one in sockets:
            one.close()


def cells(proxy: Proxy, when: str, seen: Memory) -> list[str]:
    beside = sum(memory(pid).rss for pid in proxy.control_pids)
    return [
        proxy.name,
        when,
        *(f"{value / 1e6:.1f}" for value in (seen.rss, seen.pss, seen.private)),
        str(seen.descriptors),
        f"{beside / 1e6:.0f}" if beside else "",
    ]


def main() -> None:
    settle()
    rows = []
    with common.reference_engine(TTFT_US, ITL_US, OUTPUT_TOKENS) as engine, proxies(engine.address) as all_:
        for proxy in all_:
            if not proxy.pids:
                continue
            rows.append(cells(proxy, "at its start", proxy.memory()))
            rows.append(cells(proxy, f"{STREAMS:,} streams", at_streams(proxy)))
            time.sleep(5)
            rows.append(cells(proxy, "5 s after", proxy.memory()))
            with idle_connections(proxy):
                time.sleep(1)
                rows.append(cells(proxy, f"{IDLE:,} idle", proxy.memory()))
    print("memory in MB (target: the gateway's RSS under 64 at 1,000 streams)")
    common.table(["proxy", "", "RSS", "PSS", "private", "descriptors", "control RSS"], rows)


if __name__ == "__main__":
    main()
