"""Other load generators beside Paceline, against the same reference engine.

A closed loop of 64 streams, each of 50 ms to the first token and 100 tok/s after it; 256 requests of 100
tokens. Every tool runs by its own command, as a user would run it. Two things are compared:

- CPU a streamed chunk: user and system time of the tool's whole process tree, less that of a run of the same
  64 streams with one request of 2 tokens each, over the chunks that the first run got beyond the second.
- The p50 and p99 of TTFT that the tool reports, beside the truth log's own for the same requests. AIPerf
  begins a TTFT before it opens a connection, which the first 64 requests need; the other two begin it when
  they write the request.

GuideLLM and AIPerf are found by `PACELINE_BENCH_GUIDELLM` and `PACELINE_BENCH_AIPERF`, or on the PATH; one
that is not there is skipped. Both want a tokenizer, and get a small local one; nothing is downloaded.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers

from benches import common

ROUNDS = 3
STREAMS = 64
REQUESTS = 256
OUTPUT_TOKENS = 100
PROMPT_TOKENS = 64
START_UP_TOKENS = 2
RUN_LIMIT_S = 60

# Runs a command to its end and prints the CPU of its whole process tree. A process that outlives its parent
# becomes a child of this one (36 is PR_SET_CHILD_SUBREAPER), so it is waited for, and counted, too.
TREE = """
import ctypes, os, resource, subprocess, sys
if ctypes.CDLL(None).prctl(36, 1, 0, 0, 0):
    sys.exit("cannot adopt the tool's processes")
