"""A sweep: every point of a grid, measured in an order that drift cannot imitate."""

import random
from collections.abc import Sequence
from typing import Any, Literal

from paceline.measure.job import Job
from paceline.measure.study import Runner, StepPlan, end_state
from paceline.measure.study_axes import job_at

Order = Literal["random", "up", "down"]
ORDERS: tuple[Order, ...] = ("random", "up", "down")


def sweep_order(points: int, repeats: int, order: Order, seed: int) -> list[tuple[int, int]]:
    """(point, repeat) in the order of measuring.

    Each repeat is a block of all points, so that a cut-off sweep has each point as often as another, give or
    take one. `random`: each block in its own random order, so that what drifts in the endpoint (a cache that
    fills, other people's load, heat) does not look like an effect of the load.
    """
    found = []
    for repeat in range(repeats):
        block = list(range(points))
        if order == "down":
            block.reverse()
        elif order == "random":
            random.Random(f"{seed}/{repeat}").shuffle(block)
        found += [(point, repeat) for point in block]
    return found


def run_sweep(runner: Runner, job: Job) -> None:
    """Do what is missing of a sweep, and end it. Errors are those of `Runner.step`.

    The study says what is asked: `points`, `repeats`, `order`, `seed`, `threads`.
    """
    asked = runner.writer.manifest.asked
    points: Sequence[dict[str, Any]] = asked["points"]
    jobs = [job_at(job, at, threads=asked.get("threads")) for at in points]
    order = sweep_order(len(points), int(asked["repeats"]), asked["order"], int(asked["seed"]))
    finished = {step.number for step in runner.writer.manifest.steps}
    with runner.interrupts:
        for number, (point, repeat) in enumerate(order):
            if number in finished:
                continue
            if runner.stopped or runner.step(StepPlan(number, points[point], jobs[point], repeat)) is None:
                break
    done = len(runner.writer.manifest.steps) >= len(order)
    runner.writer.finish(end_state(runner, done=done), {"steps": len(order)})
