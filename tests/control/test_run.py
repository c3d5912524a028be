"""The running gateway, with a data plane's process whose gateway is a fake."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from paceline.control.keys import KeyLimits, KeyStore
from tests.control.fakes import VARIABLE, noted

ROOT = Path(__file__).resolve().parents[2]
HEAD = '[gateway]\nlisten = "127.0.0.1:0"\nadmin_listen = false\nrequire_key = false\ndrain = "5s"\n'
CODE = """
import sys
from pathlib import Path
from paceline.control import run
from paceline.control.run import Parts, run_gateway
from paceline.errors import PacelineError
from tests.control.fakes import FAKE_COMMAND, FakeFollower, resolved

follower = FakeFollower(Path())
parts = Parts(
    follower=lambda home: follower, spent=lambda home, now: {}, command=FAKE_COMMAND, look_up=resolved
)

run._AGAIN_S = 0.1
run._HEAR_S = 0.1

def say(text):
    print(text, file=sys.stderr, flush=True)

def announce(force, addresses):
    print(addresses["listen"], flush=True)

try:
    run_gateway(
        Path(sys.argv[1]), {}, Path(sys.argv[2]), parts=parts, say=say, announce=announce, with_parent=True
    )
except PacelineError as error:
    say("error: " + error.message)
    sys.exit(error.exit_code)
