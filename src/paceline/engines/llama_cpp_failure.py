"""Why a `llama-server` did not come up or ended, from its own last words."""

import re

from paceline.engines.binary import missing_library
from paceline.engines.engine import Failure


def read_failure(log_tail: str, exit_code: int | None) -> Failure | None:
    """The reason in a log's end, the most telling first; None where it has none that is known."""
    library = missing_library(log_tail)
    if library is not None:
        return Failure(
            f"the shared library {library} is not found, or does not fit",
            "install what the server was built with, or take another build of llama.cpp",
            lasting=True,
        )
    for pattern, message, hint, lasting in _KNOWN:
        found = re.search(pattern, log_tail, re.MULTILINE | re.IGNORECASE)
        if found is not None:
            told = {name: text.strip()[:200] for name, text in found.groupdict("").items()}
            return Failure(message.format(**told), hint, lasting)
    return _by_signal(exit_code)


def _by_signal(exit_code: int | None) -> Failure | None:
    # A shell between, as a wrapper script, tells of a signal by 128 and its number.
    number = -exit_code if exit_code is not None and exit_code < 0 else (exit_code or 0) - 128
    if number == 4:
        return Failure(
            "it uses instructions that this processor does not have (illegal instruction)",
            "take a build of llama.cpp for this processor",
            lasting=True,
        )
    if number == 9:
        return Failure(
            "it was killed from outside (signal 9), as the kernel does when memory runs out",
            "a smaller context (ctx-size), fewer slots (parallel), or a smaller quantisation of the model",
            lasting=False,
        )
    return None


_MEMORY_HINT = "a smaller context (ctx-size), fewer slots (parallel), or a smaller quantisation of the model"
_GPU_HINT = (
    "fewer layers on the GPU (gpu-layers), a smaller context (ctx-size), or stop what else uses the GPU"
)
# Pattern, message, hint, lasting.
_KNOWN: tuple[tuple[str, str, str, bool], ...] = (
    (
        r"couldn't bind HTTP server socket, hostname: (?P<host>\S+), port: (?P<port>\d+)",
        "it cannot listen on {host}:{port}: the port is taken, or the address is not this machine's",
        "give another --port, or 0 for a free one (ss -ltnp shows who has it)",
        True,
    ),
)
