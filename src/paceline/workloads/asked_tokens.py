"""How many tokens a workload's jobs ask for, before anything was measured."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paceline.workloads.requests import output_limits
from paceline.workloads.sources import job_source
from paceline.workloads.spec import WorkloadSpec
from paceline.workloads.summary import SAMPLED_JOBS

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Lengths are drawn quickly; the text of a job's calls is written for each.
_REQUESTS = 4096


@dataclass(frozen=True)
class AskedTokens:
    """Calls of the first jobs: prompt, output float64[c], nan where it is not known beforehand; job int64[c].

    prompt: the whole prompt, the answers in it as long as they were asked to be; without system prompt, chat
    template and images. output: as long as it may be. notes: what is not counted, in words.
    """

    prompt: Floats
    output: Floats
    job: Ints
    notes: tuple[str, ...]


def asked_tokens(spec: WorkloadSpec) -> AskedTokens:
    """The tokens of the requests that a run would send first. Raises ConfigError for what cannot be read."""
    source = job_source(spec)
    if source is None:
        own = spec.prompt_tokens.sample(spec.seed, "prompt_tokens", 0, _REQUESTS)
        limits = output_limits(spec.output_tokens, spec.max_tokens, spec.seed, 0, _REQUESTS)
        return AskedTokens(
            (own + spec.shared_prefix_tokens).astype(np.float64),
            np.array(limits, np.float64),
            np.arange(_REQUESTS),
            _notes(spec, images=False),
        )
    jobs = [job for index in range(SAMPLED_JOBS) if (job := source.job(index)) is not None]
    calls = [call for job in jobs for call in job.calls]
    return AskedTokens(
        np.array([call.prompt_tokens for call in calls], np.float64),
        np.array([call.output_tokens for call in calls], np.float64),
        np.repeat(np.arange(len(jobs)), [len(job.calls) for job in jobs]),
        _notes(spec, images=any(turn.images for call in calls for turn in call.turns)),
    )


def _notes(spec: WorkloadSpec, *, images: bool) -> tuple[str, ...]:
    missing = [*(["its system prompt"] if spec.system else []), *(["its images"] if images else [])]
    return (f"{' and '.join(missing)} are not counted",) if missing else ()
