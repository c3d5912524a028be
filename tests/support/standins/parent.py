"""A program that has an engine, and is ended in every way.

    python -m tests.support.standins.parent serve|run|fork LOG GRACE_S ENGINE-COMMAND... --port N ...

Says each event as a line of JSON.
"""

import json
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

from tests.support.standin import plan

from paceline.engines.engine import Address, Command
from paceline.engines.restarts import Restarts
from paceline.engines.run import running
from paceline.engines.supervise import Event, Supervisor, Times


def say(kind: str, text: str = "", pid: int | None = None) -> None:
    print(json.dumps({"kind": kind, "text": text, "pid": pid}), flush=True)  # noqa: T201


def main() -> None:
    how, log, grace_s, *argv = sys.argv[1:]
    port = int(argv[argv.index("--port") + 1])
    asked = replace(plan(), address=Address("127.0.0.1", port), command=Command(tuple(argv)))
    if how == "serve":

        def tell(event: Event) -> None:
            say(event.kind, event.text, event.pid)

        pauses = Restarts(first_pause_s=0.01)
        times = Times(grace_s=float(grace_s))
        sys.exit(Supervisor(asked, Path(log), events=tell, times=times, pauses=pauses).run())
    with running(asked, log=Path(log), watch=lambda text: say("progress", text)) as engine:
        say("ready", engine.endpoint, engine.pid)
        if how == "fork":
            # As a pool of workers does: a copy of all that is open, the guardian's socket too.
            child = os.fork()
            if child == 0:
                while True:
                    signal.pause()
            say("forked", pid=child)
        time.sleep(3_600)


if __name__ == "__main__":
    main()
