"""Time to first token that a proxy adds, at 64 streams of 100 tok/s, beside nginx.

Of each request: the time from its first byte written to the first event with a token, by the client, less
the time from its arrival at the engine to the engine's write of that event, by the engine's truth log;
the two are joined by the response's id (a gateway that gives ids of its own is joined through its
ledger). Without a proxy that is the way there and back and the client's own error; what a proxy adds is
the difference to it.

64 streams in a closed loop, 50 ms to the first token. Answers have 50 to 150 tokens, drawn from a seed,
so that requests come spread out; `in step` are answers of 100 tokens each, where all 64 requests come at
once and most of the time is the wait for the others. Target: the gateway's p50 at most nginx's + 0.3 ms,
p99 + 2 ms.

The proxies run in turn, in an order drawn anew each round; percentiles are of all rounds, and the
interval of a difference to nginx is the bootstrap's over rounds. `PACELINE_BENCH_ROUNDS` (6) says how
many.
"""

import json
import os
import random
from collections import defaultdict

import numpy as np
import pyarrow as pa

from benches import common
from benches.common import Floats
from benches.gateway_proxy import MODEL, Proxy, in_turn, proxies, settle

ROUNDS = int(os.environ.get("PACELINE_BENCH_ROUNDS", "6"))
STREAMS = 64
ANSWERS_A_STREAM = 4
LOADS = {"spread": (50, 150), "in step": (100, 100)}
RESAMPLES = 2_000


def bodies(lengths: tuple[int, int], seed: int) -> pa.RecordBatch:
    """Small streaming chat requests whose answers have between so many tokens."""
    draw = random.Random(seed)
    message = {"role": "user", "content": "Say something."}
    requests = [
        json.dumps(
            {"model": MODEL, "messages": [message], "stream": True, "max_tokens": draw.randint(*lengths)}
        ).encode()
        for _ in range(STREAMS * ANSWERS_A_STREAM)
    ]
    return pa.record_batch({"body": pa.array(requests, pa.binary())})


def seen_through(proxy: Proxy, lengths: tuple[int, int], seed: int) -> list[common.Seen]:
    """What the client saw of one block."""
    batch = bodies(lengths, seed)
    spec = common.load_spec(proxy, STREAMS, batch.num_rows, headers=proxy.headers)
    return common.run_load(spec, batch).seen()


def beyond_engine_ms(seen: list[common.Seen], truths: dict[str, common.Truth], ids: dict[str, str]) -> Floats:
    """The client's TTFT less the engine's, of each request."""
    beyond_ns = []
    for one in seen:
        truth = truths[ids.get(one.response_id, one.response_id)]
        beyond_ns.append(one.events_ns[0] - one.sent_ns - (truth.events_ns[0] - truth.received_ns))
    return np.array(beyond_ns, dtype=np.float64) / 1e6


def quantiles(blocks: list[Floats]) -> Floats:
    return np.asarray(np.percentile(np.concatenate(blocks), [50, 99]), dtype=np.float64)


def difference(mine: list[Floats], its: list[Floats], draw: np.random.Generator) -> tuple[Floats, Floats]:
    """Difference of p50 and of p99, and its 95 % interval (shape 2 by 2): rounds drawn with replacement."""
    samples = []
    for _ in range(RESAMPLES):
        rounds = draw.integers(len(mine), size=len(mine))
        samples.append(quantiles([mine[i] for i in rounds]) - quantiles([its[i] for i in rounds]))
    interval = np.percentile(np.array(samples), [2.5, 97.5], axis=0)
    return quantiles(mine) - quantiles(its), interval.T


def rows(load: str, blocks: dict[str, list[Floats]]) -> list[list[str]]:
    draw = np.random.default_rng(1)
    found = []
    for name, mine in blocks.items():
        cells = [load, name, *(f"{value:.2f}" for value in quantiles(mine))]
        for other in ("direct", "nginx"):
            if other not in blocks or name in ("direct", other):
                cells += ["", ""]
                continue
            middle, interval = difference(mine, blocks[other], draw)
            cells += [
                f"{value:+.2f} ({low:+.2f} to {high:+.2f})"
                for value, (low, high) in zip(middle, interval, strict=True)
            ]
        found.append(cells)
    return found


def main() -> None:
    settle()
    found: list[list[str]] = []
    with common.reference_engine(output_tokens=1_000) as engine, proxies(engine.address) as running:
        seen = [
            (load, proxy, seen_through(proxy, lengths, seed))
            for load, lengths in LOADS.items()
            for seed, proxy in enumerate(in_turn(running, ROUNDS))
        ]
        ids = {ours: its for proxy in running for ours, its in proxy.upstream_ids().items()}
        truths = engine.finish()
    for load in LOADS:
        blocks: dict[str, list[Floats]] = defaultdict(list)
        for its_load, proxy, of_block in seen:
            if its_load == load:
                blocks[proxy.name].append(beyond_engine_ms(of_block, truths, ids))
        found += rows(load, {proxy.name: blocks[proxy.name] for proxy in running})
    print("TTFT beyond the engine's own, ms (target: the gateway at most nginx + 0.3 at p50, + 2 at p99)")
    common.table(
        ["load", "proxy", "p50", "p99", "p50 - direct", "p99 - direct", "p50 - nginx", "p99 - nginx"], found
    )


if __name__ == "__main__":
    main()
