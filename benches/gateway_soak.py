"""A soak: an hour of mixed traffic with faults through the gateway, and its books beside its clients' own.

30 requests a second, Poisson: five protocols, streams and whole answers, 5 % of the clients leave before
the end, 1 % send half a JSON document, 1 % want a model that there is not. Three engines answer, all of
which fail, each in its way and for some minutes at a time. Each minute prints memory and descriptors of
the data plane, what is in flight, and how many requests the ledger and the clients have counted.

At the end:

- memory: the slope of the resident set by least squares, without the first tenth, and its 95 % interval;
- descriptors: at the end beside the start, once all clients have gone, but for the connections to engines
  that are kept open;
- ledger: each request that reached the gateway is there once, by the name that it gave itself, and ended
  there as its client saw it end;
- costs: each answer that ended well costs what the engine's truth log says was read and generated, times
  the offer's price; of those that were cut short the ledger counts what it saw.

`PACELINE_BENCH_MINUTES` (60) says how long; 0.5 and more are good for a look. Exits with 1 if the books
do not balance.
"""

import asyncio
import json
import os
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scipy import stats

from benches import common, gateway_proxy
from benches.gateway_proxy import Proxy, gateway_of
from benches.gateway_traffic import MODEL, Counts, Seen, offer_load
from paceline import _core

MINUTES = float(os.environ.get("PACELINE_BENCH_MINUTES", "60"))
REQUESTS_S = 30.0
PROTOCOLS = [
    "openai-chat",
    "openai-completions",
    "openai-responses",
    "anthropic-messages",
    "openai-embeddings",
]
# (input, output) in USD a million tokens, of each engine.
PRICES = {"steady": (1.0, 4.0), "quick": (2.5, 10.0), "cheap": (0.5, 2.0)}
FAULTS: dict[str, list[dict[str, Any] | None]] = {
    "steady": [None, {"kind": "slow_headers", "share": 0.1}, {"kind": "http_503", "share": 0.05}],
    "quick": [
        {"kind": "cut", "share": 0.05},
        {"kind": "http_429", "share": 0.3},
        {"kind": "error_event", "share": 0.05},
        {"kind": "cut", "share": 0.1, "after_events": 0},
    ],
    "cheap": [
        {"kind": "reset", "share": 0.05},
        {"kind": "stall", "share": 0.03, "after_events": 0},
        {"kind": "end_early", "share": 0.05},
        {"kind": "http_500", "share": 0.5},
        {"kind": "malformed_json", "share": 0.05},
    ],
}
# How a request may end in the ledger, by what its client saw. A client that left may have been just too late.
AGREE = {
    "whole": {"ok"},
    "broken": {"error_in_stream", "failed"},
    "refused": {"refused", "failed"},
    "left": {"client_gone", "ok", "error_in_stream", "refused", "failed"},
}


@dataclass(frozen=True)
class Minute:
    """What was read at one time."""

    at_s: float
    rss: int
    descriptors: int
    in_flight: int
    written: int
    counted: int


def engine_config(name: str, log: Path) -> dict[str, Any]:
    """An engine whose faults change every two minutes (in a short soak sooner), over and over."""
    ttft_ms = {"steady": 60, "quick": 25, "cheap": 120}[name]
    faults = FAULTS[name]
    stage_ms = int(min(120.0, MINUTES * 60 / 8) * 1_000)
    stages = [
        {"at_ms": stage_ms * place, "fault": faults[place % len(faults)]}
        for place in range(int(MINUTES * 60_000 / stage_ms) + 2)
    ]
    exact = {"ttft_us": ttft_ms * 1_000, "itl_us": 5_000, "output_tokens": 1_000}
    return {"models": [MODEL], "truth_log": str(log), "exact": exact, "timeline": stages}


@contextmanager
def engines(folder: Path) -> Iterator[dict[str, str]]:
    """The engines' addresses; their truth logs `folder/NAME.jsonl` are whole once this ends."""
    sims = {name: _core.Sim(json.dumps(engine_config(name, folder / f"{name}.jsonl"))) for name in PRICES}
    try:
        yield {name: sim.start() for name, sim in sims.items()}
    finally:
        for sim in sims.values():
            sim.stop()


