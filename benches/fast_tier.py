"""The tier `fast` beside the engine's defaults, on a real engine and real weights.

Starts `llama-server` with Gemma 3 270M in turn at its own defaults and at the settings of `paceline serve
--tier fast` (a tuned profile of $PACELINE_HOME where there is one for this model and machine), each round
after a start of its own, in random order, with the same prompts for both, temperature 0. Prints for each
workload the ratio of time a token with its interval, how many answers are the same to the letter, how much
of them repeats what was there before (what drafts by n-grams live on), and the share of the memory bandwidth
that each side reached.

    python -m benches.fast_tier [--rounds 5] [--requests 3] [workload ...]

Without an engine it says so and does nothing.
"""

import argparse
import gzip
import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from tests.support.engine import find_engine

from paceline.engines.plan import Asked, LaunchPlan
from paceline.engines.planning import plan_launch
from paceline.engines.sameness import sameness
from paceline.measure.job import Job
from paceline.measure.load_spec import Closed, LoadPlan
from paceline.report.limit_observed import observed
from paceline.report.model import build_report
from paceline.report.sameness_words import sameness_words
from paceline.roofline.limit import works
from paceline.roofline.machine import machine_rates
from paceline.roofline.reached import reached
from paceline.store.paths import home
from paceline.store.runs import open_run
from paceline.tuning.bench import Bench
from paceline.tuning.confirm import gain, round_order
from paceline.tuning.goal import parse_goal
from paceline.tuning.trial import Measured
from paceline.workloads.sources import job_source
from paceline.workloads.spec import WorkloadSpec

ROOT = Path(__file__).resolve().parent.parent
_WORDS = 8


def code_edit() -> tuple[list[str], int]:
    """A file of ours, and the same file begun again: the answer goes on copying it."""
    prompts = []
    for path in sorted((ROOT / "src" / "paceline" / "stats").glob("*.py")):
        lines = path.read_text().splitlines()[:70]
        if len(lines) == 70:
            begun = "\n".join(lines[:3])
            file = "\n".join(lines)
            prompts.append(f"The file as it was:\n\n{file}\n\nThe same file again, unchanged:\n\n{begun}\n")
    return prompts, 300


def chat() -> tuple[list[str], int]:
    """A page of English, and a question about it."""
    return [f"{text}\n\nQuestion: What is this text about?\nAnswer:" for text in english(1_500)], 130


def summarise() -> tuple[list[str], int]:
    """Three pages, to be summed up."""
    return [f"{text}\n\nThe text above, summed up in a few sentences:\n" for text in english(6_000)], 150


def english(characters: int) -> list[str]:
    with gzip.open(ROOT / "src/paceline/workloads/data/english.txt.gz", "rt") as file:
        text = file.read()
    return [text[at : at + characters] for at in range(0, 60 * characters, characters)]


WORKLOADS = {"code-edit": code_edit, "chat": chat, "summarise": summarise}


def bench_of(name: str, plan: LaunchPlan, folder: Path, requests: int) -> Bench:
    prompts, output_tokens = WORKLOADS[name]()
    file = folder / f"{name}.jsonl"
    file.write_text("".join(json.dumps({"prompt": prompt}) + "\n" for prompt in prompts))
    workload = WorkloadSpec.parse(
        {
            "schema": "paceline.workload/1",
            "name": name,
            "data": {"path": str(file), "column": "prompt"},
            "output_tokens": output_tokens,
            "temperature": 0.0,
        },
        name,
    )
    load = LoadPlan(arrival=Closed(concurrency=1), requests=1)
    job = Job(
        "http://127.0.0.1:1/v1", workload, load, protocol="openai-completions", jobs=job_source(workload)
    )
    return Bench(plan, job, parse_goal("min itl_ms"), requests, (1,), folder)


def answers(bench: Bench, blocks: Sequence[Measured]) -> dict[int, str]:
    found: dict[int, str] = {}
    for block in blocks:
        rows = open_run(block.run_ids[0], at=bench.home).rows(["request_index", "text"])
        found |= {row["request_index"]: row["text"] for row in rows.to_pylist()}
    return found


