"""All that can be wrong with a start is said before anything runs; what is left is the whole command."""

import socket
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from paceline.engines.machine import Machine
from paceline.engines.plan import Asked, LaunchPlan
from paceline.engines.planning import plan_launch, with_port, with_settings
from paceline.engines.profile import Gain, Profile, write_profile
from paceline.errors import ConfigError, UsageError
from paceline.measure.host import fingerprint
from paceline.weights.model import ModelFileError
from paceline.weights.read import read_model
from tests.support.llama_standin import make_llama_server
from tests.support.models import llama_keys, write_gguf

GIB = 1 << 30
MACHINE = Machine(2, 16 * GIB, 12 * GIB)


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    model = write_gguf(tmp_path / "small-q8_0.gguf")
    return Asked(str(model), binary=make_llama_server(tmp_path))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen(1)
        yield holder.getsockname()[1]


def planned(asked: Asked, home: Path, machine: Machine = MACHINE) -> LaunchPlan:
    return plan_launch(asked, home=home, machine=machine)


def tuned(asked: Asked, **changed: object) -> Profile:
    facts = read_model(Path(asked.model))
    made = Profile(
        engine="llama.cpp",
        engine_version="1.0.0-stand-in (build 1, commit 0000000)",
        model_name=facts.name,
        model_fingerprint=facts.fingerprint,
        machine=fingerprint(),
        tier="ultra",
        goal="min itl_ms",
        workload="code-edit",
        settings={"parallel": 1, "spec-type": "ngram-mod"},
        made_at=datetime(2026, 11, 30, tzinfo=UTC),
        gain=Gain("itl_ms", 10.0, 5.0, 2.0, 1.8, 2.2, 5, 20),
    )
    return replace(made, **changed)  # type: ignore[arg-type]


def test_a_whole_plan(asked: Asked, home: Path) -> None:
    plan = planned(asked, home)
    assert plan.adapter.name == "llama.cpp"
    assert plan.served_name == "small-q8_0"
    assert plan.model == asked.model
    assert plan.address.port > 0
    assert plan.endpoint == f"http://127.0.0.1:{plan.address.port}/v1"
    assert set(plan.why) == set(plan.settings)
    assert plan.needs_bytes is not None
    assert plan.facts is not None
    assert plan.needs_bytes > plan.facts.weight_bytes
    argv = plan.command.argv
    assert argv[argv.index("--parallel") + 1] == "4"
    assert plan.profile is None


def test_the_users_settings_lie_over_the_tiers(asked: Asked, home: Path) -> None:
    plan = planned(replace(asked, tier="fast", settings={"np": 3, "metrics": False, "poll": 0}), home)
    assert plan.settings["parallel"] == 3
    assert plan.settings["poll"] == 0
    assert plan.why["parallel"] == plan.why["poll"] == "you set it"
    assert plan.why["threads"] != "you set it"
    # What is left out stands nowhere.
    assert "metrics" not in plan.settings
    assert "--metrics" not in plan.command.argv


def test_bare_is_the_engines_own(asked: Asked, home: Path) -> None:
    write_profile(tuned(asked, tier="standard"), home=home)
    plan = planned(replace(asked, bare=True, settings={"parallel": 2}), home)
    assert plan.settings == {"parallel": 2}
    assert plan.profile is None


def test_ultra_is_what_the_tuner_found(asked: Asked, home: Path) -> None:
    ultra = replace(asked, tier="ultra")
    with pytest.raises(ConfigError) as caught:
        planned(ultra, home)
    assert "paceline tune" in (caught.value.hint or "")
    assert "--tier fast" in (caught.value.hint or "")
    write_profile(tuned(asked), home=home)
    plan = planned(ultra, home)
    assert plan.settings == {"parallel": 1, "spec-type": "ngram-mod"}
    assert plan.why["spec-type"] == "tuned for min itl_ms"
    assert plan.profile is not None
    with pytest.raises(ConfigError):
        planned(replace(ultra, use_profile=False), home)


def test_a_profile_with_an_option_that_this_build_lacks_is_named(asked: Asked, home: Path) -> None:
    write_profile(replace(tuned(asked), settings={"no-such-thing": 1}), home=home)
    with pytest.raises(ConfigError, match=r"the profile of .*no-such-thing") as raised:
        planned(replace(asked, tier="ultra"), home)
    assert raised.value.hint is not None
    assert "--no-profile" in raised.value.hint


def test_a_profile_that_is_named_must_fit(asked: Asked, home: Path, tmp_path: Path) -> None:
    path = write_profile(tuned(asked), tmp_path / "profile.json")
    plan = planned(replace(asked, tier="ultra", profile=path), home)
    assert plan.profile is not None
    with pytest.raises(ConfigError, match="does not fit"):
        planned(replace(asked, tier="fast", profile=path), home)