def config(addresses: dict[str, str]) -> str:
    lines = ["[gateway]", 'listen = "127.0.0.1:0"', 'admin_listen = "127.0.0.1:0"']
    lines += ["[gateway.hedging]", "share = 0.05"]
    for name, address in addresses.items():
        inward, outward = PRICES[name]
        lines += [
            *("[[offer]]", f'id = "{name}"', f'model = "{MODEL}"', f'base_url = "http://{address}/v1"'),
            f"protocol = {json.dumps(PROTOCOLS)}",
            f"price = {{ input_usd_per_mtok = {inward}, output_usd_per_mtok = {outward} }}",
            'timeouts = { first_token = "3s", gap = "3s" }',
        ]
    return "\n".join(lines) + "\n"


def written(proxy: Proxy) -> int:
    """Requests in the ledger, probes not counted."""
    assert proxy.folder is not None
    return sum(entry["outcome"] != "probe" for entry in gateway_proxy.ledger(proxy.folder))


def watch(proxy: Proxy, counts: Counts, began: float, every_s: float, over: threading.Event) -> list[Minute]:
    """Reads and prints, until it is over."""
    minutes: list[Minute] = []
    print("   min    RSS MB  descriptors  in flight  in ledger  by clients")
    while not over.wait(every_s):
        seen = proxy.memory()
        at_s = time.monotonic() - began
        now = Minute(at_s, seen.rss, seen.descriptors, counts.under_way, written(proxy), len(counts.seen))
        minutes.append(now)
        print(
            f"{now.at_s / 60:6.1f}  {now.rss / 1e6:8.1f}  {now.descriptors:11}  {now.in_flight:9}"
            f"  {now.written:9}  {now.counted:10}",
            flush=True,
        )
    return minutes


