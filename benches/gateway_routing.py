"""Routing, simulated: Paceline's gateway and five other policies over offers that drift, stall, fail and
limit.

Each policy meets the same worlds (`benches/gateway_world.py`): real reference engines of its own, the
same timelines, the same requests at the same instants (Poisson, 24 a second, 60 s that count after 10 s
of warm-up). A request has a deadline to its first token, of which Paceline is told
(`provider.deadline_ms`). The others (`benches/gateway_policies.py`) pick on the client's side and ask
without a gateway between, with the failover, cooling down and breaker that the gateway has. All policies
of a world run at the same time.

- `met`: the share of requests whose first token came within their deadline, counted from the instant at
  which they were meant to be sent. What failed or was refused has not met it.
- TTFT: of all requests; what failed counts as the longest that a client waits, 10 s.
- `bill`: what the engines' truth logs say was read and generated, at each offer's price, in USD a
  thousand requests: that of answers that were thrown away, too.

Rows of Paceline: `paceline` as it is by default; `no deadline told`, where it knows nothing of them; `no
worth of time`, where nothing but deadlines speaks against the cheapest offer; `hedging`, with a tenth of
the requests. Each figure has its 95 % interval over worlds (Student's t), and each policy is compared
with `paceline` world by world. The last lines say against whom it wins on deadlines at no higher bill,
and where not.

`PACELINE_BENCH_WORLDS` (8) says how many worlds; each takes about 80 s. `PACELINE_BENCH_POLICIES` may
name some.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from scipy import stats

from benches import common
from benches.common import Floats
from benches.gateway_policies import POLICIES, REQUEST_LIMIT_S, Result, by_gateway, by_policy
from benches.gateway_proxy import gateway_of
from benches.gateway_world import COUNTS_FROM_S, ENDS_S, LOAD_FROM_S, MODEL, Request, World, world
from paceline import _core

WORLDS = int(os.environ.get("PACELINE_BENCH_WORLDS", "8"))
OURS = "paceline"


@dataclass(frozen=True)
class Variant:
    """A way to run the gateway."""

    tell_deadline: bool = True
    policy: str = ""
    hedging: str = ""


VARIANTS = {
    OURS: Variant(),
    f"{OURS}, no deadline told": Variant(tell_deadline=False),
    f"{OURS}, no worth of time": Variant(policy="time_worth_usd_per_hour = 0.0"),
    f"{OURS}, hedging": Variant(hedging="share = 0.1"),
}


@dataclass(frozen=True)
class Outcome:
    """One policy in one world. ttft_ms: of all requests that count; bill_usd: a request."""

    met: float
    failed: float
    ttft_ms: list[float]
    bill_usd: float
    outcomes: dict[str, int]


def config(of: World, addresses: list[str], variant: Variant) -> str:
    """The gateway's `paceline.toml`. A minute here is an hour, so its window is short, too."""
    lines = [
        *(
            "[gateway]",
            'listen = "127.0.0.1:0"',
            "admin_listen = false",
            "require_key = false",
            "threads = 1",
        ),
        *("[gateway.policy]", 'window = "30s"', variant.policy),
        *("[gateway.hedging]", variant.hedging),
    ]
    for offer, address in zip(of.offers, addresses, strict=True):
        lines += [
            "[[offer]]",
            f'id = "{offer.name}"',
            f'model = "{MODEL}"',
            f'base_url = "http://{address}/v1"',
            "[offer.price]",
            f"input_usd_per_mtok = {offer.input_usd_per_mtok}",
            f"output_usd_per_mtok = {offer.output_usd_per_mtok}",
            "[offer.timeouts]",
            'first_token = "2500ms"',
        ]
    return "\n".join(lines) + "\n"


@contextmanager
def engines(of: World, folder: Path) -> Iterator[tuple[list[str], list[Path], float]]:
    """The world's engines, started together: addresses, truth logs (whole once this ends), and the start."""
    logs = [folder / f"{offer.name}.jsonl" for offer in of.offers]
    sims = [
        _core.Sim(json.dumps(offer.config | {"truth_log": str(log)}))
        for offer, log in zip(of.offers, logs, strict=True)
    ]
    began = monotonic()
    addresses = [sim.start() for sim in sims]
    try:
        yield addresses, logs, began
    finally:
        for sim in sims:
            sim.stop()


Way = Callable[[Request, float], Coroutine[Any, Any, Result]]


async def play(requests: list[Request], began: float, way: Way) -> list[Result]:
    """Makes each request when it is due."""
    tasks = []
    async with asyncio.TaskGroup() as group:
        for request in requests:
            due = began + request.at_s
            await asyncio.sleep(max(0.0, due - monotonic()))
            tasks.append(group.create_task(way(request, due)))
    return [task.result() for task in tasks]


@contextmanager
def way_of(name: str, of: World, seed: int, addresses: list[str]) -> Iterator[Way]:
    """How a request goes under a policy, or through a gateway that is started for it."""
    variant = VARIANTS.get(name)
    if variant is None:
        policy = POLICIES[name](of.offers, seed)
        yield lambda request, due: by_policy(policy, addresses, request, due)
        return
    with gateway_of(config(of, addresses, variant), keyed=False) as proxy:
        yield lambda request, due: by_gateway(
            proxy.address, proxy.headers, request, due, tell_deadline=variant.tell_deadline
        )


