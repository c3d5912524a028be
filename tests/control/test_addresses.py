import threading
from typing import Any

import pytest

from paceline.control import addresses
from paceline.control.addresses import Addresses, look_up
from paceline.endpoints.target import Target
from paceline.errors import EndpointError

A, B = (Target.parse(f"http://{name}.test/v1") for name in "ab")


def of(answers: dict[str, list[str]]) -> Any:
    def resolve(target: Target) -> list[str]:
        if target.host not in answers:
            raise EndpointError(f"{target.host} is not known")
        return answers[target.host]

    return resolve


def test_names_are_looked_up_once_unless_again() -> None:
    first = look_up([A, B], Addresses(), resolve=of({"a.test": ["192.0.2.1:80"]}))
    assert (first.of(A), first.of(B)) == (["192.0.2.1:80"], [])
    assert first.problem(B) == "b.test is not known"
    both = of({"a.test": ["192.0.2.9:80"], "b.test": ["192.0.2.2:80"]})
    second = look_up([A, B], first, resolve=both)
    assert (second.of(A), second.of(B)) == (["192.0.2.1:80"], ["192.0.2.2:80"])
    assert look_up([A, B], second, again=True, resolve=both).of(A) == ["192.0.2.9:80"]


def test_a_name_that_is_lost_keeps_its_addresses_and_one_that_is_not_meant_loses_them() -> None:
    first = look_up([A], Addresses(), resolve=of({"a.test": ["192.0.2.1:80"]}))
    lost = look_up([A], first, again=True, resolve=of({}))
    assert lost.of(A) == ["192.0.2.1:80"]
    assert lost.problem(A) == "a.test is not known"
    assert look_up([B], first, resolve=of({})).known == {}


def test_another_order_is_no_change() -> None:
    first = look_up([A], Addresses(), resolve=of({"a.test": ["192.0.2.1:80", "192.0.2.2:80"]}))
    turned = look_up([A], first, again=True, resolve=of({"a.test": ["192.0.2.2:80", "192.0.2.1:80"]}))
    assert turned == first


def test_a_resolver_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "LOOKUP_S", 0.05)
    go_on = threading.Event()

    def hangs(_: Target) -> list[str]:
        go_on.wait()
        return []

    found = look_up([A], Addresses(), resolve=hangs)
    go_on.set()
    assert "was not resolved in" in (found.problem(A) or "")
