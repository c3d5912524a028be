"""Every fault of the reference engine through a gateway: what client, upstream and ledger say of it.

All requests are made at once; each test then looks at one. A request has a model of its own, so that no
fault has a bearing on another's offers, and a prompt of its own length, which ties it to the engines' logs.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from paceline.measure.sim_config import FAULT_KINDS
from paceline.protocols import PROTOCOLS, Protocol
from tests.e2e.gateway.conftest import Engines, Gateways
from tests.support.gateway import asks
from tests.support.gateway.answers import Answer
from tests.support.gateway.engines import Engine, tokens_sent
from tests.support.gateway.faults import BEFORE, FAULTS, MAX_BYTES, TOKENS, Effect, FaultCase
from tests.support.gateway.process import Config, Entry, config_of, cost_usd, offer

BAD_PRICE = {"input_usd_per_mtok": 3.0, "output_usd_per_mtok": 5.0, "request_usd": 0.001}
GOOD_PRICE = {"input_usd_per_mtok": 7.0, "output_usd_per_mtok": 11.0, "request_usd": 0.002}


@dataclass(frozen=True, eq=False)
class Case:
    """One request: with the faulty offer alone, or with a good one behind it."""

    number: int
    fault: FaultCase
    protocol: Protocol
    stream: bool
    alone: bool
    effect: Effect

    def __str__(self) -> str:
        parts = (self.fault.name, PROTOCOLS[self.protocol].short, "stream" if self.stream else "whole")
        return "-".join((*parts, "alone" if self.alone else "pair"))

    @property
    def model(self) -> str:
        return f"case-{self.number}"

    @property
    def bad(self) -> str:
        return f"bad-{self.number}"

    @property
    def good(self) -> str:
        return f"good-{self.number}"

    @property
    def prompt_tokens(self) -> int:
        return 10 + self.number

    @property
    def fails_over(self) -> bool:
        return self.effect.kind in ("fails", "empty") and not self.alone

    @property
    def serving(self) -> str:
        """The offer whose answer the client is to see."""
        return self.good if self.fails_over else self.bad

    def offers(self, faulty: Engine, sound: Engine) -> list[Config]:
        brief = {"first_token": "1s", "gap": "1s"} if self.fault.fault["kind"] == "stall" else {}
        bad = offer(self.bad, faulty.url, model=self.model, price=BAD_PRICE)
        if brief:
            bad["timeouts"] = brief
        return [bad] if self.alone else [bad, offer(self.good, sound.url, model=self.model, price=GOOD_PRICE)]

    def body(self) -> dict[str, object]:
        order = {"order": [self.bad, self.good]}
        return asks.body(self.protocol, self.model, self.prompt_tokens, self.stream, provider=order)


def _cases() -> list[Case]:
    wanted = (
        (fault, protocol, stream, alone, effect)
        for fault in FAULTS
        for protocol, stream in asks.WAYS
        for alone in (False, True)
        if (effect := fault.effect(protocol, stream)) is not None
    )
    return [Case(number, *one) for number, one in enumerate(wanted)]


CASES = _cases()


@dataclass
class Seen:
    """The three views of one request."""

    answer: Answer
    entry: Entry
    faulty: list[dict[str, object]]
    sound: list[dict[str, object]]


@pytest.fixture(scope="module")
def seen(module_engine: Engines, module_gateway: Gateways) -> dict[Case, Seen]:
    sound = module_engine()
    faulty = {fault.name: module_engine(fault.exact, fault=fault.fault) for fault in FAULTS}
    offers = [one for case in CASES for one in case.offers(faulty[case.fault.name], sound)]
    bounds = {"event_bytes": MAX_BYTES, "answer_bytes": MAX_BYTES}
    gateway = module_gateway(config_of(*offers, clients=bounds))
    with gateway.client() as client, ThreadPoolExecutor(24) as threads:
        answers = list(
            threads.map(lambda case: gateway.ask(case.protocol, case.body(), client=client), CASES)
        )
    entries = {entry["asked_model"]: entry for entry in gateway.entries(len(CASES))}
    assert len(gateway.ledger()) == len(entries) == len(CASES)
    views = {}
    for case, answer in zip(CASES, answers, strict=True):
        tried = faulty[case.fault.name].truth_of(case.prompt_tokens)
        also = sound.truth_of(case.prompt_tokens) if case.fails_over else sound.truth(case.prompt_tokens)
        views[case] = Seen(answer, entries[case.model], tried, also)
    return views


def test_every_kind_of_fault_is_tried() -> None:
    assert {fault.fault["kind"] for fault in FAULTS} == set(FAULT_KINDS)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_client_sees_a_good_answer_or_an_error(case: Case, seen: dict[Case, Seen]) -> None:
    answer = seen[case].answer
    if case.effect.kind == "good" or case.fails_over:
        assert answer.is_whole(TOKENS), (answer.status, answer.broken, answer.raw[:2_000])
        assert answer.is_done == (case.stream and case.fault.name != "no_end_marker")
        assert answer.headers["x-paceline-offer"] == case.serving
        return
    if case.effect.kind == "empty":
        assert (answer.status, answer.errors, answer.broken) == (200, [], None)
        assert answer.is_done == case.stream
        assert answer.vectors == 0 if case.protocol == "openai-embeddings" else answer.tokens == []
        return
    assert answer.broken is None
    assert_has_the_protocols_shape(answer)
    if case.effect.kind == "breaks":
        assert answer.status == 200
        assert len(answer.tokens) == (TOKENS if case.fault.name == "no_end_marker" else BEFORE)
        assert not answer.is_done
        assert answer.finish is None
    else:
        assert answer.status == case.effect.status
        assert not answer.is_stream
    if case.effect.code:
        assert answer.code == case.effect.code
    if case.effect.status == 429:
        assert answer.headers["retry-after"] == "7"


def assert_has_the_protocols_shape(answer: Answer) -> None:
    """An error as the official clients read it; in a stream it is the last event."""
    last = answer.documents[-1]
    error = last["error"]
    assert isinstance(error["message"], str)
    assert error["message"]
    assert isinstance(error["type"], str)
    if answer.protocol == "anthropic-messages":
        assert last["type"] == "error"
    else:
        assert isinstance(error["code"], str)
        if answer.is_stream and answer.protocol == "openai-responses":
            assert last["type"] == "error"
            assert last["code"] == error["code"]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_upstreams_were_asked_as_often_as_needed(case: Case, seen: dict[Case, Seen]) -> None:
    (tried,) = seen[case].faulty
    assert tried["protocol"] == case.protocol
    assert tried["end"] in case.effect.ends
    also = seen[case].sound
    if not case.fails_over:
        assert also == []
        return
    assert [one["end"] for one in also] == ["complete"]
    assert also[0]["protocol"] == case.protocol


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_ledger_says_what_happened(case: Case, seen: dict[Case, Seen]) -> None:
    answer, entry = seen[case].answer, seen[case].entry
    kind = "good" if case.fails_over else case.effect.kind
    outcomes = {
        "good": "ok",
        "breaks": "error_in_stream",
        "fails": "failed",
        "client": "failed",
        "empty": "ok",
    }
    assert entry["outcome"] == outcomes[kind]
    assert entry["status"] == answer.status
    assert (entry["protocol"], entry["streaming"]) == (case.protocol, case.stream)
    assert entry["code"] == (None if kind in ("good", "empty") else case.effect.code or entry["code"])
    attempts = [
        (one["offer"], one["row"]["outcome"], one["role"], one["served"]) for one in entry["attempts"]
    ]
    first = (case.bad, case.effect.outcome, "first", case.effect.kind in ("good", "breaks", "empty"))
    if case.fails_over:
        assert attempts == [(first[0], first[1], "first", False), (case.good, "ok", "retry", True)]
    elif case.effect.kind == "client":
        assert attempts == [(*first[:3], attempts[0][3])]
    else:
        assert attempts == [first]
    assert (entry["ttft_ns"] is not None) == (case.stream and kind in ("good", "breaks"))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_was_used_is_billed_by_the_upstreams_own_log(case: Case, seen: dict[Case, Seen]) -> None:
    view = seen[case]
    logs = {case.bad: view.faulty[0], case.good: view.sound[0] if view.sound else None}
    prices = {case.bad: BAD_PRICE, case.good: GOOD_PRICE}
    for attempt in view.entry["attempts"]:
        usage, log = attempt["usage"], logs[attempt["offer"]]
        assert log is not None
        sent = tokens_sent(log)
        if usage["source"] == "none":
            assert sent == 0 or not attempt["served"]
            assert attempt["cost_usd"] == 0
            continue
        if usage["source"] == "server":
            said = 2 * sent + 7 if case.fault.name == "wrong_usage" and sent else sent
            assert (usage["prompt_tokens"], usage["completion_tokens"]) == (case.prompt_tokens, said)
        else:
            assert attempt["row"]["outcome"] != "ok"
            assert usage["completion_tokens"] == (len(view.answer.tokens) if attempt["served"] else 0)
            assert usage["completion_tokens"] <= sent
        expected = cost_usd(prices[attempt["offer"]], usage["prompt_tokens"], usage["completion_tokens"])
        assert attempt["cost_usd"] == pytest.approx(expected, abs=1e-9)
    assert view.entry["cost_usd"] == pytest.approx(sum(one["cost_usd"] for one in view.entry["attempts"]))
    assert view.entry["cost_is_partial"] is False


@pytest.mark.parametrize(
    "case", [one for one in CASES if one.effect.kind == "good" or one.fails_over], ids=str
)
def test_the_client_is_told_usage_and_cost(case: Case, seen: dict[Case, Seen]) -> None:
    view = seen[case]
    usage = view.answer.usage
    if usage is None:
        # What ends without its end marker may have said none.
        assert case.fault.name == "no_end_marker"
        return
    served = next(one for one in view.entry["attempts"] if one["served"])
    assert usage["prompt"] == served["usage"]["prompt_tokens"] == case.prompt_tokens
    assert usage["completion"] == served["usage"]["completion_tokens"]
    assert usage["cost"] == pytest.approx(served["cost_usd"], abs=1e-9)
