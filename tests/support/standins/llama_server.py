"""Stands in for llama.cpp's server: its `--help`, its options, and the reference engine behind them.

How fast it is follows from its options by a rule that the test knows (the variable PACELINE_STANDIN_SPEED, a
JSON object: option=value -> how many times faster), so that a tuner can be held to what it must find. Starts
differ by a share that is drawn anew at each (PACELINE_STANDIN_SPREAD). With one setting it says something
else than with all others (PACELINE_STANDIN_OTHER_TEXT, as option=value).
"""

import json
import os
import random
import sys

VERSION = "version: 1.0.0-stand-in (build 1, commit 0000000)\nbuilt with GNU 12.2.0 for Linux x86_64\n"
OPTIONS = {
    "-t, --threads N": "number of CPU threads",
    "-c, --ctx-size N": "size of the prompt context",
    "-b, --batch-size N": "logical maximum batch size",
    "-ub, --ubatch-size N": "physical maximum batch size",
    "-fa, --flash-attn [on|off|auto]": "set Flash Attention use",
    "-ctk, --cache-type-k TYPE": "KV cache data type for K",
    "-ctv, --cache-type-v TYPE": "KV cache data type for V",
    "-np, --parallel N": "number of server slots",
    "--poll <0...100>": "use polling level to wait for work",
    "--metrics": "enable prometheus compatible metrics endpoint",
    "--spec-type none,ngram-simple,ngram-mod": "types of speculative decoding",
    "--spec-ngram-mod-n-match N": "ngram-mod lookup length",
    "-m, --model FNAME": "model path to load",
    "--host HOST": "ip address to listen on",
    "--port PORT": "port to listen on",
    "-a, --alias STRING": "set model name aliases",
}
ITL_MS = 4.0
TTFT_MS = 8.0


def help_text() -> str:
    return "----- common params -----\n\n" + "".join(f"{name:<40}{text}\n" for name, text in OPTIONS.items())


def parsed(arguments: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    place = 0
    while place < len(arguments):
        name = arguments[place].lstrip("-")
        takes = place + 1 < len(arguments) and not arguments[place + 1].startswith("--")
        found[name] = arguments[place + 1] if takes else "true"
        place += 2 if takes else 1
    return found


def main(arguments: list[str]) -> None:
    if "--help" in arguments:
        print(help_text())  # noqa: T201
        return
    if "--version" in arguments:
        print(VERSION, file=sys.stderr)  # noqa: T201
        return
    asked = parsed(arguments)
    faster = 1.0
    for rule, factor in json.loads(os.environ.get("PACELINE_STANDIN_SPEED", "{}")).items():
        name, _, value = rule.partition("=")
        faster *= factor if asked.get(name) == value else 1.0
    faster *= random.lognormvariate(0.0, float(os.environ.get("PACELINE_STANDIN_SPREAD", "0")))
    command = [sys.executable, "-m", "paceline", "sim", "--host", asked["host"], "--port", asked["port"]]
    command += ["--model", asked["alias"], "--ttft", f"{TTFT_MS / faster:.3f}ms"]
    command += ["--itl", f"{ITL_MS / faster:.3f}ms"]
    name, _, value = os.environ.get("PACELINE_STANDIN_OTHER_TEXT", "").partition("=")
    if name and asked.get(name) == value:
        command += ["--seed", "2"]
    os.execv(sys.executable, command)


if __name__ == "__main__":
    main(sys.argv[1:])
