"""Our views of other tools' figures beside the tools themselves, on the same server.

For each of GuideLLM and AIPerf that is here (see `benches/peers.py`):

1. The tool and Paceline each measure the reference engine in exact mode: a closed loop of 8 streams, 96
   requests of 24 tokens, 40 ms to the first and 5 ms between tokens.
2. The tool's own file is imported, and our view of it is held against what the file says: both are of the
   same events, so that they differ by the rounding of the file's own numbers.
3. The events of our run are given to the tool's own code (`benches/feeds`), and its answer is held against
   our view of the same run.
4. What is left between the tool's run and ours, under the same definition, is no matter of definitions: the
   tool's clock is in Python, after the read, and its load is its own.

genai-bench has part 3 alone (`PACELINE_BENCH_GENAI_BENCH` names a Python that can import it).

    python benches/conformance.py [--record FOLDER]

`--record` writes small files of the tools instead, those in tests/data/imports, less what no import reads.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benches import common, peers
from paceline import _core
from paceline.report.conformance.figures import Figure
from paceline.report.conformance.model import ToolView, conformance
from paceline.report.conformance.recording import Recording
from paceline.report.conformance.tools import DEFINITIONS
from paceline.report.model import build_report
from paceline.stats.frame import MISSING
from paceline.store.imports.files import read_file
from paceline.store.imports.run import store_run
from paceline.store.runs import open_run

STREAMS, REQUESTS, TOKENS = 8, 96, 24
TTFT_US, ITL_US = 40_000, 5_000
FEEDS = Path(__file__).resolve().parent / "feeds"
_GUIDELLM_FIGURES = {
    *("time_to_first_token_ms", "inter_token_latency_ms", "time_per_output_token_ms", "request_latency"),
    *("output_tokens_per_second", "requests_per_second"),
}
FILES = {"guidellm": "report.json", "aiperf": "artifacts/profile_export.jsonl"}
STATISTICS = ("n", "mean", "p50", "p90", "p95", "p99", "max")


@dataclass(frozen=True)
class Sides:
    """The same metrics four times; see the head of this file."""

    written: dict[str, Figure]
    imported: dict[str, Figure]
    fed: dict[str, dict[str, float]]
    ours: dict[str, Figure]


def view_of(run_id: str, home: Path, tool: str) -> tuple[ToolView, Recording]:
    """A stored run under a tool's definition."""
    view = conformance(build_report(open_run(run_id, at=home)), [DEFINITIONS[tool]])
    return view.tools[0], view.recording


