"""Queues whose capacity is known in closed form, in virtual time."""

import heapq
import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Queue:
    """M/M/c: Poisson arrivals, exponential service, first come first served; a request meets by its wait.

    `servers`: c. `service_s`: the mean service time. `limit_s`: what a request may wait.
    """

    servers: int
    service_s: float
    limit_s: float
    warmup_s: float = 10.0

    def missing(self, rate: float) -> float:
        """The share of requests that wait longer: Erlang's C times exp(-(c mu - lambda) t)."""
        mu = 1.0 / self.service_s
        load = rate / mu
        if load >= self.servers:
            return 1.0
        terms = [load**k / math.factorial(k) for k in range(self.servers)]
        last = load**self.servers / math.factorial(self.servers) * self.servers / (self.servers - load)
        return last / (sum(terms) + last) * math.exp(-(self.servers * mu - rate) * self.limit_s)

    def capacity(self, share: float) -> float:
        """The rate at which exactly `share` of requests meet."""
        low, high = 0.0, self.servers / self.service_s
        for _ in range(60):
            middle = (low + high) / 2.0
            low, high = (middle, high) if self.missing(middle) <= 1.0 - share else (low, middle)
        return low

    def step(self, rng: np.random.Generator, rate: float, seconds: float) -> tuple[int, int]:
        """A step from an empty queue: requests attempted after the warm-up, and those that met."""
        n = int(rng.poisson(rate * (self.warmup_s + seconds)))
        arrivals = np.sort(rng.random(n)) * (self.warmup_s + seconds)
        services = rng.exponential(self.service_s, n)
        waits = _one(arrivals, services) if self.servers == 1 else _many(arrivals, services, self.servers)
        measured = waits[arrivals >= self.warmup_s]
        return len(measured), int((measured <= self.limit_s).sum())


def _one(arrivals: np.ndarray, services: np.ndarray) -> np.ndarray:
    """Lindley's recursion, all at once: the wait is the walk above its lowest point so far."""
    if not len(arrivals):
        return arrivals
    walk = np.concatenate([[0.0], np.cumsum(services[:-1] - np.diff(arrivals))])
    return np.asarray(walk - np.minimum.accumulate(walk))


def _many(arrivals: np.ndarray, services: np.ndarray, servers: int) -> np.ndarray:
    free = [0.0] * servers
    waits = np.empty(len(arrivals))
    for place, (arrival, service) in enumerate(zip(arrivals.tolist(), services.tolist(), strict=True)):
        begin = max(heapq.heappop(free), arrival)
        waits[place] = begin - arrival
        heapq.heappush(free, begin + service)
    return waits


@dataclass(frozen=True)
class Wall:
    """A closed loop whose time per token grows with each request in flight, so that its limit is a wall."""

    base_ms: float = 8.0
    per_request_ms: float = 0.3
    limit_ms: float = 20.0
    jitter_ms: float = 0.04

    def capacity(self) -> int:
        """The most requests in flight whose median time per token is within the limit."""
        return math.floor((self.limit_ms - self.base_ms) / self.per_request_ms + 1e-9)

    def step(self, rng: np.random.Generator, concurrency: float, seconds: float) -> tuple[int, int]:
        """A step: requests, and those whose time per token was within the limit and a half step beyond."""
        itl_ms = self.base_ms + self.per_request_ms * concurrency
        n = max(int(seconds / (itl_ms * 0.1) * concurrency), 1)
        seen = itl_ms + rng.normal(0.0, self.jitter_ms, n)
        return n, int((seen <= self.limit_ms + self.per_request_ms / 2.0).sum())
