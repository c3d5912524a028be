import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from paceline.measure.sim import SimProcess
from paceline.store.runs import list_runs
from tests.e2e.conftest import SMALL, Cli, Done, Sims


def refused(done: Done, code: int, *words: str) -> None:
    assert done.code == code, done.err
    lines = done.err.splitlines()
    assert any(line.startswith("error: ") for line in lines)
    assert "Traceback" not in done.err
    for word in words:
        assert word in done.err
    assert done.out == ""
    assert list_runs() == []


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def test_an_unreachable_host(cli: Cli) -> None:
    refused(cli("measure", f"http://127.0.0.1:{closed_port()}", "-m", "x"), 2, "refused")
    refused(cli("measure", "http://no-such-host.invalid", "-m", "x"), 2, "no-such-host.invalid")
    refused(cli("measure", "ftp://127.0.0.1", "-m", "x"), 2, "ftp")


def test_a_wrong_path_model_or_key(cli: Cli, sims: Sims, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIGHT_KEY", "sk-right")
    monkeypatch.setenv("WRONG_KEY", "sk-wrong")
    engine = sims("--model", "alpha", "--model", "beta", "--api-key-env", "RIGHT_KEY")
    key = ("--api-key-env", "RIGHT_KEY")
    refused(cli("measure", engine.url.replace("/v1", "/v7"), "-m", "alpha", *key), 2, "/v7")
    refused(cli("measure", engine.url, "-m", "gamma", *key), 2, "gamma", "alpha", "beta")
    refused(cli("measure", engine.url, *key), 2, "--model", "alpha", "beta")
    refused(
        cli("measure", engine.url.replace("/v1", "/v2"), *key),
        2,
        "no model is given",
        "/v2/models",
        "/v1/models",
    )
    refused(cli("measure", engine.url, "-m", "alpha", "--api-key-env", "WRONG_KEY"), 2, "401")
    refused(cli("measure", engine.url, "-m", "alpha"), 2, "401")
    refused(cli("measure", engine.url, "-m", "alpha", "--api-key-env", "NO_SUCH_KEY"), 2, "NO_SUCH_KEY")


@pytest.fixture
def web_page() -> Iterator[str]:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(b"<html>hello</html>")

        do_POST = do_GET  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


def test_an_answer_that_is_no_stream(cli: Cli, web_page: str) -> None:
    refused(cli("measure", web_page, "-m", "x"), 2, "text/html")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--colour", "red"), ("--colour", "paceline measure --help")),
        (("--concurrency", "many"), ("--concurrency",)),
        (("--arrival", "poisson"), ("--rate",)),
        (("--rate", "5", "--burstiness", "2", "--arrival", "constant"), ("--burstiness",)),
        (("--ramp", "1:5"), ("--duration",)),
        (("--rate", "0"), ("--rate must be greater than 0, not 0", "hint: write a number above 0")),
        (("--duration", "10"), ("--duration", "hint: write 10s for seconds")),
        (("--timeout", "5"), ("--timeout", "hint: write 5s for seconds")),
        (("--prompt-tokens", "pareto:3"), ("pareto",)),
        (("--slo", "speed=3"), ("speed", "ttft_ms")),
        (("--slo", "ttft_ms"), ("ttft_ms",)),
        (("--slo", "itl_ms=5,ttft=500"), ("'ttft'", "hint: did you mean ttft_ms?")),
        (("--extra-body", "{"), ("--extra-body", "hint: write one object, in single quotes")),
        (("--extra-body", '{"n": 3}'), ("`n`",)),
        (("--header", "nonsense"), ("header",)),
        (("--protocol", "smtp"), ("smtp", "chat")),
        (("--tokenizer", "/no/such/tokenizer"), ("/no/such/tokenizer",)),
        (("--ca-file", "/no/such/ca.pem"), ("CA",)),
        (("--name", "latest"), ("latest",)),
        (("--threads", "1000"), ("--threads",)),
        (("--system", "x", "--protocol", "completions"), ("system",)),
    ],
)
def test_options_that_cannot_be_meant(
    cli: Cli, sim: SimProcess, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    refused(cli("measure", sim.url, *arguments), 2, *words)


def test_a_result_that_cannot_be_written_is_said_before_load(
    cli: Cli, sim: SimProcess, tmp_path: Path
) -> None:
    refused(cli("measure", sim.url, "--json", str(tmp_path / "no" / "r.json")), 2, "--json", "no directory")
    refused(cli("measure", sim.url, "--html", str(tmp_path)), 2, "--html", "directory")
    refused(cli("measure", sim.url, "--json", "-", "--csv", "-"), 2, "--json", "--csv")
    same = str(tmp_path / "x")
    refused(cli("measure", sim.url, "--json", same, "--csv", same), 2, "--json", "--csv")
    refused(cli("measure", sim.url, "--json", "/proc/nothing.json"), 2, "--json")


def test_a_home_that_cannot_be_written(cli: Cli, sim: SimProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACELINE_HOME", "/proc/paceline")
    done = cli("measure", sim.url, *SMALL, "-n", "2")
    assert done.code == 2
    assert "PACELINE_HOME" in done.err
    assert done.out == ""


def test_runs_that_are_not_there(cli: Cli) -> None:
    for command in (("show", "x"), ("delete", "x"), ("resume", "x"), ("export", "x", "x.tar")):
        refused(cli("runs", *command), 2, "no runs")
    refused(cli("compare", "x", "y"), 2, "no runs")


def test_a_port_that_is_taken(cli: Cli, sim: SimProcess) -> None:
    port = sim.address.rpartition(":")[2]
    refused(cli("sim", "--port", port), 2, "listen", "hint: give another --port, or --port 0")
    refused(cli("sim", "--host", "192.0.2.1", "--port", "0"), 2, "listen", "hint: give an address")


def test_no_command_and_help(cli: Cli) -> None:
    done = cli("--version")
    assert (done.code, done.out.split()[0]) == (0, "paceline")
    assert cli("measure", "--help").code == 0
    assert cli("swim").code == 2
    assert cli("measure").code == 2


def test_a_reader_that_goes_away() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "paceline", "runs", "list", "--json"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")
