"""A gateway without sockets, and the data plane's process with it: `python -m tests.control.fakes`."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from paceline.control import data_plane
from paceline.control.addresses import Addresses
from paceline.control.follow import Followed
from paceline.control.plane import COMMAND

FAKE_COMMAND = (COMMAND[0], "-m", "tests.control.fakes")
# What the fake does is said in a file that this names; what it was told is written beside it.
VARIABLE = "PACELINE_TEST_FAKE_GATEWAY"


class FakeGateway:
    """Notes what it is told. An offer of the name `refused` makes a table wrong; `die` ends the process."""

    def __init__(self, settings_json: str, table_json: str) -> None:
        self._settings = json.loads(settings_json)
        self._drained = False
        self._looks = 0
        self._take("start", table_json)

    def start(self) -> str:
        if self._settings["listen"].endswith(":9"):
            raise RuntimeError(
                f"cannot listen on {self._settings['listen']}: Address already in use (os error 98)"
            )
        listen = self._settings["listen"].replace(":0", ":4711")
        return json.dumps({"listen": listen, "admin": self._settings["admin_listen"]})

    def swap(self, table_json: str) -> None:
        self._take("swap", table_json)

    def stats(self) -> str:
        # A test may say what it tells, and how long it takes.
        path = Path(os.environ.get(VARIABLE, "/nowhere") + ".stats")
        told = json.loads(path.read_text()) if path.exists() else {"requests": 3}
        time.sleep(told.get("sleep_s", 0))
        return json.dumps(told)

    def drain(self) -> None:
        self._drained = True
        _note({"do": "drain"})

    def finished(self) -> bool:
        # What is in flight has not ended at the first look.
        self._looks += 1
        return self._drained and self._looks > 2

    def stop(self) -> None:
        _note({"do": "stop"})

    def _take(self, what: str, table_json: str) -> None:
        table = json.loads(table_json)
        ids = [offer["id"] for offer in table["offers"]]
        _note({"do": what, "settings": self._settings, "table": table})
        if "refused" in ids:
            raise ValueError('route table: offer "refused": it is refused')
        if "die" in ids:
            os._exit(3)


def _note(document: dict[str, Any]) -> None:
    path = os.environ.get(VARIABLE)
    if path:
        with Path(path).open("a") as file:
            file.write(json.dumps(document | {"pid": os.getpid()}) + "\n")


def noted(path: Path) -> list[dict[str, Any]]:
    """What fake gateways were told, in order."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def resolved(targets: Any, before: Addresses, *, again: bool = False) -> Addresses:
    """Each name is known at once, but those that begin with `no`."""
    places = {(one.host, one.port) for one in targets}
    known = {place: [f"192.0.2.1:{place[1]}"] for place in places if not place[0].startswith("no")}
    problems = {place: "it is not known" for place in places if place[0].startswith("no")}
    return Addresses(known, problems)


class FakeFollower:
    """Counts its steps."""

    def __init__(self, home: Path) -> None:
        self.steps = 0
        self.closed = False

    def step(self) -> Followed:
        self.steps += 1
        return Followed()

    def close(self) -> Followed:
        self.closed = True
        return Followed()


if __name__ == "__main__":
    sys.exit(data_plane.serve(FakeGateway))
