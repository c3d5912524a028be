"""Models that answer by a rule that is known, for tests of whether two are one."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from paceline.advisor.answers import Answer, Answers, Kind
from paceline.store.manifest import RunManifest
from paceline.store.runs import StoredRun

WORDS = [
    *("the", "river", "runs", "on", "under", "old", "stone", "while", "nobody", "counts"),
    *("what", "it", "has", "carried", "past", "a", "town"),
]


@dataclass(frozen=True)
class Model:
    """Says a text that its weights and the prompt decide.

    flips: at each word it takes with this chance another one, and goes on from there otherwise (what batches
    and kernels do). other: this share of prompts it answers by other weights. length: words.
    """

    weights: int = 1
    flips: float = 0.0
    other: float = 0.0
    length: int = 40

    def say(self, prompt: str, chance: Random) -> str:
        """One answer; `chance` is the server's, not the model's."""
        weights = self.weights
        if Random(f"other/{self.weights}/{prompt}").random() < self.other:
            weights += 1_000
        path, said = f"{weights}/{prompt}", []
        words = Random(path)
        for place in range(self.length):
            if self.flips and chance.random() < self.flips:
                path += f"/{place}/{chance.randrange(3)}"
                words = Random(path)
            said.append(WORDS[int(words.random() * len(WORDS))])
        return " ".join(said)


def manifest(**fields: object) -> RunManifest:
    given: dict[str, object] = {
        "version": "0.1.0",
        "endpoint": "http://127.0.0.1:9100/v1",
        "model": "twin",
        "protocol": "openai-chat",
        "workload": {"temperature": 0.0},
    }
    return RunManifest.model_validate(given | fields)


def answer(text: str, index: int = 0, kind: Kind = "answered", **fields: object) -> Answer:
    given: dict[str, object] = {
        "row": index,
        "index": index,
        "segment": 0,
        "kind": kind,
        "text": text,
        "outcome": "failed" if kind == "failed" else "ok",
        "finish_reason": "stop",
        "completion_tokens": len(text.split()),
        "reasoning_tokens": None,
        "server_model": "twin",
    }
    return Answer(**given | fields)  # type: ignore[arg-type]


def answers(texts: Sequence[Sequence[Answer | str]], name: str = "twin") -> Answers:
    """Of prompt k the answers `texts[k]`, in order of asking."""
    found: dict[str, list[Answer]] = {}
    for place, given in enumerate(texts):
        found[hashlib.sha256(f"prompt {place}".encode()).hexdigest()] = [
            one if isinstance(one, Answer) else answer(one, number * len(texts) + place)
            for number, one in enumerate(given)
        ]
    return Answers(StoredRun(Path("nowhere"), manifest(name=name)), found, dict.fromkeys(found, 40))


def asked(model: Model, prompts: int, seed: int, passes: int = 2, world: int = 0) -> Answers:
    """A model's answers, as its server happens to give them; `world`: of the prompts."""
    chance = Random(seed)
    return answers(
        [[model.say(f"{world}/{place}", chance) for _ in range(passes)] for place in range(prompts)]
    )
