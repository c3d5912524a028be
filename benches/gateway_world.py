"""The worlds of the routing simulation: offers that drift, stall, fail, limit and recover, and who asks
them.

All of a world follows from its seed, so that each policy meets the same: the same offers at the same
prices, whose troubles begin at the same instants after their start, and the same requests at the same
instants. Time is pressed: what takes an hour with real providers takes a minute here.

Six offers of one model. Four follow a schedule (exact mode): time to first token of a base and of each
prompt token, on which a drift lies that changes every 2 s (a mean-reverting walk of its logarithm), and
of 4 % of the answers the first token is 0.6 s late. Two are engines in which requests contend (engine
mode). Each has one to three troubles of 5 to 12 s: `slow` (five times the time to first token; exact
mode), `stall` (half of the answers never begin), `errors` (status 503 to six in ten), `limit` (ten
requests, then ten a minute). Prices go with speed, loosely.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

# From the engines' start: the gateway starts, all policies warm up, and then it counts.
LOAD_FROM_S, COUNTS_FROM_S, ENDS_S = 6.0, 16.0, 76.0
REQUESTS_S = 24.0
DRIFT_EVERY_S = 2.0
# (to the first token in ms, share of requests): a voice, a chat, an agent.
DEADLINES = ((250, 0.3), (600, 0.4), (1_500, 0.3))
TAIL = {"kind": "slow_headers", "share": 0.04, "delay_us": 600_000}
MODEL = "demo"


@dataclass(frozen=True)
class Offer:
    """An offer: its engine's configuration (docs/reference/sim.md) and its price in USD a million tokens."""

    name: str
    config: dict[str, Any]
    input_usd_per_mtok: float
    output_usd_per_mtok: float


@dataclass(frozen=True)
class Request:
    """A request: its number, when it is made after the engines' start, what it asks, and by when its first
    token must come."""

    number: int
    at_s: float
    prompt_tokens: int
    output_tokens: int
    deadline_ms: int


@dataclass(frozen=True)
class World:
    """Offers and requests of one seed."""

    offers: list[Offer]
    requests: list[Request]


@dataclass(frozen=True)
class Speed:
    """What an offer is like on a good day."""

    ttft_ms: float
    ttft_us_per_token: float
    itl_ms: float
    contends: bool = False


SPEEDS = (
    Speed(70, 60, 5),
    Speed(130, 100, 8),
    Speed(150, 80, 10),
    Speed(240, 120, 14),
    Speed(60, 50, 8, contends=True),
    Speed(90, 70, 10, contends=True),
)


def world(seed: int) -> World:
    """The world of a seed."""
    draw = np.random.default_rng(seed)
    offers = [_offer(f"offer-{place}", speed, draw) for place, speed in enumerate(SPEEDS)]
    return World(offers, _requests(draw))


def _offer(name: str, speed: Speed, draw: np.random.Generator) -> Offer:
    ttft_ms = speed.ttft_ms * draw.uniform(0.8, 1.25)
    # Twice as fast is twice as dear, give or take a third.
    output_usd = 15.0 * 100.0 / ttft_ms * draw.lognormal(0.0, 0.35)
    config = {"models": [MODEL], "seed": int(draw.integers(1 << 31)), "fault": TAIL}
    if speed.contends:
        config |= {
            "mode": "engine",
            "engine": {
                "slots": 8,
                "prefill_tok_s": 1e6 / speed.ttft_us_per_token,
                "prefill_base_us": int(ttft_ms * 1_000),
                "decode_step_base_us": int(speed.itl_ms * 700),
                "decode_step_per_seq_us": int(speed.itl_ms * 100),
                "prefix_cache": False,
                "queue_limit": 32,
            },
        }
    else:
        config |= {
            "exact": {
                "ttft_us": int(ttft_ms * 1_000),
                "ttft_us_per_uncached_token": int(speed.ttft_us_per_token),
                "itl_us": int(speed.itl_ms * 1_000),
                "output_tokens": 1_000,
            }
        }
    config["timeline"] = _timeline(ttft_ms, speed, draw)
    return Offer(name, config, output_usd / 5.0, output_usd)


def _timeline(ttft_ms: float, speed: Speed, draw: np.random.Generator) -> list[dict[str, Any]]:
    """A stage each `DRIFT_EVERY_S`, and the troubles over it."""
    kinds = ["stall", "errors", "limit"] if speed.contends else ["slow", "stall", "errors", "limit"]
    troubles = []
    for kind in draw.choice(kinds, size=draw.integers(1, 4), replace=False):
        begins_s = draw.uniform(COUNTS_FROM_S, ENDS_S - 6.0)
        troubles.append((begins_s, begins_s + draw.uniform(5.0, 12.0), str(kind)))
    stages = []
    drift = 0.0
    for begins_s in np.arange(LOAD_FROM_S, ENDS_S, DRIFT_EVERY_S):
        drift = 0.8 * drift + draw.normal(0.0, 0.25)
        trouble = next((kind for start, end, kind in troubles if start <= begins_s < end), None)
        factor = float(np.exp(drift)) * (5.0 if trouble == "slow" else 1.0)
        stage: dict[str, Any] = {"at_ms": int(begins_s * 1_000)}
        if not speed.contends:
            stage["exact"] = {
                "ttft_us": int(ttft_ms * factor * 1_000),
                "ttft_us_per_uncached_token": int(speed.ttft_us_per_token * factor),
            }
        if trouble == "stall":
            stage["fault"] = {"kind": "stall", "share": 0.5, "after_events": 0}
        elif trouble == "errors":
            stage["fault"] = {"kind": "http_503", "share": 0.6}
        elif trouble == "limit":
            stage["rate_limit"] = {"requests_per_min": 10}
        stages.append(stage)
    return _limits_once(stages)


def _limits_once(stages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the stages that follow a limited one and are limited: each stage's bucket begins full."""
    return [
        stage
        for before, stage in zip([{}, *stages], stages, strict=False)
        if not ("rate_limit" in before and "rate_limit" in stage)
    ]


def _requests(draw: np.random.Generator) -> list[Request]:
    requests: list[Request] = []
    at_s = LOAD_FROM_S
    deadlines_ms, shares = zip(*DEADLINES, strict=True)
    while (at_s := at_s + draw.exponential(1.0 / REQUESTS_S)) < ENDS_S:
        prompt_tokens = int(np.clip(draw.lognormal(5.5, 1.0), 16, 3_000))
        deadline_ms = int(draw.choice(deadlines_ms, p=shares))
        requests.append(Request(len(requests), at_s, prompt_tokens, int(draw.integers(16, 65)), deadline_ms))
    return requests
