"""Engines that need GPUs, by stand-ins: planned, started, measured, ended; and each way to fail."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from paceline.engines.failure import EngineError
from paceline.engines.guarded import Guarded
from paceline.engines.plan import Asked, LaunchPlan
from paceline.engines.planning import plan_launch
from paceline.engines.run import running
from paceline.errors import ConfigError, UsageError
from tests.e2e.conftest import Cli
from tests.support.big_models import machine
from tests.support.models import llama_config, llama_weights, write_safetensors
from tests.support.python_engines import installed, tilert_environment
from tests.support.standin import free_port, living, marked, until

Planned = Callable[..., LaunchPlan]


@pytest.fixture
def planned(tmp_path: Path) -> Planned:
    """A launch of a small model of real files on a machine with GPUs, by a stand-in."""
    model = write_safetensors(tmp_path / "small", llama_config(), llama_weights())

    def plan(engine: str, *, gpus: int = 2, **more: object) -> LaunchPlan:
        place = tmp_path / engine
        known = place.exists()
        if engine == "tilert":
            binary = place / "bin" / "python" if known else tilert_environment(place)
        else:
            binary = place / "bin" / engine if known else installed(place, engine)
        asked = {"model": str(model), "engine": engine, "binary": binary, "tier": "fast"} | more
        return plan_launch(Asked(**asked), home=tmp_path, machine=machine(gpus))  # type: ignore[arg-type]

    return plan


def processes(plan: LaunchPlan) -> list[str]:
    """Commands of all that was started below this process and lives."""
    found = []
    for pid in marked():
        text = (Path("/proc") / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        if str(plan.address.port) in text:
            found.append(text)
    return found


def measure(cli: Cli, plan: LaunchPlan) -> dict[str, object]:
    """One answer of eight tokens, as Paceline saw it."""
    asked = ("--requests", "1", "--concurrency", "1", "--prompt-tokens", "8", "--output-tokens", "8")
    done = cli("measure", plan.endpoint, "--model", plan.served_name, *asked, "--json", "-")
    report: dict[str, object] = json.loads(done.out)
    return report


@pytest.mark.parametrize(
    ("engine", "expected"),
    [
        # The API server, its EngineCore, a worker for each of two GPUs.
        ("vllm", 4),
        # The server, a scheduler for each of two GPUs, a detokenizer.
        ("sglang", 4),
    ],
)
def test_started_measured_and_ended_with_all_its_processes(
    engine: str, expected: int, planned: Planned, cli: Cli, tmp_path: Path
) -> None:
    plan = planned(engine)
    assert plan.settings["tensor-parallel-size" if engine == "vllm" else "tp-size"] == 2
    with running(plan, log=tmp_path / "log") as engine_now:
        assert engine_now.alive()
        assert len(processes(plan)) == expected
        report = measure(cli, plan)
        assert report["outcomes"]["by_outcome"] == {"ok": 1}  # type: ignore[index]
        assert report["tokens"]["completion"] == 8  # type: ignore[index]
        pids = marked()
        assert len(living(pids)) >= expected
    until(lambda: not processes(plan), "processes are left")


def test_tilerts_router(planned: Planned, cli: Cli, tmp_path: Path) -> None:
    binary = tilert_environment(tmp_path / "tilert")
    nodes = {"vllm-url": "http://127.0.0.1:9", "decode": "127.0.0.1:9:9"}
    asked = Asked("zai-org/GLM-5", engine="tilert", binary=binary, tier="fast", settings=nodes)
    plan = plan_launch(asked, home=tmp_path, machine=machine(0))
    with running(plan, log=tmp_path / "log"):
        report = measure(cli, plan)
        assert report["outcomes"]["by_outcome"] == {"ok": 1}  # type: ignore[index]
    until(lambda: not processes(plan), "processes are left")


def test_sglang_is_ready_only_after_its_own_first_request(
    planned: Planned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PACELINE_STANDIN_LOAD_S", "1")
    plan = planned("sglang")
    with running(plan, log=tmp_path / "log"):
        assert "ready to roll" in (tmp_path / "log").read_text()


FAULTS = {
    ("vllm", "out-of-memory"): ("the GPU's memory ran out", True),
    ("vllm", "no-cache-blocks"): ("the weights leave no memory for the KV cache", True),
    ("vllm", "long-context"): ("a request of the whole context (131072 tokens) does not fit", True),
    ("vllm", "gpu-busy"): ("something else uses the GPU: 3.20 of 23.64 GiB are free", False),
    ("vllm", "no-gpu"): ("it finds no GPU and no driver of one", True),
    ("vllm", "architecture"): ("it does not know the architecture nosuch", True),
    ("sglang", "out-of-memory"): ("the GPU's memory ran out", True),
    ("sglang", "no-cache"): ("the weights leave no memory for the KV cache", True),
    ("sglang", "unsupported"): ("it does not serve the architecture ['NoSuchForCausalLM']", True),
    ("sglang", "no-gpu"): ("it finds no GPU and no driver of one", True),
}


@pytest.mark.parametrize(("engine", "fault"), FAULTS)
def test_each_failure_is_told(
    engine: str, fault: str, planned: Planned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PACELINE_STANDIN", fault)
    monkeypatch.setenv("PACELINE_STANDIN_LOAD_S", "0.05")
    message, lasting = FAULTS[engine, fault]
    plan = planned(engine)
    with pytest.raises(EngineError) as error, running(plan, log=tmp_path / "log"):
        pass
    assert message in error.value.message
    assert error.value.hint
    assert error.value.lasting == lasting
    until(lambda: not processes(plan), "processes are left")


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_an_option_that_the_engine_does_not_have(engine: str, planned: Planned, tmp_path: Path) -> None:
    # Another release than the one whose options are known: only the engine can say.
    libraries = next(
        (installed(tmp_path / engine, engine, "9.9.9").parent.parent).glob("lib/*/site-packages")
    )
    assert [one.name for one in libraries.iterdir()] == [f"{engine}-9.9.9.dist-info"]
    plan = planned(engine, settings={"no-such-option": 3})
    with pytest.raises(EngineError) as error, running(plan, log=tmp_path / "log"):
        pass
    assert "it has no such option: --no-such-option 3" in error.value.message
    assert error.value.lasting


def test_a_port_that_is_taken_is_said_before_the_start(planned: Planned, tmp_path: Path) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        with pytest.raises(UsageError, match="cannot listen on"):
            planned("vllm", port=taken.getsockname()[1])


def test_a_model_that_is_too_large_is_said_before_the_start(planned: Planned, tmp_path: Path) -> None:
    config = llama_config(num_hidden_layers=1, vocab_size=10**8, hidden_size=1024, num_attention_heads=8)
    tensors = {"model.embed_tokens.weight": ("BF16", (10**8, 1024))}
    folder = tmp_path / "large"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    header = json.dumps(
        {
            name: {"dtype": kind, "shape": shape, "data_offsets": [0, 2 * 1024 * 10**8]}
            for name, (kind, shape) in tensors.items()
        }
    ).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        # As large as it says, and on the disk almost nothing.
        file.truncate(8 + len(header) + 2 * 1024 * 10**8)
    with pytest.raises(ConfigError, match="does not fit: its weights take 191 GiB"):
        planned("vllm", model=str(folder), gpus=1)


def test_an_engine_process_that_is_killed_ends_the_server(
    planned: Planned, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PACELINE_STANDIN", "die-serving")
    plan = planned("vllm")
    with running(plan, log=tmp_path / "log") as engine:
        measure(cli, plan)
        until(lambda: not engine.alive(), "it goes on")
        failure = engine.failure()
        assert engine.exit_code == 0
    assert failure is not None
    assert "its engine process (EngineCore) ended while it served" in failure.message
    assert not failure.lasting


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_killed_while_it_loads_nothing_is_left(
    engine: str, planned: Planned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PACELINE_STANDIN_LOAD_S", "30")
    plan = planned(engine, port=free_port())
    guarded = Guarded(plan.command, tmp_path / "log")
    until(lambda: len(processes(plan)) == 4, "its processes do not come")
    guarded.kill()
    until(lambda: not processes(plan), "processes are left")