def bill_usd(of: World, logs: list[Path], from_ns: int) -> float:
    """What the engines read and generated for requests that came from an instant on, at their prices."""
    total = 0.0
    for offer, log in zip(of.offers, logs, strict=True):
        for entry in common.truth_entries(log):
            if entry["status"] == 200 and entry["received_ns"] >= from_ns:
                generated = sum(event[1] for event in entry["events"])
                total += entry["prompt_tokens"] * offer.input_usd_per_mtok / 1e6
                total += generated * offer.output_usd_per_mtok / 1e6
    return total


def child(name: str, seed: int) -> None:
    """One policy in one world, to its end; prints its outcome as JSON."""
    of = world(seed)
    with tempfile.TemporaryDirectory(prefix="paceline-routing-") as folder:
        with ExitStack() as stack:
            addresses, logs, began = stack.enter_context(engines(of, Path(folder)))
            way = stack.enter_context(way_of(name, of, seed, addresses))
            if monotonic() - began > LOAD_FROM_S:
                sys.exit(f"{name} took more than {LOAD_FROM_S} s to start")
            results = asyncio.run(play(of.requests, began, way))
        spent_usd = bill_usd(of, logs, int((began + COUNTS_FROM_S) * 1e9))
    counted = [one for one in results if one.at_s >= COUNTS_FROM_S]
    limit_ms = REQUEST_LIMIT_S * 1e3
    outcomes: dict[str, int] = {}
    for one in counted:
        outcomes[one.outcome] = outcomes.get(one.outcome, 0) + 1
    outcome = Outcome(
        met=float(np.mean([one.ttft_ms is not None and one.ttft_ms <= one.deadline_ms for one in counted])),
        failed=float(np.mean([one.outcome != "ok" for one in counted])),
        ttft_ms=[limit_ms if one.ttft_ms is None else one.ttft_ms for one in counted],
        bill_usd=spent_usd / len(counted),
        outcomes=outcomes,
    )
    print(json.dumps(asdict(outcome)))


def play_world(names: list[str], seed: int) -> dict[str, Outcome]:
    """All policies in a world at once, each with engines of its own."""
    running = {
        name: subprocess.Popen(
            [sys.executable, "-m", "benches.gateway_routing", "child", name, str(seed)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=common.ROOT,
        )
        for name in names
    }
    said = {name: process.communicate(timeout=ENDS_S + 120)[0] for name, process in running.items()}
    for name, process in running.items():
        if process.returncode != 0:
            raise RuntimeError(f"{name} in world {seed} ended with {process.returncode}")
    return {name: Outcome(**json.loads(text.splitlines()[-1])) for name, text in said.items()}


def interval(values: Floats) -> tuple[float, float, float]:
    """Mean, and its 95 % interval over worlds by Student's t."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, float("-inf"), float("inf")
    half = float(stats.t.ppf(0.975, len(values) - 1) * stats.sem(values))
    return mean, mean - half, mean + half


def row(name: str, worlds: list[Outcome]) -> list[str]:
    ttft_ms = np.percentile(np.concatenate([one.ttft_ms for one in worlds]), [50, 95, 99])
    met, low, high = interval(np.array([100 * one.met for one in worlds]))
    bill = 1e3 * float(np.mean([one.bill_usd for one in worlds]))
    failed = 100 * float(np.mean([one.failed for one in worlds]))
    span = f"{met:.1f} ({low:.1f} to {high:.1f})" if len(worlds) > 1 else f"{met:.1f}"
    return [name, *(f"{value:,.0f}" for value in ttft_ms), span, f"{failed:.1f}", f"{bill:.2f}"]


def against(name: str, its: list[Outcome], ours: list[Outcome]) -> tuple[list[str], str]:
    """Paceline less the other on deadlines, and their bills' ratio, world by world; and the verdict."""
    points = interval(np.array([100 * (mine.met - other.met) for mine, other in zip(ours, its, strict=True)]))
    logs = np.array([np.log(mine.bill_usd / other.bill_usd) for mine, other in zip(ours, its, strict=True)])
    ratio, low, high = (float(np.exp(value)) for value in interval(logs))
    more = "more" if points[1] > 0 else "fewer" if points[2] < 0 else "as many"
    bill = "a lower" if high < 1 else "a higher" if low > 1 else "no different"
    wins = "wins" if points[1] > 0 and low <= 1 else "does not win"
    cells = [name, f"{points[0]:+.1f} ({points[1]:+.1f} to {points[2]:+.1f})"]
    cells.append(f"{ratio:.2f} ({low:.2f} to {high:.2f})")
    return cells, f"{wins} against {name}: {more} deadlines met, at {bill} bill"


def main() -> None:
    everything = [*VARIANTS, *POLICIES]
    names = os.environ.get("PACELINE_BENCH_POLICIES", ";".join(everything)).split(";")
    found: dict[str, list[Outcome]] = {name: [] for name in names}
    for seed in range(1, WORLDS + 1):
        for name, outcome in play_world(names, seed).items():
            found[name].append(outcome)
            print(f"world {seed}, {name}: {outcome.outcomes}", file=sys.stderr, flush=True)
    print(f"{WORLDS} worlds; TTFT in ms, met and failed in %, bill in USD a thousand requests")
    header = ["policy", "TTFT p50", "p95", "p99", "deadlines met", "failed", "bill"]
    common.table(header, [row(name, worlds) for name, worlds in found.items()])
    if OURS in found and WORLDS > 1:
        compared = [against(name, its, found[OURS]) for name, its in found.items() if name != OURS]
        print(f"\n{OURS} against each: deadlines met in points, and the ratio of bills")
        common.table(["policy", "deadlines met", "bill"], [cells for cells, _ in compared])
        print("\n".join(f"{OURS} {verdict}" for _, verdict in compared))


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        child(sys.argv[2], int(sys.argv[3]))
    else:
        main()
