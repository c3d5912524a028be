"""Reference engines in this process, and what their truth logs say."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from paceline import _core

# Words are tokens; nothing waits longer than the kernel takes.
QUICK = {"ttft_us": 200, "itl_us": 50, "output_tokens": 6}

WAIT_S = 30.0

T = TypeVar("T")


def wait_for(what: str, look: Callable[[], T | None]) -> T:
    """What `look` returns once it is not None. Fails with `what` when that never comes."""
    end = time.monotonic() + WAIT_S
    while True:
        found = look()
        if found is not None:
            return found
        assert time.monotonic() < end, f"never came: {what}"
        time.sleep(0.01)


class Engine:
    """A running reference engine with a truth log."""

    def __init__(self, log: Path, config: dict[str, Any]) -> None:
        self._log = log
        self._sim = _core.Sim(json.dumps({**config, "truth_log": str(log)}))
        self.address = self._sim.start()

    @property
    def url(self) -> str:
        return f"http://{self.address}/v1"

    def stop(self) -> None:
        self._sim.stop()

    def stats(self) -> dict[str, Any]:
        counters: dict[str, Any] = json.loads(self._sim.stats())
        return counters

    def truth(self, prompt_tokens: int | None = None) -> list[dict[str, Any]]:
        """The requests that have ended and were logged, or those of them with so long a prompt."""
        lines = self._log.read_bytes().split(b"\n")
        # The last piece is a line that is being written, or nothing.
        records = [json.loads(line) for line in lines[1:-1]]
        return [one for one in records if prompt_tokens in (None, one["prompt_tokens"])]

    def truth_of(self, prompt_tokens: int, requests: int = 1) -> list[dict[str, Any]]:
        """The same, once there are that many."""

        def look() -> list[dict[str, Any]] | None:
            found = self.truth(prompt_tokens)
            return found if len(found) >= requests else None

        return wait_for(f"{requests} answers to prompts of {prompt_tokens} tokens", look)


def tokens_sent(record: dict[str, Any]) -> int:
    """Tokens that left, by the truth log."""
    return sum(tokens for _, tokens, _ in record["events"])


@contextmanager
def engines(folder: Path) -> Iterator[Callable[..., Engine]]:
    """Starts engines, `engine(exact={...}, **config)`, which end with the block."""
    started: list[Engine] = []

    def start(exact: dict[str, Any] | None = None, **config: Any) -> Engine:
        folder.mkdir(parents=True, exist_ok=True)
        if config.get("mode") != "engine":
            config["exact"] = QUICK | (exact or {})
        engine = Engine(folder / f"truth-{len(started)}.jsonl", config)
        started.append(engine)
        return engine

    try:
        yield start
    finally:
        for engine in started:
            engine.stop()