with open(sys.argv[1], "wb") as log:
    code = subprocess.call(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
try:
    while True:
        os.wait()
except ChildProcessError:
    pass
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(code, used.ru_utime + used.ru_stime)
"""


class ToolError(Exception):
    """A tool could not be run, or its figures are not of the load that was asked for."""


@dataclass(frozen=True)
class Reported:
    """What a tool says of its run: its version, requests that went well, and TTFT in ms."""

    version: str
    requests: int
    ttft_p50_ms: float
    ttft_p99_ms: float


@dataclass(frozen=True)
class Figures:
    """One measurement of a tool: CPU a chunk, and its report beside the truth."""

    cpu_us: float
    said: Reported
    truth_p50_ms: float
    truth_p99_ms: float


@dataclass(frozen=True)
class Tool:
    """A load generator: its arguments for (address, requests, output tokens, folder), and how it is read."""

    name: str
    program: list[str]
    arguments: Callable[[str, int, int, Path], list[str]]
    read: Callable[[Path], Reported]


def paceline_arguments(address: str, requests: int, output_tokens: int, folder: Path) -> list[str]:
    return [
        *("measure", f"http://{address}/v1", "--model", "truth", "--no-check"),
        *("--concurrency", str(STREAMS), "--requests", str(requests)),
        *("--prompt-tokens", str(PROMPT_TOKENS), "--output-tokens", str(output_tokens)),
        *("--json", str(folder / "report.json")),
    ]


def read_paceline(folder: Path) -> Reported:
    report = json.loads((folder / "report.json").read_text())
    ttft = report["metrics"]["ttft_ms"]
    version = report["run"]["version"]
    return Reported(version, report["outcomes"]["ok"], ttft["p50"]["value"], ttft["p99"]["value"])


def guidellm_arguments(address: str, requests: int, output_tokens: int, folder: Path) -> list[str]:
    backend = f"kind=openai_http,target=http://{address},model=truth,max_tokens={output_tokens}"
    return [
        *("run", "--backend", backend),
        *("--profile", f"kind=concurrent,streams={STREAMS}"),
        *("--constraint", f"kind=max_requests,count={requests}"),
        *("--data", f"kind=json_file,path={folder / 'prompts.jsonl'}"),
        *("--tokenizer", f"kind=hf_auto,model={tokenizer_snapshot(folder)}"),
        *("--output", f"kind=json,path={folder / 'report.json'}"),
        "--disable-console",
    ]


def read_guidellm(folder: Path) -> Reported:
    report = json.loads((folder / "report.json").read_text())
    metrics = report["benchmarks"][0]["metrics"]
    ttft = metrics["time_to_first_token_ms"]["successful"]["percentiles"]
    version = report["metadata"]["guidellm_version"]
    return Reported(version, metrics["request_totals"]["successful"], ttft["p50"], ttft["p99"])


def aiperf_arguments(address: str, requests: int, output_tokens: int, folder: Path) -> list[str]:
    # Tokens are counted from the server's usage, as the other two count them.
    return [
        *("profile", "--url", f"http://{address}", "--model", "truth"),
        *("--endpoint-type", "chat", "--streaming"),
        *("--concurrency", str(STREAMS), "--request-count", str(requests)),
        *("--input-file", str(folder / "prompts.jsonl"), "--custom-dataset-type", "single_turn"),
        *("--extra-inputs", f"max_tokens:{output_tokens}", "--use-server-token-count"),
        *("--tokenizer", "paceline/words", "--output-artifact-dir", str(folder / "artifacts")),
        *("--ui", "none", "--no-gpu-telemetry", "--no-server-metrics"),
    ]


def read_aiperf(folder: Path) -> Reported:
    report = json.loads((folder / "artifacts" / "profile_export_aiperf.json").read_text())
    ttft = report["time_to_first_token"]
    return Reported(report["aiperf_version"], int(report["request_count"]["avg"]), ttft["p50"], ttft["p99"])


def tokenizer_snapshot(folder: Path) -> Path:
    """Where the tokenizer lies: an entry of a hub's cache, the only place offline AIPerf takes one from."""
    return folder / "hub" / "models--paceline--words" / "snapshots" / ("0" * 40)


def lay_out(folder: Path) -> None:
    """Writes a tokenizer of 512 words, and as many prompts as there are requests."""
    words = [f"w{i}" for i in range(512)]
    vocabulary = {word: i for i, word in enumerate(["<unk>", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    snapshot = tokenizer_snapshot(folder)
    snapshot.mkdir(parents=True)
    tokenizer.save(str(snapshot / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "<unk>"}
    (snapshot / "tokenizer_config.json").write_text(json.dumps(settings))
    refs = snapshot.parent.parent / "refs"
    refs.mkdir()
    (refs / "main").write_text(snapshot.name)
    with (folder / "prompts.jsonl").open("w") as file:
        for i in range(REQUESTS):
            prompt = " ".join(words[(i * 7 + k) % len(words)] for k in range(PROMPT_TOKENS))
            file.write(json.dumps({"text": prompt}) + "\n")


def environment(folder: Path) -> dict[str, str]:
    """No hub, no telemetry, no proxy before loopback, and all files of the tool in `folder`."""
    return os.environ | {
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "DO_NOT_TRACK": "1",
        "HF_HOME": str(folder),
        "NO_PROXY": "127.0.0.1",
        "PACELINE_HOME": str(folder / "runs"),
        "COLUMNS": "200",
    }


def reason(log: Path) -> str:
    """The line of a tool's output that says best why it failed."""
    lines = [line.strip(" │╭╰─╮╯•") for line in log.read_text(errors="replace").splitlines()]
    lines = [line for line in lines if line]
    return next((line for line in lines if "Error" in line), lines[-1] if lines else "no output")[:200]


def cpu_of_tree_s(command: list[str], folder: Path) -> float:
    """Runs a tool; CPU seconds of all its processes. ToolError when it fails or is not done in time."""
    log = folder / "log.txt"
    process = subprocess.Popen(
        [sys.executable, "-c", TREE, str(log), *command],
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=environment(folder),
        start_new_session=True,
    )
    try:
        out, _ = process.communicate(timeout=RUN_LIMIT_S)
    except subprocess.TimeoutExpired:
        raise ToolError(f"not done in {RUN_LIMIT_S} s; {reason(log)}") from None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    if process.returncode != 0:
        raise ToolError("its processes could not be counted")
    code, cpu_s = out.split()
    if code != "0":
        raise ToolError(f"it ended with code {code}: {reason(log)}")
    return float(cpu_s)


def run_once(tool: Tool, requests: int, output_tokens: int) -> tuple[float, Reported, list[common.Truth]]:
    """One run against an engine of its own: CPU seconds, the tool's report, and the truth of each request."""
    with (
        tempfile.TemporaryDirectory(prefix="paceline-peer-") as name,
        common.reference_engine(output_tokens=output_tokens) as engine,
    ):
        folder = Path(name)
        lay_out(folder)
        command = [*tool.program, *tool.arguments(engine.address, requests, output_tokens, folder)]
        cpu_s = cpu_of_tree_s(command, folder)
        try:
            said = tool.read(folder)
        except (OSError, LookupError, TypeError, ValueError) as problem:
            raise ToolError(f"its report cannot be read: {problem!r}") from problem
        truths = list(engine.finish().values())
    chunks = sum(len(truth.events_ns) for truth in truths)
    if said.requests != requests or len(truths) != requests or chunks != requests * output_tokens:
        raise ToolError(
            f"{requests} requests of {output_tokens} tokens were wanted; it reports {said.requests} good"
            f" ones, and the engine answered {len(truths)} with {chunks} chunks"
        )
    return cpu_s, said, truths


def measure(tool: Tool) -> Figures:
    start_up_s, _, _ = run_once(tool, STREAMS, START_UP_TOKENS)
    cpu_s, said, truths = run_once(tool, REQUESTS, OUTPUT_TOKENS)
    chunks = REQUESTS * OUTPUT_TOKENS - STREAMS * START_UP_TOKENS
    ttft_ms = [(truth.events_ns[0] - truth.received_ns) / 1e6 for truth in truths]
    p50, p99 = np.percentile(ttft_ms, [50, 99])
    return Figures((cpu_s - start_up_s) / chunks * 1e6, said, float(p50), float(p99))


def installed(name: str, variable: str) -> str | None:
    program = shutil.which(os.environ.get(variable) or name)
    return None if program is None else str(Path(program).absolute())


def tools() -> tuple[Tool, list[Tool], list[str]]:
    """Paceline, the peers that are here, and a line for each that is not."""
    call = "from paceline.cli.main import main; main()"
    ours = Tool("paceline", [sys.executable, "-c", call], paceline_arguments, read_paceline)
    found, missing = [], []
    for name, variable, arguments, read in (
        ("guidellm", "PACELINE_BENCH_GUIDELLM", guidellm_arguments, read_guidellm),
        ("aiperf", "PACELINE_BENCH_AIPERF", aiperf_arguments, read_aiperf),
    ):
        program = installed(name, variable)
        if program is None:
            missing.append(f"{name}: not installed, skipped ({variable} may name it)")
        else:
            found.append(Tool(name, [program], arguments, read))
    return ours, found, missing


def row(name: str, rounds: list[Figures], ours_us: float) -> list[str]:
    """CPU is the median of the rounds; TTFT is from the round whose p99 is off by the median."""
    cpu_us = median(one.cpu_us for one in rounds)
    by_error = sorted(rounds, key=lambda one: abs(one.said.ttft_p99_ms - one.truth_p99_ms))
    typical = by_error[len(rounds) // 2]
    span = f"{min(one.cpu_us for one in rounds):.1f} to {max(one.cpu_us for one in rounds):.1f}"
    cells = [name, typical.said.version, f"{cpu_us:.1f}", span, f"{cpu_us / ours_us:.1f}"]
    for said, truth in (
        (typical.said.ttft_p50_ms, typical.truth_p50_ms),
        (typical.said.ttft_p99_ms, typical.truth_p99_ms),
    ):
        cells += [f"{said:.2f}", f"{truth:.2f}", f"{said - truth:+.2f}", f"{said / truth:.3f}"]
    return cells


def main() -> None:
    ours, peers, skipped = tools()
    # Paceline runs before each peer: its CPU is small beside the noise of its start-up and wants more runs.
    our_rounds: list[Figures] = []
    rounds: dict[str, list[Figures]] = {}
    for _ in range(ROUNDS):
        for peer in list(peers):
            our_rounds.append(measure(ours))
            try:
                rounds.setdefault(peer.name, []).append(measure(peer))
            except ToolError as problem:
                peers.remove(peer)
                del rounds[peer.name]
                skipped.append(f"{peer.name}: skipped, since {problem}")
    if rounds:
        ours_us = median(one.cpu_us for one in our_rounds)
        print(f"{STREAMS} streams, {REQUESTS} requests of {OUTPUT_TOKENS} tokens, {ROUNDS} rounds")
        print("CPU in us a chunk; TTFT as the tool reports it and by the truth log, in ms")
        common.table(
            ["tool", "version", "CPU", "range", "ratio"]
            + [cell for q in ("p50", "p99") for cell in (f"TTFT {q}", "truth", "error", "ratio")],
            [row(name, figures, ours_us) for name, figures in [(ours.name, our_rounds), *rounds.items()]],
        )
    for line in skipped:
        print(line)


if __name__ == "__main__":
    main()
