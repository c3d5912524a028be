"""Jobs of a workload with `[equivalence]`: the same prompts for whoever is asked, each more than once."""

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

from paceline.errors import ConfigError
from paceline.workloads.jobs import Call, Job, JobSource, Turn
from paceline.workloads.text import PromptWriter
from paceline.workloads.tokenizer import load_tokenizer

if TYPE_CHECKING:
    from paceline.workloads.spec import WorkloadSpec

# Open-ended, so that answers are long, and there is room to part.
INSTRUCTIONS = (
    "Go on with the story above from where it ends.",
    "Say in your own words what happens in the text above, and what you think of it.",
    "Write a letter from one person of the text above to another.",
    "List what the text above tells of its place and time, with a reason for each.",
    "Rewrite the text above as a dialogue.",
    "Explain the text above to a child of ten.",
    "Write a short essay on the idea in the text above that you find the most important.",
    "Ask five questions about the text above, and answer each.",
)


class EquivalenceSource:
    """Jobs of one request each: the prompts in an order drawn from the seed, and again for each pass.

    `inner`: the jobs of the workload's probe or data, and how many there are. Raises ConfigError where there
    is no prompt at all, or the inner jobs are of several calls.
    """

    def __init__(self, workload: "WorkloadSpec", inner: JobSource | None = None, n_inner: int = 0) -> None:
        assert workload.equivalence is not None
        self._workload = workload
        self.n_passes = workload.equivalence.passes
        self._texts = workload.equivalence.texts
        self.inner = inner
        self._counter = load_tokenizer(workload.tokenizer)
        self._writer = PromptWriter(self._counter, workload.seed, workload.prefix_salt)
        order = list(range(self._texts + n_inner))
        if not order:
            raise ConfigError("there is no prompt to ask", "set `texts` of [equivalence] above 0")
        Random(f"equivalence/{workload.seed}").shuffle(order)
        self._order = order

    @property
    def encodes_each(self) -> bool:
        """Each text has to be encoded, about a millisecond; better done before the clock starts."""
        return self._writer.encodes_each

    @property
    def n_prompts(self) -> int:
        """Different prompts."""
        return len(self._order)

    @property
    def n_jobs(self) -> int:
        """Requests in all."""
        return self.n_passes * len(self._order)

    def job(self, index: int) -> Job | None:
        """Job `index`; None after the last pass."""
        if index >= self.n_jobs:
            return None
        place = self._order[index % len(self._order)]
        if place < self._texts:
            return Job((self._text(place),))
        assert self.inner is not None
        job = self.inner.job(place - self._texts)
        if job is None or len(job.calls) != 1:
            raise ConfigError(
                "only prompts that stand alone can be asked twice: job "
                f"{place - self._texts} {'is not there' if job is None else 'is of several calls'}",
                "give a file of single prompts",
            )
        return replace(job, start_ns=None)

    def item(self, index: int) -> int | None:
        """Which job of the inner source request `index` is; None for a generated text."""
        place = self._order[index % len(self._order)]
        return None if place < self._texts else place - self._texts

    def _text(self, place: int) -> Call:
        spec = self._workload
        instruction = INSTRUCTIONS[place % len(INSTRUCTIONS)]
        length = int(spec.prompt_tokens.sample(spec.seed, "equivalence/prompt_tokens", place, 1)[0])
        text = self._writer.write(place, length, unique=spec.unique_prefix)
        # The number makes each prompt one of its kind, where two short texts happen to be alike.
        prompt = f"Text {place + 1}:\n\n{text} ...\n\n{instruction}"
        asked = spec.output_tokens
        limit = None
        if asked is not None:
            limit = int(asked.sample(spec.seed, "equivalence/output_tokens", place, 1)[0])
        if spec.max_tokens is not None:
            limit = spec.max_tokens if limit is None else min(limit, spec.max_tokens)
        turns = [Turn("user", (prompt,))]
        if spec.system is not None:
            turns.insert(0, Turn("system", (spec.system,)))
        tokens = self._counter.count(prompt)
        return Call(tuple(turns), limit, tokens, "text", exact_output=spec.exact_output)
