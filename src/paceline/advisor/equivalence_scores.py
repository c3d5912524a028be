"""Which items of the capability probe a run has solved, prompt by prompt."""

import hashlib

from paceline.advisor.answers import Answer, Answers
from paceline.errors import ConfigError
from paceline.workloads.capability.answer import final_answer
from paceline.workloads.capability.items import Item, Items
from paceline.workloads.spec import WorkloadSpec


def solved_of(answers: Answers) -> dict[str, list[bool]] | None:
    """By the hash of a probe item's prompt: whether each answer to it is fully right.

    None for a run without a probe. Items with a request that failed are left out: of them nothing is known.
    Raises ConfigError where the items cannot be made again.
    """
    run = answers.run
    spec = WorkloadSpec.parse(run.manifest.workload, f"the workload of run {run.id}")
    if spec.probe is None:
        return None
    items = Items(spec.probe)
    by_hash = {_prompt_hash(spec, item): item for item in map(items.item, range(len(items)))}
    found = {
        prompt: [_is_right(items, by_hash[prompt], one) for one in given]
        for prompt, given in answers.by_prompt.items()
        if prompt in by_hash and all(one.kind != "failed" for one in given)
    }
    if not found and not any(prompt in by_hash for prompt in answers.by_prompt):
        raise ConfigError(
            f"the problems of run {run.id} are not those that its seed makes now",
            f"compare it with the Paceline {run.manifest.version} that asked them",
        )
    return found


def _prompt_hash(spec: WorkloadSpec, item: Item) -> str:
    return hashlib.sha256(f"{spec.system or ''}{item.prompt}".encode()).hexdigest()


def _is_right(items: Items, item: Item, one: Answer) -> bool:
    answer = final_answer(one.text)
    return answer is not None and items.score(item, answer) >= 1.0
