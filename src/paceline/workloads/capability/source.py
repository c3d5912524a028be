"""Problems of the probe as jobs of one request."""

from paceline.workloads.capability.items import Items
from paceline.workloads.capability.spec import ProbeSpec
from paceline.workloads.jobs import Call, Job, Turn
from paceline.workloads.spec import WorkloadSpec
from paceline.workloads.tokenizer import load_tokenizer


class ProbeSource:
    """Jobs of a probe: `JobSource`. Answers are limited by the workload's `max_tokens` only.

    Raises ConfigError without the library that makes the problems, or with another than the probe began with.
    """

    def __init__(self, probe: ProbeSpec, workload: WorkloadSpec) -> None:
        self.items = Items(probe)
        self._workload = workload
        self._counter = load_tokenizer(workload.tokenizer)

    @property
    def spec(self) -> ProbeSpec:
        """With the library that makes the problems."""
        return self.items.pinned

    @property
    def n_jobs(self) -> int:
        """How many problems there are."""
        return len(self.items)

    def job(self, index: int) -> Job | None:
        """Problem `index`; None where there are no more."""
        if index >= len(self.items):
            return None
        item = self.items.item(index)
        turns = [Turn("user", (item.prompt,))]
        if self._workload.system is not None:
            turns.insert(0, Turn("system", (self._workload.system,)))
        tokens = self._counter.count(item.prompt)
        return Job((Call(tuple(turns), self._workload.max_tokens, tokens, name=item.family),))
