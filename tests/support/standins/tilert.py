"""Stands in for TileRT's router, 0.1.6.post3 (`python -m tilert.pd_vllm.pd_router`): options, health, chat.

By its source: it is ready when it listens, whether its nodes are or not, and has no list of models.
"""

import argparse
import signal
import sys
from threading import Thread

from tests.support.standins.openai_server import FAULT, Handler, Server, bound_socket, load, say


def main() -> None:
    parser = argparse.ArgumentParser(prog="pd_router.py")
    parser.add_argument("--vllm-url", required=True)
    parser.add_argument("--decode", nargs="+", required=True)
    parser.add_argument("--host", default="0.0.0.0")
    parser.add_argument("--port", type=int, default=23333)
    parser.add_argument("--model-path", default="")
    parser.add_argument("--parser", choices=["glm47", "none"], default="glm47")
    parser.add_argument("--model", default="")
    parser.add_argument("--generation-config", choices=["auto", "vllm"], default="auto")
    for name in ("temperature", "top-p", "repetition-penalty"):
        parser.add_argument(f"--default-{name}", type=float)
    parser.add_argument("--default-top-k", type=int)
    parser.add_argument("--queue-timeout", type=float, default=0.0)
    parser.add_argument("--force-include-usage", action="store_true")
    parser.add_argument("--chat-template")
    parser.add_argument("--default-chat-template-kwargs")
    asked = parser.parse_args()
    for node in asked.decode:
        _host, _control, port = node.rsplit(":", 2)
        int(port)
    load()
    if FAULT == "sampling":
        sys.exit("cannot serve with these sampling defaults:\nrepetition_penalty=1.1 is not supported")
    Handler.has_models = False
    server = Server(bound_socket(asked.host, asked.port))
    say(f"router on :{asked.port} -> vllm={asked.vllm_url}, {len(asked.decode)} decode node(s)")
    signal.signal(signal.SIGTERM, lambda *_: Thread(target=server.shutdown).start())
    server.serve_forever(0.02)


if __name__ == "__main__":
    main()