def repeated(texts: Sequence[str], prompts: Sequence[str]) -> float:
    """Share of an answer's words that end eight words which stood before, in the prompt or the answer."""
    shares = []
    for text, prompt in zip(texts, prompts, strict=False):
        words = prompt.split()
        seen = {tuple(words[at : at + _WORDS]) for at in range(len(words))}
        words = words[-_WORDS + 1 :]
        hits, said = 0, text.split()
        for word in said:
            words.append(word)
            run = tuple(words[-_WORDS:])
            hits += run in seen
            seen.add(run)
        shares.append(hits / max(len(said), 1))
    return float(np.mean(shares))


def bandwidth(bench: Bench, blocks: Sequence[Measured], plan: LaunchPlan) -> str:
    assert plan.facts is not None
    shares = []
    for block in blocks:
        seen = observed(build_report(open_run(block.run_ids[0], at=bench.home)))
        if not isinstance(seen, str):
            found = reached(works(plan.facts, "f16"), machine_rates(), seen)
            shares.append((found.of_bandwidth.value, found.of_limit.value, found.tokens_a_step))
    share, limit, tokens = np.median(np.array(shares), axis=0)
    return f"{share:.0%} of the bandwidth, {limit:.0%} of the limit at {tokens:.2f} tokens a step"


def compare(name: str, plans: dict[str, LaunchPlan], folder: Path, asked: argparse.Namespace) -> None:
    bench = bench_of(name, plans["default"], folder, asked.requests)
    blocks: dict[str, list[Measured]] = {"default": [], "tuned": []}
    for number in range(asked.rounds):
        for turn in round_order(1, number):
            block = bench.block(plans[turn].settings, number, f"{name}-{turn}-{number}")
            if block.failure is not None:
                raise SystemExit(f"{name}: {turn} failed: {block.failure}")
            blocks[turn].append(block)
    print(f"{name}: {gain(blocks['default'], blocks['tuned'], bench.goal).sentence}")
    texts = {side: answers(bench, mine) for side, mine in blocks.items()}
    same = sum(texts["default"][at] == text for at, text in texts["tuned"].items())
    whole = dict(sorted(texts["tuned"].items()))
    prompts = WORKLOADS[name]()[0]
    share = repeated(list(whole.values()), [prompts[at % len(prompts)] for at in range(len(whole))])
    print(
        f"  greedy answers the same to the letter: {same} of {len(whole)}; "
        f"repeats what stood before: {share:.0%}"
    )
    for side, mine in blocks.items():
        print(f"  {side}: {bandwidth(bench, mine, plans[side])}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("workloads", nargs="*", help=f"of {', '.join(WORKLOADS)}; all of them")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=3)
    asked = parser.parse_args()
    engine = find_engine()
    if isinstance(engine, str):
        print(f"skipped: {engine}")
        return
    beginning = Asked(str(engine.model), "llama.cpp", "fast", binary=engine.binary)
    fast = plan_launch(beginning)
    plans = {"default": plan_launch(replace(beginning, bare=True)), "tuned": fast}
    from_profile = "a tuned profile" if fast.profile is not None else "the tier's own settings (no profile)"
    print(f"fast: {from_profile}: {fast.command.shown()}")
    rates = machine_rates(watch=print)
    print(f"bandwidth {rates.bandwidth_bytes_s / 1e9:.1f} GB/s; {dict(rates.arithmetic_s)}")
    with tempfile.TemporaryDirectory(prefix="paceline-bench-") as folder:
        for name in asked.workloads or WORKLOADS:
            compare(name, plans, Path(folder), asked)
    standard = plan_launch(replace(beginning, tier="standard", use_profile=False))
    print(f"greedy answers: {sameness_words(sameness(standard, fast, home=home()))}")


if __name__ == "__main__":
    main()
