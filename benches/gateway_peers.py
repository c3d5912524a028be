"""Other gateways beside Paceline's, before the same reference engine.

Each runs by its own command, as its guide says, with one upstream and what it has of logging left as it
is:

- LiteLLM (`litellm[proxy]==1.106.5`, PyPI): one worker, a master key;
- Portkey (`@portkey-ai/gateway` 1.15.2, npm, with `@hono/node-server` 1.13.7 and `hono` 4.9.7: with the
  newest of them its streams fail under Node 20);
- smg, the Shepherd Model Gateway (`smg`, PyPI): `launch` with the engine as its worker;
- nginx and no proxy, as in `gateway_cpu` and `gateway_ttft`.

A closed loop of 64 streams of 100 tok/s, 100 tokens an answer, in turn, in an order drawn anew each
round:

- CPU a chunk, of all processes of the gateway (of Paceline's the data plane; its control process apart),
  and its ratio to Paceline's;
- TTFT beyond the engine's own, p50 and p99, and what of it is the gateway's: the difference to no proxy;
- `reached`: the share of the load that would have gone through in that time if nothing were late. Below
  about 90 % a gateway is saturated, and its TTFT is that of a queue;
- resident memory after it.

They are found by `PACELINE_BENCH_LITELLM`, `PACELINE_BENCH_SMG` (commands) and `PACELINE_BENCH_PORTKEY`
(the folder of the npm package), or on the PATH; one that is not there, or does not answer, is skipped, in
words.
"""

import json
import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from benches import common, gateway_proxy
from benches.common import Floats
from benches.gateway_proxy import (
    MODEL,
    Proxy,
    ProxyError,
    answers,
    children,
    free_port,
    in_turn,
    server,
    settle,
)

ROUNDS = int(os.environ.get("PACELINE_BENCH_ROUNDS", "3"))
STREAMS, ANSWERS_A_STREAM, OUTPUT_TOKENS = 64, 3, 100
TTFT_US, ITL_US = 50_000, 10_000
KEY = "sk-paceline-bench"

Start = Callable[[str], AbstractContextManager[Proxy]]


@dataclass(frozen=True)
class Block:
    """One run through one gateway."""

    cpu_us: float
    reached: float
    seen: list[common.Seen]


def tree(pid: int) -> list[int]:
    """A process and all that it has started."""
    return [pid, *(one for child in children(pid) for one in tree(child))]


@contextmanager
def peer(
    name: str,
    command: Callable[[int, Path], list[str]],
    ready_path: str,
    headers: list[tuple[str, str]],
    env: dict[str, str] | None = None,
) -> Iterator[Proxy]:
    """A gateway whose command is made of its port and a folder of its own."""
    with TemporaryDirectory(prefix=f"paceline-{name}-") as text:
        folder, port = Path(text), free_port()
        address = f"127.0.0.1:{port}"
        own = {"HOME": text, "NO_PROXY": "127.0.0.1", "DO_NOT_TRACK": "1"} | (env or {})
        ready = f"http://{address}{ready_path}"
        with server(command(port, folder), folder, lambda: answers(ready), own) as process:
            yield Proxy(name, address, headers, tree(process.pid), [], folder)


