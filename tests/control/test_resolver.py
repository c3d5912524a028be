import time
from pathlib import Path
from typing import Any

import pytest

from paceline.control import resolver
from paceline.control.addresses import Addresses
from paceline.control.resolver import Resolver
from tests.control.samples import OFFER
from tests.control.test_force import begun


def test_names_are_looked_up_again_beside_all_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, force = begun(tmp_path, OFFER)
    asked: list[bool] = []
    other = Addresses({("a.test", 80): ["192.0.2.9:80"]})

    def look_up(_targets: Any, _before: Addresses, *, again: bool) -> Addresses:
        asked.append(again)
        return other

    one = Resolver(look_up)
    assert one.look(force) is None
    assert asked == []
    monkeypatch.setattr(resolver, "DNS_S", 0.0)
    found, until = None, time.monotonic() + 10
    while found is None and time.monotonic() < until:
        found = one.look(force)
    assert found == other
    assert asked[0] is True