def run_tool(arguments: list[str], folder: Path) -> None:
    """Runs a tool to its end. ToolError when it fails."""
    log = folder / "log.txt"
    with log.open("wb") as out:
        try:
            done = subprocess.run(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd=folder,
                env=peers.environment(folder),
                timeout=peers.RUN_LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise peers.ToolError(f"not done in {peers.RUN_LIMIT_S} s; {peers.reason(log)}") from None
    if done.returncode != 0:
        raise peers.ToolError(f"it ended with code {done.returncode}: {peers.reason(log)}")


def fed(python: str, tool: str, recording: Recording, good: Any) -> dict[str, dict[str, float]]:
    """What the tool's own code makes of our events."""
    requests = [
        {
            "begun_ns": int(recording.begun_ns[k]),
            "sent_ns": int(recording.sent_ns[k]),
            "end_ns": int(recording.end_ns[k]),
            "event_ns": recording.event_ns[recording.starts[k] : recording.starts[k + 1]].tolist(),
            "streaming": bool(recording.streaming[k]),
            "tokens": None
            if recording.completion_tokens[k] == MISSING
            else int(recording.completion_tokens[k]),
            "good": bool(good[k]),
        }
        for k in range(len(recording))
    ]
    script = FEEDS / f"feed_{tool.replace('-', '_')}.py"
    done = subprocess.run(
        [python, str(script)], input=json.dumps(requests), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise peers.ToolError(f"its own code failed: {done.stderr.strip().splitlines()[-1]}")
    found: dict[str, dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure_ours(folder: Path) -> str:
    """Our run; its id."""
    ours, _, _ = peers.tools()
    with common.reference_engine(TTFT_US, ITL_US, TOKENS) as engine:
        run_tool([*ours.program, *ours.arguments(engine.address, REQUESTS, TOKENS, folder)], folder)
    run_id: str = json.loads((folder / "report.json").read_text())["run"]["id"]
    return run_id


def sides(tool: peers.Tool, our_id: str, our_home: Path) -> Sides:
    """Runs the tool, and gathers all four."""
    python = str(Path(tool.program[0]).resolve().parent / "python3")
    our_view, recording = view_of(our_id, our_home, tool.name)
    with tempfile.TemporaryDirectory(prefix="paceline-conformance-") as name:
        folder = Path(name)
        peers.lay_out(folder)
        with common.reference_engine(TTFT_US, ITL_US, TOKENS) as engine:
            run_tool([*tool.program, *tool.arguments(engine.address, REQUESTS, TOKENS, folder)], folder)
        path = folder / FILES[tool.name]
        run_id = store_run(read_file(path, tool.name)[0], path, at=folder / "imported")
        theirs, _ = view_of(run_id, folder / "imported", tool.name)
    good = recording.answered("ok")
    return Sides(
        theirs.printed, theirs.view.figures, fed(python, tool.name, recording, good), our_view.view.figures
    )


def apart(one: Figure | dict[str, float], other: Figure) -> float:
    """The largest relative difference of the statistics that both have."""
    worst = 0.0
    for name in STATISTICS:
        left = one.get(name) if isinstance(one, dict) else getattr(one, name)
        right = getattr(other, name)
        if left is not None and right is not None and (left or right):
            worst = max(worst, abs(left - right) / max(abs(left), abs(right)))
    return worst


def rows(tool: str, found: Sides) -> list[list[str]]:
    lines = []
    for metric in DEFINITIONS[tool].metrics:
        theirs, ours = found.written.get(metric), found.ours[metric]
        if theirs is None or theirs.mean is None or ours.mean is None:
            continue
        middle = [one.mean if one.p50 is None else one.p50 for one in (theirs, ours)]
        if middle[0] is None or middle[1] is None:
            continue
        lines.append(
            [
                tool,
                metric,
                f"{apart(theirs, found.imported[metric]):.1e}",
                f"{apart(found.fed[metric], ours):.1e}" if metric in found.fed else "-",
                f"{middle[0]:.3f}",
                f"{middle[1]:.3f}",
                f"{middle[0] - middle[1]:+.3f}",
                "-" if theirs.p99 is None or ours.p99 is None else f"{theirs.p99 - ours.p99:+.3f}",
            ]
        )
    return lines


def main() -> None:
    peers.STREAMS, peers.REQUESTS = STREAMS, REQUESTS
    _, here, missing = peers.tools()
    lines: list[list[str]] = []
    with tempfile.TemporaryDirectory(prefix="paceline-conformance-") as name:
        folder = Path(name)
        peers.lay_out(folder)
        our_id = measure_ours(folder)
        for tool in here:
            try:
                lines += rows(tool.name, sides(tool, our_id, folder / "runs"))
            except peers.ToolError as problem:
                missing.append(f"{tool.name}: skipped, since {problem}")
        python = os.environ.get("PACELINE_BENCH_GENAI_BENCH")
        if python:
            view, recording = view_of(our_id, folder / "runs", "genai-bench")
            answers = fed(python, "genai-bench", recording, recording.answered("ok"))
            for metric, told in answers.items():
                figure = view.view.figures[metric]
                lines.append(["genai-bench", metric, "-", f"{apart(told, figure):.1e}", *["-"] * 4])
        else:
            missing.append("genai-bench: PACELINE_BENCH_GENAI_BENCH names no Python, skipped")
    print("file: our view of the tool's file against the file itself, the largest relative difference")
    print("code: our view of our run against the tool's own code on the same events, likewise")
    print("then the tool's p50 (or rate) of its run, ours of our run, and what is left of p50 and p99")
    common.table(
        ["tool", "metric", "file", "code", "its run", "our run", "left p50", "left p99"],
        lines,
    )
    for line in missing:
        print(line)


def record(into: Path) -> None:
    """Small files of the tools, made against an engine that reasons and fails."""
    # More prompts than requests: GuideLLM waits for ever where they run out.
    peers.STREAMS, peers.REQUESTS, peers.PROMPT_TOKENS = 3, 64, 6
    _, here, _ = peers.tools()
    into.mkdir(parents=True, exist_ok=True)
    for tool in here:
        with tempfile.TemporaryDirectory(prefix="paceline-record-") as name:
            folder = Path(name)
            peers.lay_out(folder)
            config = {
                "models": ["truth"],
                "exact": {"ttft_us": 20_000, "itl_us": 3_000, "output_tokens": 8, "reasoning_tokens": 2},
                "fault": {"kind": "http_429", "share": 0.25},
            }
            engine = _core.Sim(json.dumps(config))
            address = engine.start()
            try:
                more = ["--warmup-request-count", "2"] if tool.name == "aiperf" else []
                run_tool([*tool.program, *tool.arguments(address, 12, 8, folder), *more], folder)
                path = folder / FILES[tool.name]
                if tool.name == "guidellm":
                    (into / "guidellm-0.8.1.json").write_text(_trimmed(json.loads(path.read_text())))
                    run_tool([*tool.program, *_open_loop(address, folder)], folder)
                    document = json.loads((folder / "open.json").read_text())
                    (into / "guidellm-0.8.1-rates.json").write_text(_trimmed(document))
                else:
                    shutil.copy(path, into / "aiperf-0.13.0.jsonl")
                    summary = json.loads(path.with_name("profile_export_aiperf.json").read_text())
                    kept = json.dumps(_kept(summary)) + "\n"
                    (into / "aiperf-0.13.0_aiperf.json").write_text(kept)
            finally:
                engine.stop()


def _open_loop(address: str, folder: Path) -> list[str]:
    """GuideLLM at two constant rates, with answers that come whole."""
    backend = f"kind=openai_http,target=http://{address},model=truth,max_tokens=8,stream=false"
    return [
        *("run", "--backend", backend, "--profile", "kind=constant,rate[0]=30,rate[1]=60"),
        *("--constraint", "kind=max_requests,count=8"),
        *("--data", f"kind=json_file,path={folder / 'prompts.jsonl'}"),
        *("--tokenizer", f"kind=hf_auto,model={peers.tokenizer_snapshot(folder)}"),
        *("--output", f"kind=json,path={folder / 'open.json'}", "--disable-console"),
    ]


def _trimmed(document: dict[str, Any]) -> str:
    """The report without prompts, tracebacks, paths, and the metrics that are not read."""
    document["config"] = {"spec": {"backend": document["config"]["spec"]["backend"]}}
    for benchmark in document["benchmarks"]:
        benchmark["config"] = {"strategy": benchmark["config"]["strategy"]}
        for key in ("scheduler_state", "warnings"):
            benchmark.pop(key, None)
        benchmark["metrics"] = {
            name: {"successful": summary["successful"]}
            for name, summary in benchmark["metrics"].items()
            if name in _GUIDELLM_FIGURES
        }
        for requests in benchmark["requests"].values():
            for request in requests or []:
                request.pop("request_args", None)
                request["info"].pop("traceback", None)
    return json.dumps(document) + "\n"


def _kept(summary: dict[str, Any]) -> dict[str, Any]:
    """The summary without paths of the machine that made it."""
    kept = (
        *("schema_version", "aiperf_version", "request_count", "request_throughput", "request_latency"),
        *("time_to_first_token", "inter_token_latency", "inter_chunk_latency", "output_token_throughput"),
        *("output_sequence_length", "benchmark_duration", "start_time", "end_time"),
    )
    config = {name: summary["input_config"][name] for name in ("models", "endpoint", "phases")}
    return {name: summary[name] for name in kept if name in summary} | {"input_config": config}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--record"]:
        record(Path(sys.argv[2]))
    else:
        main()