print("closed" if follower.closed else "not closed", flush=True)
"""


def offer(name: str, host: str = "upstream.test") -> str:
    return f'[[offer]]\nid = "{name}"\nmodel = "demo"\nbase_url = "http://{host}:9100/v1"\n'


@dataclass
class Gateway:
    """The control process and what it has said."""

    process: "subprocess.Popen[str]"
    notes: Path
    config: Path
    home: Path
    said: list[str] = field(default_factory=list)

    def until(self, true: Callable[[], bool]) -> None:
        """Wait for something; where it does not come the test says what was said."""
        end = time.monotonic() + 30
        while not true():
            assert time.monotonic() < end, "\n".join(self.said)
            time.sleep(0.02)

    def heard(self, words: str) -> bool:
        return any(words in line for line in self.said)

    def tables(self) -> list[dict[str, Any]]:
        return [one["table"] for one in noted(self.notes) if "table" in one]

    def ended(self) -> int:
        return self.process.wait(30)


@pytest.fixture
def begun(tmp_path: Path) -> Iterator[Callable[[str], Gateway]]:
    running: list[Gateway] = []

    def begin(text: str) -> Gateway:
        config = tmp_path / "paceline.toml"
        config.write_text(text)
        notes = tmp_path / "notes.jsonl"
        process = subprocess.Popen(
            [sys.executable, "-c", CODE, str(config), str(tmp_path / "home")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, VARIABLE: str(notes)},
        )
        gateway = Gateway(process, notes, config, tmp_path / "home")
        for pipe in (process.stdout, process.stderr):
            threading.Thread(target=gateway.said.extend, args=(pipe,), daemon=True).start()
        running.append(gateway)
        return gateway

    yield begin
    for gateway in running:
        if gateway.process.stdin:
            gateway.process.stdin.close()
        gateway.process.wait(30)


def test_from_start_to_an_orderly_end(begun: Callable[[str], Gateway]) -> None:
    gateway = begun(HEAD + offer("a"))
    gateway.until(lambda: gateway.heard("127.0.0.1:4711"))
    gateway.process.send_signal(signal.SIGTERM)
    assert gateway.ended() == 0
    gateway.until(lambda: gateway.heard("closed"))
    assert gateway.heard("draining")
    assert not gateway.heard("not closed")
    assert [one["do"] for one in noted(gateway.notes)] == ["start", "drain", "stop"]


def test_a_changed_config_is_applied_whole_or_refused_whole(begun: Callable[[str], Gateway]) -> None:
    gateway = begun(HEAD + offer("a"))
    gateway.until(lambda: gateway.heard("4711"))
    gateway.config.write_text(HEAD + offer("a") + offer("b"))
    gateway.until(lambda: gateway.heard("config applied (version 2): offer b added"))
    gateway.config.write_text(HEAD + offer("a") + offer("b") + 'teir = "fast"\n')
    gateway.until(lambda: gateway.heard("version 2 stays in force"))
    gateway.until(lambda: gateway.heard('paceline.toml:14: offer "b": teir: there is no such key'))
    gateway.config.write_text(HEAD + offer("a") + offer("refused"))
    gateway.until(lambda: gateway.heard('offer "refused": it is refused'))
    gateway.config.write_text(HEAD.replace(":0", ":1") + offer("c"))
    gateway.until(lambda: gateway.heard("gateway.listen: it cannot change while the gateway runs"))
    gateway.config.write_text(HEAD + offer("c"))
    gateway.until(lambda: gateway.heard("(version 3)"))
    ids = [[one["id"] for one in table["offers"]] for table in gateway.tables()]
    assert list(dict.fromkeys(map(tuple, ids))) == [("a",), ("a", "b"), ("a", "refused"), ("c",)]
    assert gateway.tables()[-1]["version"] == 3


def test_a_new_key_is_known_and_a_revoked_one_is_not(begun: Callable[[str], Gateway]) -> None:
    gateway = begun(HEAD + offer("a"))
    gateway.until(lambda: gateway.heard("4711"))
    store = KeyStore(gateway.home)
    key, secret = store.create("team", KeyLimits(budgets_usd=(("day", 5.0),)))
    gateway.until(lambda: gateway.heard("key team added"))
    assert gateway.tables()[-1]["keys"][0]["sha256"] == key.sha256
    store.revoke("team")
    gateway.until(lambda: gateway.heard("key team gone"))
    assert gateway.tables()[-1]["keys"] == []
    assert not gateway.heard(secret)
    assert secret not in gateway.notes.read_text()


def test_what_was_refused_is_tried_again_when_what_it_lacked_comes(begun: Callable[[str], Gateway]) -> None:
    gateway = begun(HEAD + offer("a"))
    gateway.until(lambda: gateway.heard("4711"))
    store = KeyStore(gateway.home)
    store.create("team", KeyLimits())
    gateway.until(lambda: gateway.heard("key team added"))
    key = gateway.config.with_name("key")
    gateway.config.write_text(HEAD + offer("b") + f'api_key_file = "{key}"\n')
    gateway.until(lambda: gateway.heard("api_key_file: the file cannot be read: No such file"))
    # In no file that it watches: the config in force does not name it.
    key.write_text("sk-1")
    gateway.until(lambda: gateway.heard("offer b added; offer a gone"))
    store.file.rename(store.file.with_name("away"))
    store.file.mkdir()
    gateway.until(lambda: gateway.heard("cannot write"))
    assert [one["name"] for one in gateway.tables()[-1]["keys"]] == ["team"]
    store.file.rmdir()
    gateway.until(lambda: gateway.heard("key team gone"))
    gateway.said.clear()
    gateway.process.send_signal(signal.SIGHUP)
    gateway.until(lambda: gateway.heard("config is as it was"))


def test_sighup_reads_the_config_and_says_what_it_found(begun: Callable[[str], Gateway]) -> None:
    gateway = begun(HEAD + offer("a"))
    gateway.until(lambda: gateway.heard("4711"))
    gateway.process.send_signal(signal.SIGHUP)
    gateway.until(lambda: gateway.heard("config is as it was (version 1)"))


def test_a_data_plane_that_dies_is_started_again_where_it_was(begun: Callable[[str], Gateway]) -> None:
    gateway = begun(HEAD + offer("a"))
    gateway.until(lambda: gateway.heard("4711"))
    first = noted(gateway.notes)[0]["pid"]
    os.kill(first, signal.SIGKILL)
    gateway.until(lambda: gateway.heard("killed by SIGKILL; another starts in 0.5 s"))
    gateway.until(lambda: gateway.heard("up again at 127.0.0.1:4711"))
    second = noted(gateway.notes)[-1]
    assert second["pid"] != first
    assert second["settings"]["listen"] == "127.0.0.1:4711"


def test_a_ledger_that_fails_and_an_offer_that_does_are_said(begun: Callable[[str], Gateway]) -> None:
    gateway = begun(HEAD + '[gateway.ledger]\non_failure = "stop"\n' + offer("a"))
    gateway.until(lambda: gateway.heard("4711"))
    stats = gateway.notes.with_name("notes.jsonl.stats")

    def tell(why: str | None, lost: int, breaker: str) -> None:
        ledger = {"failing": why is not None, "why": why, "lost": lost, "syncs_failed": 0}
        text = json.dumps({"ledger": ledger, "offers": [{"offer": "a", "breaker": breaker}]})
        stats.with_suffix(".new").write_text(text)
        stats.with_suffix(".new").rename(stats)

    tell("No space left on device", 1, "open")
    gateway.until(
        lambda: gateway.heard("the ledger cannot be written: No space left on device; 1 record was")
    )
    gateway.until(lambda: gateway.heard("offer a fails"))
    assert gateway.heard("new requests are refused")
    assert gateway.heard(f"bring back {gateway.home / 'gateway' / 'ledger'}")
    tell(None, 5, "open")
    gateway.until(lambda: gateway.heard("the ledger is written again; 5 records were lost meanwhile"))
    assert sum("cannot be written" in line for line in gateway.said) == 1


def test_its_end_is_that_of_its_parent_and_no_data_plane_is_left(begun: Callable[[str], Gateway]) -> None:
    gateway = begun(HEAD + offer("a"))
    gateway.until(lambda: gateway.heard("4711"))
    child = noted(gateway.notes)[0]["pid"]
    gateway.process.kill()
    gateway.ended()
    gateway.until(lambda: not Path(f"/proc/{child}").exists() or "Z" in _state(child))
    assert [one["do"] for one in noted(gateway.notes)] == ["start", "drain", "stop"]


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_one_gateway_a_home(begun: Callable[[str], Gateway]) -> None:
    gateway = begun(HEAD + offer("a"))
    gateway.until(lambda: gateway.heard("4711"))
    other = begun(HEAD + offer("a"))
    assert other.ended() == 2
    other.until(lambda: other.heard(f"a gateway (process {gateway.process.pid}) works in"))


def test_a_port_that_is_taken(begun: Callable[[str], Gateway], tmp_path: Path) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        gateway = begun(HEAD.replace(":0", f":{port}") + offer("a"))
        assert gateway.ended() == 2
        gateway.until(
            lambda: gateway.heard(f"cannot listen on 127.0.0.1:{port} (listen): Address already in use")
        )


def test_an_offer_without_an_address_waits_for_one(begun: Callable[[str], Gateway]) -> None:
    gateway = begun(HEAD + offer("a") + offer("b", "nowhere.test"))
    gateway.until(lambda: gateway.heard("4711"))
    assert [one["id"] for one in gateway.tables()[0]["offers"]] == ["a"]


def test_stdout_has_the_address_alone(begun: Callable[[str], Gateway]) -> None:
    gateway = begun(HEAD + offer("a"))
    gateway.until(lambda: gateway.heard("4711"))
    assert gateway.said[0] == "127.0.0.1:4711\n"
    assert json.dumps(gateway.tables()[0])