def slope(minutes: list[Minute]) -> str:
    """The resident set's slope."""
    kept = minutes[len(minutes) // 10 :]
    if len(kept) < 3:
        return "too few readings for a slope"
    hours = [one.at_s / 3_600 for one in kept]
    fit = stats.linregress(hours, [one.rss / 1e6 for one in kept])
    half = float(stats.t.ppf(0.975, len(kept) - 2)) * fit.stderr
    return f"{fit.slope:+.2f} MB an hour ({fit.slope - half:+.2f} to {fit.slope + half:+.2f})"


def compare_ends(entries: list[dict[str, Any]], seen: list[Seen]) -> list[str]:
    """What does not agree between ledger and clients; prints how many do."""
    named: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for entry in entries:
        named[str(entry["app_title"])].append(entry)
    pairs: Counter[tuple[str, str]] = Counter()
    wrong = []
    for one in seen:
        lines = named.pop(one.ask.name, [])
        outcome = lines[0]["outcome"] if len(lines) == 1 else f"{len(lines)} lines"
        pairs[one.verdict, outcome] += 1
        # One that left may not have been there yet, or only in part.
        fine = outcome in AGREE.get(one.verdict, set()) or (one.verdict == "left" and not lines)
        if not fine:
            wrong.append(f"{one.ask.name} ({one.ask.protocol}, {one.status}): {one.verdict}, but {outcome}")
    wrong += [f"{name} is in the ledger, and no client made it" for name in named]
    print("\nhow requests ended, by client and by ledger")
    rows = [[client, outcome, str(n)] for (client, outcome), n in sorted(pairs.items())]
    common.table(["client", "ledger", "requests"], rows)
    return wrong


def compare_costs(entries: list[dict[str, Any]], truths: dict[tuple[str, str], dict[str, Any]]) -> list[str]:
    """Attempts whose cost is not the truth's; prints the sums."""
    wrong: list[str] = []
    sums = {"server": [0.0, 0.0, 0], "estimated": [0.0, 0.0, 0]}
    for entry in entries:
        for attempt in entry["attempts"]:
            truth = truths.get((attempt["offer"], str(attempt["row"]["response_id"])))
            source = attempt["usage"]["source"]
            if truth is None or source == "none":
                continue
            inward, outward = PRICES[attempt["offer"]]
            generated = sum(event[1] for event in truth["events"])
            true_usd = (truth["prompt_tokens"] * inward + generated * outward) / 1e6
            sums[source][0] += attempt["cost_usd"]
            sums[source][1] += true_usd
            sums[source][2] += 1
            if source == "server" and abs(attempt["cost_usd"] - true_usd) > 1e-12:
                wrong.append(
                    f"{entry['id']} at {attempt['offer']}: {attempt['cost_usd']} USD, truly {true_usd}"
                )
    print("\ncosts, by where the ledger's token counts are from, USD")
    rows = [
        [source, f"{n}", f"{cost:.6f}", f"{true:.6f}", f"{cost / true:.6f}" if true else ""]
        for source, (cost, true, n) in sums.items()
    ]
    common.table(["tokens", "answers", "ledger", "truth", "ratio"], rows)
    return wrong


def read_truths(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (name, entry["id"]): entry
        for name in PRICES
        for entry in common.truth_entries(folder / f"{name}.jsonl")
    }


def connections_to(pids: list[int], addresses: list[str]) -> int:
    """Sockets of these processes that are connected to an address on 127.0.0.1, by `/proc/PID/net/tcp`."""
    ports = {int(address.rsplit(":", 1)[1]) for address in addresses}
    found = 0
    for pid in pids:
        links = {str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir()}
        for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
            fields = line.split()
            found += int(fields[2].split(":")[1], 16) in ports and f"socket:[{fields[9]}]" in links
    return found


@dataclass(frozen=True)
class Soaked:
    """A soak's readings, descriptors before and after, how many of them are connections to engines that wait
    for more, lines of the ledger, and what the clients saw."""

    minutes: list[Minute]
    descriptors: tuple[int, int]
    kept_open: int
    entries: list[dict[str, Any]]
    counts: Counts


def soak(folder: Path) -> Soaked:
    """Runs it; the engines' truth logs are in the folder afterwards."""
    counts, minutes = Counts(), list[Minute]()
    with engines(folder) as addresses, gateway_of(config(addresses), keyed=True) as proxy:
        before = proxy.memory().descriptors
        over = threading.Event()
        began = time.monotonic()

        def look() -> None:
            minutes.extend(watch(proxy, counts, began, min(60.0, MINUTES * 6), over))

        thread = threading.Thread(target=look)
        thread.start()
        url = f"http://{proxy.address}"
        asyncio.run(offer_load(url, proxy.headers, REQUESTS_S, MINUTES * 60, counts))
        over.set()
        thread.join()
        # What was left hanging is found out, and written down.
        time.sleep(5)
        after = proxy.memory().descriptors
        kept_open = connections_to(proxy.pids, list(addresses.values()))
        assert proxy.folder is not None
        entries = [one for one in gateway_proxy.ledger(proxy.folder) if one["outcome"] != "probe"]
    return Soaked(minutes, (before, after), kept_open, entries, counts)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="paceline-soak-") as name:
        soaked = soak(Path(name))
        truths = read_truths(Path(name))
    wrong = compare_ends(soaked.entries, soaked.counts.seen)
    wrong += compare_costs(soaked.entries, truths)
    print(f"\nmemory: {slope(soaked.minutes)}")
    before, after = soaked.descriptors
    print(
        f"descriptors: {before} at the start, {after} after, of which {soaked.kept_open} are connections to"
        f" engines that wait for more: {after - soaked.kept_open - before} leaked"
    )
    books = f"{len(soaked.entries)} in the ledger, {len(soaked.counts.seen)} by clients"
    print(f"books: {books}, {len(wrong)} that do not agree")
    for line in wrong[:20]:
        print(f"  {line}")
    if wrong:
        sys.exit(1)


if __name__ == "__main__":
    main()
