"""Who can be raced, and who cannot and why."""

from pathlib import Path

import pytest

from paceline.advisor.identity import OfferKey
from paceline.control.listening import write_listening
from paceline.control.lock import GatewayLock
from paceline.dashboard.race_lanes import Lanes, find_lanes
from paceline.errors import ConfigError
from tests.report.samples import CLOSED, store
from tests.support.rows import make_row

CONFIG = """
[gateway]
listen = "0.0.0.0:8080"

[[offer]]
id = "near"
model = "tiny"
base_url = "http://127.0.0.1:9001/v1"
protocol = "messages"
tier = "fast"
extra_body = {speed = "fast"}

[[offer]]
id = "far"
model = "large"
provider = "acme"
upstream_model = "acme/large"
base_url = "https://api.example.com/v1"
api_key_env = "ACME_KEY"
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ACME_KEY", "sk-secret-of-acme")
    path = tmp_path / "paceline.toml"
    path.write_text(CONFIG)
    return path


def by_id(lanes: Lanes) -> dict[str, str | None]:
    return {lane.id: lane.why_not for lane in lanes.lanes}


def stored(home: Path, **fields: object) -> None:
    told = {"endpoint": "http://127.0.0.1:9100/v1", "model": "tiny", "protocol": "openai-chat", **fields}
    store(home, [make_row()], **told)


def test_offers_with_their_keys_which_stay_here(tmp_path: Path, config: Path) -> None:
    lanes = find_lanes(tmp_path, config)
    assert by_id(lanes) == {"offer:near": None, "offer:far": None}
    near, far = lanes.lanes
    assert near.key == OfferKey("tiny", "near", "fast")
    assert (near.protocol, near.extra) == ("anthropic-messages", {"speed": "fast"})
    assert ("authorization", "Bearer sk-secret-of-acme") in far.target().all_headers()
    assert far.target().path == "/v1/chat/completions"
    assert far.described() == {
        "id": "offer:far",
        "group": "offer",
        "label": "large @ acme",
        "model": "acme/large",
        "endpoint": "https://api.example.com/v1",
        "protocol": "openai-chat",
        "why_not": None,
    }
    assert "sk-secret" not in repr(lanes)


def test_an_offer_without_its_key_is_shown_and_says_why(
    tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ACME_KEY")
    lanes = find_lanes(tmp_path, config)
    assert by_id(lanes)["offer:far"] == "the environment variable ACME_KEY is not set"
    with pytest.raises(ConfigError, match="ACME_KEY is not set"):
        lanes.find("offer:far")
    with pytest.raises(ConfigError, match="no such endpoint"):
        lanes.find("http://127.0.0.1:22/")


def test_a_config_that_is_wrong_leaves_the_others(tmp_path: Path) -> None:
    path = tmp_path / "paceline.toml"
    path.write_text("[[offer]]\nid = 3\n")
    stored(tmp_path)
    lanes = find_lanes(tmp_path, path)
    assert [lane.group for lane in lanes.lanes] == ["run"]
    assert "are left out" in lanes.notes[0]


def test_endpoints_of_runs(tmp_path: Path, config: Path) -> None:
    none = tmp_path / "none"
    stored(tmp_path)
    stored(tmp_path)
    stored(tmp_path, model="other", load={**CLOSED, "connection": {"api_key_env": "NOT_SET_HERE"}})
    stored(tmp_path, model="third", load={**CLOSED, "connection": {"header_names": ["x-team"]}})
    stored(tmp_path, model="vectors", protocol="openai-embeddings")
    stored(tmp_path, model="live", load={"arrival": {"kind": "live"}})
    stored(tmp_path, model="theirs", imported={"tool": "guidellm", "lacks": []})
    lanes = find_lanes(tmp_path, none)
    assert {lane.model: lane.why_not for lane in lanes.lanes} == {
        "tiny": None,
        "other": "the environment variable NOT_SET_HERE is not set",
        "third": "it needs the headers x-team, whose values are not stored",
        "vectors": "its protocol writes no text",
    }


def test_an_offer_that_was_measured_is_listed_once(tmp_path: Path, config: Path) -> None:
    stored(tmp_path, endpoint="https://api.example.com/v1", model="acme/large")
    assert list(by_id(find_lanes(tmp_path, config))) == ["offer:near", "offer:far"]


def test_the_gateway_while_it_runs(tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not any(lane.group == "gateway" for lane in find_lanes(tmp_path, config).lanes)
    lock = GatewayLock(tmp_path)
    try:
        write_listening(tmp_path, {"listen": "0.0.0.0:45678", "admin": None})
        gateway = [lane for lane in find_lanes(tmp_path, config).lanes if lane.group == "gateway"]
        assert [lane.model for lane in gateway] == ["tiny", "large"]
        assert gateway[0].endpoint == "http://127.0.0.1:45678/v1"
        assert "--gateway-key-env" in str(gateway[0].why_not)
        monkeypatch.setenv("GATEWAY_KEY", "pk-of-the-gateway")
        with_key = find_lanes(tmp_path, config, gateway_key_env="GATEWAY_KEY")
        lane = with_key.find("gateway:tiny")
        assert ("authorization", "Bearer pk-of-the-gateway") in lane.target().all_headers()
    finally:
        lock.release()
    assert not any(lane.group == "gateway" for lane in find_lanes(tmp_path, config).lanes)


def test_urls_that_the_operator_allows(tmp_path: Path) -> None:
    lanes = find_lanes(tmp_path, tmp_path / "none", urls=["http://127.0.0.1:9/v1/messages tiny"])
    lane = lanes.find("url:0")
    assert (lane.model, lane.protocol, lane.target().path) == ("tiny", "anthropic-messages", "/v1/messages")
    with pytest.raises(ConfigError, match="has no model"):
        find_lanes(tmp_path, tmp_path / "none", urls=["http://127.0.0.1:9/v1"])