@contextmanager
def litellm(engine: str) -> Iterator[Proxy]:
    program = found("litellm", "PACELINE_BENCH_LITELLM")

    def command(port: int, folder: Path) -> list[str]:
        params = {"model": f"openai/{MODEL}", "api_base": f"http://{engine}/v1", "api_key": "none"}
        document = {
            "model_list": [{"model_name": MODEL, "litellm_params": params}],
            "general_settings": {"master_key": KEY},
        }
        # JSON is YAML.
        (folder / "config.yaml").write_text(json.dumps(document))
        return [program, "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port)]

    env = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False"}
    with peer("litellm", command, "/health/liveliness", bearer(), env) as proxy:
        yield proxy


@contextmanager
def portkey(engine: str) -> Iterator[Proxy]:
    folder = os.environ.get("PACELINE_BENCH_PORTKEY", "node_modules/@portkey-ai/gateway")
    script = Path(folder) / "build" / "start-server.js"
    node = shutil.which("node")
    if node is None or not script.is_file():
        raise ProxyError("not installed (PACELINE_BENCH_PORTKEY may name the package's folder)")
    headers = [
        *bearer(),
        ("x-portkey-provider", "openai"),
        ("x-portkey-custom-host", f"http://{engine}/v1"),
    ]

    def command(port: int, _: Path) -> list[str]:
        return [node, str(script.absolute()), f"--port={port}", "--headless"]

    env = {"NODE_ENV": "production", "TRUSTED_CUSTOM_HOSTS": "127.0.0.1,localhost"}
    with peer("portkey", command, "/", headers, env) as proxy:
        yield proxy


@contextmanager
def smg(engine: str) -> Iterator[Proxy]:
    program = found("smg", "PACELINE_BENCH_SMG")

    def command(port: int, folder: Path) -> list[str]:
        return [
            *(program, "launch", "--host", "127.0.0.1", "--port", str(port)),
            *("--worker-urls", f"http://{engine}", "--policy", "round_robin"),
            *("--model-path", MODEL, "--disable-tokenizer-autoload", "--log-dir", str(folder)),
            *("--prometheus-port", str(free_port()), "--prometheus-host", "127.0.0.1"),
        ]

    with peer("smg", command, "/readiness", []) as proxy:
        yield proxy


def found(name: str, variable: str) -> str:
    program = shutil.which(os.environ.get(variable) or name)
    if program is None:
        raise ProxyError(f"not installed ({variable} may name it)")
    return str(Path(program).absolute())


def bearer() -> list[tuple[str, str]]:
    return [("authorization", f"Bearer {KEY}")]


def run_block(proxy: Proxy) -> Block:
    requests = STREAMS * ANSWERS_A_STREAM
    before = proxy.cpu_ns()
    spec = common.load_spec(proxy, STREAMS, requests, headers=proxy.headers)
    load = common.run_load(spec, common.bodies(requests, OUTPUT_TOKENS))
    cpu_us = (proxy.cpu_ns() - before) / 1e3 / (requests * OUTPUT_TOKENS)
    least_ns = ANSWERS_A_STREAM * (TTFT_US + (OUTPUT_TOKENS - 1) * ITL_US) * 1_000
    return Block(cpu_us, least_ns / load.progress["elapsed_ns"], load.seen())


def beyond_engine_ms(
    blocks: list[Block], truths: dict[str, common.Truth], ids: dict[str, str]
) -> Floats | None:
    """TTFT beyond the engine's own; None where a gateway's ids cannot be joined to the engine's."""
    values = []
    for one in (one for block in blocks for one in block.seen):
        truth = truths.get(ids.get(one.response_id, one.response_id))
        if truth is None:
            return None
        values.append(one.events_ns[0] - one.sent_ns - (truth.events_ns[0] - truth.received_ns))
    return np.array(values, dtype=np.float64) / 1e6


def row(
    proxy: Proxy, blocks: list[Block], beyond_ms: Floats | None, direct: Floats, ours_us: float
) -> list[str]:
    cpu_us = median(one.cpu_us for one in blocks)
    cells = [proxy.name]
    cells += [f"{cpu_us:.1f}", f"{cpu_us / ours_us:.1f}"] if proxy.pids else ["", ""]
    if beyond_ms is None:
        cells += ["?", "?", "?", "?"]
    else:
        p50, p99 = np.percentile(beyond_ms, [50, 99])
        floor50, floor99 = np.percentile(direct, [50, 99])
        cells += [f"{value:.2f}" for value in (p50, p99, p50 - floor50, p99 - floor99)]
    cells.append(f"{100 * median(one.reached for one in blocks):.0f} %")
    cells.append(f"{proxy.memory().rss / 1e6:.0f}" if proxy.pids else "")
    return cells


STARTS: dict[str, Start] = {"litellm": litellm, "portkey": portkey, "smg": smg}


def main() -> None:
    settle()
    skipped: list[str] = []
    with common.reference_engine(TTFT_US, ITL_US, OUTPUT_TOKENS) as engine, ExitStack() as stack:
        running = stack.enter_context(gateway_proxy.proxies(engine.address))
        for name, start in STARTS.items():
            try:
                proxy = stack.enter_context(start(engine.address))
                run_block(proxy)
                running.append(proxy)
            except (ProxyError, RuntimeError) as problem:
                skipped.append(f"{name}: skipped, since {str(problem)[:300]}")
        blocks: dict[str, list[Block]] = defaultdict(list)
        for proxy in in_turn(running, ROUNDS):
            blocks[proxy.name].append(run_block(proxy))
        ids = {ours: its for proxy in running for ours, its in proxy.upstream_ids().items()}
        truths = engine.finish()
        beyond = {name: beyond_engine_ms(mine, truths, ids) for name, mine in blocks.items()}
        ours = blocks.get("gateway") or blocks["nginx"]
        ours_us = median(one.cpu_us for one in ours)
        direct = beyond["direct"]
        assert direct is not None
        rows = [row(proxy, blocks[proxy.name], beyond[proxy.name], direct, ours_us) for proxy in running]
    print(f"{STREAMS} streams of 100 tok/s, {ROUNDS} rounds; CPU a chunk in us, TTFT beyond the engine in ms")
    header = ["gateway", "CPU", "ratio", "TTFT p50", "p99", "added p50", "p99", "reached", "RSS MB"]
    common.table(header, rows)
    for line in skipped:
        print(line)


if __name__ == "__main__":
    main()
