"""What one side's answers are like: how many, how long, how they end."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from paceline.advisor.answers import Answer, Answers


@dataclass(frozen=True)
class SideFacts:
    """One run's answers to the prompts that both were asked.

    attempted: requests. by_kind: answered, empty, refused, failed. by_failure: the outcomes of the failed.
    by_finish: finish reasons of the answered. words: mean length of an answer. completion_tokens,
    reasoning_tokens: mean by the server's usage, None where it sends none. server_models: as the server names
    what answered.
    """

    run_id: str
    name: str | None
    endpoint: str
    model: str
    extra: Mapping[str, Any]
    attempted: int
    by_kind: Mapping[str, int]
    by_failure: Mapping[str, int]
    by_finish: Mapping[str, int]
    words: float | None
    completion_tokens: float | None
    reasoning_tokens: float | None
    server_models: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "server_models": list(self.server_models)}


def side_facts(answers: Answers, prompts: Collection[str]) -> SideFacts:
    """Of the answers to these prompts."""
    all_of_them = [one for prompt in prompts for one in answers.by_prompt[prompt]]
    given = [one for one in all_of_them if one.kind == "answered"]
    manifest = answers.run.manifest
    kinds = Counter(one.kind for one in all_of_them)
    return SideFacts(
        run_id=manifest.id,
        name=manifest.name,
        endpoint=manifest.endpoint,
        model=manifest.model,
        extra=dict(manifest.workload.get("extra") or {}),
        attempted=len(all_of_them),
        by_kind={kind: kinds[kind] for kind in ("answered", "empty", "refused", "failed")},
        by_failure=_counted(one.outcome for one in all_of_them if one.kind == "failed"),
        by_finish=_counted(one.finish_reason or "none" for one in given),
        words=_mean([len(one.text.split()) for one in given]),
        completion_tokens=_mean(_known(given, "completion_tokens")),
        reasoning_tokens=_mean(_known(given, "reasoning_tokens")),
        server_models=tuple(sorted({one.server_model for one in given if one.server_model})),
    )


def _counted(names: Any) -> dict[str, int]:
    return dict(Counter(names).most_common())


def _known(given: list[Answer], name: str) -> list[int]:
    return [value for one in given if (value := getattr(one, name)) is not None]


def _mean(values: list[int]) -> float | None:
    return float(np.mean(values)) if values else None