def test_memory_is_checked_by_all_settings(asked: Asked, home: Path, tmp_path: Path) -> None:
    little = Machine(2, GIB, 256 << 20)
    assert planned(asked, home, little).needs_bytes is not None
    with pytest.raises(UsageError) as caught:
        planned(replace(asked, settings={"ctx-size": 4_000_000}), home, little)
    assert "would take about" in caught.value.message
    assert "context of at most" in (caught.value.hint or "")
    large = write_gguf(tmp_path / "large.gguf", llama_keys(context_length=100_000_000))
    with pytest.raises(UsageError):
        planned(replace(asked, model=str(large), bare=True), home, little)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"ctx-size": "many"}, "not a whole number"),
        ({"cache-type-k": "q9"}, "cache-type-k"),
        ({"port": 1}, "not yours to set"),
        ({"paralel": 1}, "no option --paralel"),
    ],
)
def test_settings_that_cannot_be(asked: Asked, home: Path, settings: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        planned(replace(asked, settings=settings), home)
    assert caught.value.hint


def test_a_port_that_is_taken(asked: Asked, home: Path, taken: int) -> None:
    with pytest.raises(ConfigError) as caught:
        planned(replace(asked, port=taken), home)
    assert caught.value.message == f"cannot listen on 127.0.0.1:{taken}: Address already in use"


def test_an_address_of_another_machine(asked: Asked, home: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        planned(replace(asked, host="192.0.2.1"), home)
    assert caught.value.message.startswith("cannot listen on 192.0.2.1: ")
    with pytest.raises(ConfigError, match="no port"):
        planned(replace(asked, port=70_000), home)


@pytest.mark.parametrize("host", ["a" * 64, "a..b", "none.invalid", "bad host"])
def test_a_name_of_no_machine(asked: Asked, home: Path, host: str) -> None:
    with pytest.raises(ConfigError, match=f"^cannot listen on {host}: "):
        planned(replace(asked, host=host), home)


def test_a_url_is_no_model_and_what_it_holds_is_not_shown(asked: Asked, home: Path) -> None:
    with pytest.raises(ConfigError, match="by a URL") as caught:
        planned(replace(asked, model="https://user:hf_abcdef@hub.example/org/model"), home)
    assert "hf_abcdef" not in f"{caught.value.message} {caught.value.hint}"


def test_all_addresses_and_the_sixth_version(asked: Asked, home: Path) -> None:
    plan = planned(replace(asked, host="0.0.0.0"), home)
    assert plan.endpoint.startswith("http://127.0.0.1:")
    assert planned(replace(asked, host="localhost"), home).address.port


def test_models_that_are_not_there(asked: Asked, home: Path, tmp_path: Path) -> None:
    for model in (str(tmp_path / "none.gguf"), "none/none.gguf", "none"):
        with pytest.raises(ModelFileError):
            planned(replace(asked, model=model), home)
    with pytest.raises(ModelFileError) as bare:
        planned(replace(asked, model="gemma-3-270m"), home)
    assert "org/model" in (bare.value.hint or "")  # a name without its owner: what a name looks like
    whole = Path(asked.model).read_bytes()
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ModelFileError, match="cut"):
        planned(replace(asked, model=str(cut)), home)


def test_a_name_is_the_engines_to_resolve(asked: Asked, home: Path) -> None:
    plan = planned(replace(asked, model="org/model-GGUF:Q4_K_M"), home)
    assert (plan.facts, plan.needs_bytes) == (None, None)
    assert plan.served_name == plan.model == "org/model-GGUF:Q4_K_M"
    with pytest.raises(ConfigError, match="a profile is for"):
        planned(replace(asked, model="org/model-GGUF", profile=Path("x")), home)


def test_names_of_split_files_and_relative_paths(
    asked: Asked, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(asked.model).parent
    monkeypatch.chdir(folder)
    plan = planned(replace(asked, model="small-q8_0.gguf", served_name="mine"), home)
    assert (plan.model, plan.served_name) == (asked.model, "mine")


@pytest.mark.parametrize(("engine", "tier"), [("lama.cpp", "fast"), ("auto", "fastest")])
def test_names_that_there_are_not(asked: Asked, home: Path, engine: str, tier: str) -> None:
    with pytest.raises(ConfigError) as caught:
        planned(replace(asked, engine=engine, tier=tier), home)  # type: ignore[arg-type]
    assert caught.value.hint


def test_other_settings_and_another_port(asked: Asked, home: Path) -> None:
    plan = planned(asked, home)
    # No header is read again: the model may be gone.
    Path(asked.model).unlink()
    other = with_settings(plan, {"parallel": 4, "threads": 1, "metrics": None})
    assert other.settings == {"parallel": 4, "threads": 1}
    assert list(other.why) == ["parallel"]
    assert other.address == plan.address
    moved = with_port(other)
    assert moved.address.port != plan.address.port
    assert str(moved.address.port) in moved.command.argv
    assert moved.settings == other.settings
    with pytest.raises(ConfigError):
        with_settings(plan, {"alias": "x"})
    # What no machine has the memory for: the tuner tries settings without a plan of their own.
    with pytest.raises(UsageError, match="would take about"):
        with_settings(plan, {"ctx-size": 10**12})
