"""CPU that a proxy takes for a streamed chunk, and for a small call that is no stream, beside nginx.

- A streamed chunk: 64 and 512 streams in a closed loop, each of 100 tok/s, an event a token, 100 tokens
  an answer. What a request itself costs is in it, shared among its 100 chunks. Target: the gateway at
  most 1.5 times nginx.
- A small call: answers of 8 tokens, no stream, arriving evenly at 1,000 a second. Target: at most 2
  times.

nginx writes its access log; the gateway checks a key, reserves and settles its budget, reads every event
for tokens and times, and writes its ledger. The two run in turn, in an order drawn anew each round; the
ratio is of the medians, and its range is that of the rounds. `reached` is the share of the load that
would have gone through in that time if nothing were late, `merged` the share of chunks that came to the
client in one read with another: what is merged is cheaper, so the ratio holds where the two are about
alike in it. `control` is the gateway's control process, beside its data plane and not on a request's
path.

`PACELINE_BENCH_ROUNDS` (5) says how many rounds.
"""

import json
import os
from collections import defaultdict
from dataclasses import dataclass
from statistics import median

import pyarrow as pa
import pyarrow.compute as pc

from benches import common
from benches.gateway_proxy import MODEL, Proxy, in_turn, proxies, settle

ROUNDS = int(os.environ.get("PACELINE_BENCH_ROUNDS", "5"))
OUTPUT_TOKENS = 100
TTFT_US, ITL_US = 50_000, 10_000
ANSWERS_A_STREAM = 4
CALLS_S, CALL_SECONDS, CALL_TOKENS = 1_000, 4, 8


@dataclass(frozen=True)
class Block:
    """One run through a proxy: CPU a unit (a chunk, a call) in us, the share reached of the schedule, and the
    share of chunks that shared a read."""

    cpu_us: float
    control_us: float
    reached: float
    merged: float


def streamed(proxy: Proxy, streams: int) -> Block:
    """A closed loop; a unit is a chunk."""
    requests = streams * ANSWERS_A_STREAM
    before = proxy.cpu_ns(), proxy.control_cpu_ns()
    spec = common.load_spec(proxy, streams, requests, headers=proxy.headers)
    load = common.run_load(spec, common.bodies(requests, OUTPUT_TOKENS))
    after = proxy.cpu_ns(), proxy.control_cpu_ns()
    chunks = requests * OUTPUT_TOKENS
    least_ns = ANSWERS_A_STREAM * (TTFT_US + (OUTPUT_TOKENS - 1) * ITL_US) * 1_000
    coalesced = pc.list_flatten(load.rows["event_coalesced"])
    merged = pc.mean(coalesced.cast(pa.float64())).as_py()
    return block(before, after, chunks, least_ns / load.progress["elapsed_ns"], merged)


def called(proxy: Proxy) -> Block:
    """An open loop; a unit is a call."""
    calls = CALLS_S * CALL_SECONDS
    message = {"role": "user", "content": "Say something."}
    body = json.dumps({"model": MODEL, "messages": [message], "max_tokens": CALL_TOKENS}).encode()
    before = proxy.cpu_ns(), proxy.control_cpu_ns()
    spec = common.load_spec(
        proxy,
        1,
        calls,
        headers=proxy.headers,
        streaming=False,
        arrival={"kind": "constant", "rate_requests_s": CALLS_S},
    )
    load = common.run_load(spec, pa.record_batch({"body": pa.array([body] * calls, pa.binary())}))
    after = proxy.cpu_ns(), proxy.control_cpu_ns()
    return block(before, after, calls, CALL_SECONDS * 1e9 / load.progress["elapsed_ns"], 0.0)


def block(
    before: tuple[int, int], after: tuple[int, int], units: int, reached: float, merged: float
) -> Block:
    cpu_us, control_us = ((end - start) / units / 1e3 for start, end in zip(before, after, strict=True))
    return Block(cpu_us, control_us, reached, merged)


def row(load: str, name: str, blocks: list[Block], floor: list[Block]) -> list[str]:
    cpu_us = median(one.cpu_us for one in blocks)
    ratios = sorted(mine.cpu_us / its.cpu_us for mine, its in zip(blocks, floor, strict=True))
    return [
        load,
        name,
        f"{cpu_us:.2f}",
        f"{cpu_us / median(one.cpu_us for one in floor):.2f}",
        f"{ratios[0]:.2f} to {ratios[-1]:.2f}",
        f"{median(one.control_us for one in blocks):.2f}",
        f"{100 * median(one.reached for one in blocks):.0f} %",
        f"{100 * median(one.merged for one in blocks):.0f} %",
    ]


def rows(load: str, blocks: dict[str, list[Block]]) -> list[list[str]]:
    """The peer first, and without it no ratio but to the gateway itself."""
    floor = blocks.get("nginx") or next(iter(blocks.values()))
    return [row(load, name, blocks[name], floor) for name in sorted(blocks, reverse=True)]


def main() -> None:
    settle()
    found: list[list[str]] = []
    with common.reference_engine(TTFT_US, ITL_US, OUTPUT_TOKENS) as engine, proxies(engine.address) as all_:
        counted = [proxy for proxy in all_ if proxy.pids]
        for streams in (64, 512):
            blocks: dict[str, list[Block]] = defaultdict(list)
            for proxy in in_turn(counted, ROUNDS):
                blocks[proxy.name].append(streamed(proxy, streams))
            found += rows(f"chunk, {streams} streams", blocks)
    with common.reference_engine(1_000, 0, CALL_TOKENS) as engine, proxies(engine.address) as all_:
        calls: dict[str, list[Block]] = defaultdict(list)
        for proxy in in_turn([proxy for proxy in all_ if proxy.pids], ROUNDS):
            calls[proxy.name].append(called(proxy))
        found += rows(f"call, {CALLS_S:,} a second", calls)
    print("CPU in us; targets: at most 1.5 times nginx a chunk, at most 2 times a call")
    common.table(["load", "proxy", "CPU", "ratio", "range", "control", "reached", "merged"], found)


if __name__ == "__main__":
    main()
