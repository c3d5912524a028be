"""A config that changes while requests are in flight."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.e2e.gateway.conftest import Engines, Gateways
from tests.support.gateway import asks
from tests.support.gateway.answers import Answer
from tests.support.gateway.engines import wait_for
from tests.support.gateway.process import Gateway, config_of, offer


class Traffic:
    """Clients that ask without end; `answers` is all that they got."""

    def __init__(self, served: Gateway, clients: int) -> None:
        self._served = served
        self._ended = threading.Event()
        self.answers: list[Answer] = []
        self._threads = [threading.Thread(target=self._ask, args=(place,)) for place in range(clients)]

    def _ask(self, place: int) -> None:
        asked = asks.body("openai-chat", "demo", 20 + place, stream=place % 2 == 0)
        with self._served.client() as client:
            while not self._ended.is_set():
                self.answers.append(self._served.ask("openai-chat", asked, client=client))

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()


@contextmanager
def traffic(served: Gateway, clients: int = 8) -> Iterator[Traffic]:
    running = Traffic(served, clients)
    running.start()
    try:
        yield running
    finally:
        running.end()


def by_offer(answers: list[Answer]) -> Counter[str]:
    return Counter(answer.headers.get("x-paceline-offer", "") for answer in answers)


def test_a_change_drops_no_request(engine: Engines, gateway: Gateways) -> None:
    slow = {"ttft_us": 5_000, "itl_us": 1_000}
    old, new = engine(slow), engine(slow)
    served = gateway(config_of(offer("old", old.url)))
    with traffic(served) as running:
        for _ in range(3):
            for name, upstream in (("new", new), ("old", old)):
                before = by_offer(running.answers)[name]
                served.write(config_of(offer(name, upstream.url)))
                wait_for(
                    "answers by the new config",
                    lambda: by_offer(running.answers)[name] > before or None,  # noqa: B023
                )
    assert [answer for answer in running.answers if not answer.is_whole(6)] == []
    made = Counter(answer.headers["x-generation-id"] for answer in running.answers)
    assert set(made.values()) == {1}
    assert Counter(entry["id"] for entry in served.entries(len(made))) == made
    assert {entry["outcome"] for entry in served.ledger()} == {"ok"}


def test_a_config_that_is_wrong_is_refused_whole(engine: Engines, gateway: Gateways) -> None:
    upstream = engine()
    served = gateway(config_of(offer("a", upstream.url)))
    with traffic(served, clients=2) as running:
        wrong: dict[str, Any] = config_of(offer("b", upstream.url, tier="warp"))
        served.write(wrong)
        wait_for(
            "a word of it",
            lambda: "warp" in served.log.read_text() or "tier" in served.log.read_text() or None,
        )
        seen = len(running.answers)
        wait_for("more answers", lambda: len(running.answers) > seen + 20 or None)
    assert by_offer(running.answers).keys() == {"a"}
    assert [answer for answer in running.answers if not answer.is_whole(6)] == []
    served.write(config_of(offer("b", upstream.url)))

    def changed() -> bool | None:
        answer = served.ask("openai-chat", asks.body("openai-chat", "demo", 20))
        return answer.headers["x-paceline-offer"] == "b" or None

    wait_for("the config that is right", changed)


def test_a_request_keeps_the_table_that_it_began_with(engine: Engines, gateway: Gateways) -> None:
    old = engine({"ttft_us": 1_500_000})
    served = gateway(config_of(offer("old", old.url)))
    answers: list[Answer] = []
    asked = asks.body("openai-chat", "demo", 20, stream=True)
    thread = threading.Thread(target=lambda: answers.append(served.ask("openai-chat", asked)))
    thread.start()
    wait_for("the old offer's work", lambda: old.stats()["in_flight"] == 1 or None)
    served.write(config_of(offer("new", engine().url)))

    def changed() -> bool | None:
        answer = served.ask("openai-chat", asks.body("openai-chat", "demo", 21))
        return answer.headers["x-paceline-offer"] == "new" or None

    wait_for("the new config", changed)
    thread.join()
    assert answers[0].is_whole(6)
    assert answers[0].headers["x-paceline-offer"] == "old"
