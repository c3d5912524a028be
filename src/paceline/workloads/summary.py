"""A workload's job in words: its calls, what waits for what, tokens, and the time that no server can save."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from paceline.units import format_duration_ns
from paceline.workloads.calls import CallSpec
from paceline.workloads.jobs import AnswerOf, Job, JobSource, awaited
from paceline.workloads.lengths import Lengths
from paceline.workloads.spec import WorkloadSpec

# Enough for a median; a job of an agent takes milliseconds to make.
SAMPLED_JOBS = 25


@dataclass(frozen=True)
class JobFigures:
    """One job. Tokens are as they are asked for; None where some are not known beforehand.

    prompt_tokens: of all prompts together, so that text which is carried on counts each time; longest_tokens:
    the longest prompt with its answer; least_ms: the waits along the longest path, which remain when every
    answer is instant.
    """

    calls: int
    prompt_tokens: int | None
    output_tokens: int | None
    longest_tokens: int | None
    least_ms: float
    in_flight: int


def figures(job: Job) -> JobFigures:
    """The figures of one job."""
    prompts = [call.prompt_tokens for call in job.calls]
    outputs = [call.output_tokens for call in job.calls]
    both = [None if p is None or o is None else p + o for p, o in zip(prompts, outputs, strict=True)]
    ended_ms: list[float] = []
    depth: list[int] = []
    for step, call in enumerate(job.calls):
        before = awaited(call, step)
        ended_ms.append(max((ended_ms[one] for one in before), default=0.0) + call.wait_ms)
        depth.append(1 + max((depth[one] for one in before), default=0))
    return JobFigures(
        calls=len(job.calls),
        prompt_tokens=_total(prompts),
        output_tokens=_total(outputs),
        longest_tokens=None if None in both else max(one for one in both if one is not None),
        least_ms=max(ended_ms),
        in_flight=max(depth.count(level) for level in set(depth)),
    )


def job_lines(spec: WorkloadSpec, source: JobSource | None) -> list[str]:
    """What a job is, line by line. `source` is the workload's, None where jobs are plain requests.

    Raises ConfigError for a job that could not be made.
    """
    about = "" if spec.tokenizer else "about "
    if source is None:
        output = spec.output_tokens or spec.max_tokens
        return [
            f"a job is one call: a prompt of {about}{spec.prompt_tokens.words()} tokens{_beginning(spec)}, "
            f"an answer of {'any length' if output is None else f'{_number(output)} tokens'}"
        ]
    made = [job for index in range(SAMPLED_JOBS) if (job := source.job(index)) is not None]
    if not made:
        return ["there is no job"]
    lines = [_call_line(spec, place, about) for place in range(len(spec.call))]
    return lines + _figure_lines([figures(job) for job in made], made, about)


def _call_line(spec: WorkloadSpec, place: int, about: str) -> str:
    call = spec.call[place]
    prompt = call.prompt_tokens or spec.prompt_tokens
    output = call.output_tokens or spec.output_tokens or spec.max_tokens
    parts = [
        f"{about}{prompt.words()} tokens of its own in",
        f"{'any number of' if output is None else _number(output)} tokens out",
    ]
    begins = call.history == "none" or not (place if call.after is None else len(call.after))
    if begins and _beginning(spec):
        parts[0] += _beginning(spec)
    parts.append(_order(spec.call, place))
    if call.wait_ms.greatest():
        parts.append(
            f"{call.wait_ms.words()} ms of {'tool time' if call.wait == 'tool' else 'thinking'} before it"
        )
    if call.images is not None:
        images = call.images
        parts.append(f"{images.count} images of {images.width_px} x {images.height_px} pixels")
    if call.repeat_prompt:
        parts.append(f"{call.repeat_prompt:.0%} of the answer repeats the prompt")
    if call.hang_up_ms is not None:
        parts.append(f"the client hangs up {call.hang_up_ms.words()} ms after the first token")
    times = "" if str(call.repeat) == "1" else f", {call.repeat.words()} times"
    return f"{call.name}{times}: " + "; ".join(parts)


def _number(tokens: Lengths | int) -> str:
    return f"{tokens:,}" if isinstance(tokens, int) else tokens.words()


def _beginning(spec: WorkloadSpec) -> str:
    if spec.shared_prefix_tokens:
        return f" after {spec.shared_prefix_tokens:,} that all jobs share"
    return f", {spec.cached_share:.0%} of them the same in all jobs" if spec.cached_share else ""


def _order(calls: Sequence[CallSpec], place: int) -> str:
    call = calls[place]
    names = call.after if call.after is not None else tuple(one.name for one in calls[:place][-1:])
    start = f"after {' and '.join(names)}" if names else "begins with the job"
    several = str(call.repeat) != "1"
    if several and call.parallel:
        start += ", all at once"
    elif several:
        start += ", then one after the other"
    begins_anew = call.history == "none" and (bool(names) or (several and not call.parallel))
    return f"{start}, without what was said before" if begins_anew else start


def _figure_lines(found: Sequence[JobFigures], made: Sequence[Job], about: str) -> list[str]:
    calls = [one.calls for one in found]
    lines = [
        f"a job, by the median of {len(found)}: {_middle(calls)} {'call' if max(calls) == 1 else 'calls'}"
    ]
    at_once = max(one.in_flight for one in found)
    if at_once > 1:
        lines[0] += f", up to {at_once} at once"
    carried = any(_carries_on(job) for job in made)
    prompts = _known([one.prompt_tokens for one in found])
    outputs = _known([one.output_tokens for one in found])
    longest = _known([one.longest_tokens for one in found])
    if prompts is not None:
        again = ", counting what is carried on each time" if carried else ""
        lines.append(f"tokens sent: {about}{_middle(prompts)}{again}")
    elif carried:
        lines.append("tokens sent: not known beforehand, since answers of any length are carried on")
    if outputs is not None:
        lines.append(f"tokens of the answers: {_middle(outputs)}")
    if longest is not None:
        lines.append(
            f"longest prompt with its answer: {about}{max(longest):,} tokens, which the model must hold"
        )
    least_ms = float(np.median([one.least_ms for one in found]))
    if least_ms:
        lines.append(
            f"least possible time: {format_duration_ns(least_ms * 1e6)} of tools and thinking, "
            "were every answer instant"
        )
    else:
        lines.append("least possible time: none but the server's own")
    return lines


def _carries_on(job: Job) -> bool:
    return any(
        isinstance(piece, AnswerOf) for call in job.calls for turn in call.turns for piece in turn.text
    )


def _known(values: Sequence[int | None]) -> list[int] | None:
    known = [one for one in values if one is not None]
    return known if len(known) == len(values) else None


def _total(values: Sequence[int | None]) -> int | None:
    known = _known(values)
    return None if known is None else sum(known)


def _middle(values: Sequence[int]) -> str:
    """`35 (30 to 40)`."""
    low, middle, high = min(values), round(float(np.median(values))), max(values)
    return f"{middle:,}" if low == high else f"{middle:,} ({low:,} to {high:,})"
