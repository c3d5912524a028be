"""An offer in the gateway's config and out of it: the user's text stays, nothing wrong is written."""

import stat
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from paceline.control.example import example_text
from paceline.control.prepare import prepare
from paceline.control.problems import GatewayConfigError
from paceline.control.read import read_config
from paceline.engines.register import (
    Limits,
    Offer,
    register,
    tier_limits,
    try_registration,
    unregister,
    with_block,
    without_block,
)
from paceline.errors import ConfigError
from paceline.toml_file import Problem

URL = "http://127.0.0.1:21000/v1"
OFFER = Offer(
    id="gemma-ultra",
    model="gemma",
    base_url=URL,
    protocol=("openai-chat", "openai-completions"),
    tier="ultra",
    price=(0.5, 1.5),
    limits=tier_limits("ultra", 2),
)
OWN = """\
# mine: keep   this
[gateway]
require_key = false   # loopback

[[offer]]
id = 'other'
model = "other"
base_url = "http://127.0.0.1:1/v1"
price = { input_usd_per_mtok = 0, output_usd_per_mtok = 0 }
"""


def check(file: Path) -> Sequence[Problem]:
    """The gateway's own."""
    try:
        prepare(read_config(file))
    except GatewayConfigError as error:
        return error.problems
    return ()


def test_an_offer_comes_and_goes_and_the_text_stays(tmp_path: Path) -> None:
    file = tmp_path / "paceline.toml"
    for text in (OWN, example_text(), OWN.replace("\n", "\r\n"), OWN + "\n\n"):
        file.write_bytes(text.encode())
        assert register(file, OFFER, check) is False
        now = file.read_bytes().decode()
        assert now.startswith(text)
        added = now[len(text) :]
        assert added.count("\r") == (added.count("\n") if "\r" in text else 0)
        assert unregister(file, OFFER.id, URL, check) == []
        assert file.read_bytes().decode() == text


def test_the_gateway_reads_what_was_meant(tmp_path: Path) -> None:
    file = tmp_path / "paceline.toml"
    file.write_text(OWN)
    register(file, OFFER, check)
    offer = read_config(file).config.offers[-1]
    assert (offer.id, offer.model, offer.base_url, offer.tier) == ("gemma-ultra", "gemma", URL, "ultra")
    assert offer.protocol == ("openai-chat", "openai-completions")
    assert offer.price is not None
    assert (offer.price.input_usd_per_mtok, offer.price.output_usd_per_mtok) == (0.5, 1.5)
    limits = offer.limits
    assert (limits.concurrency, limits.queue, limits.queue_timeout) == (2, 4, "2s")
    assert (limits.sessions, limits.session, limits.idle) == (2, "30m", "2m")


def test_the_next_registration_takes_the_place_of_the_last(tmp_path: Path) -> None:
    file = tmp_path / "paceline.toml"
    file.write_text(OWN)
    register(file, OFFER, check)
    file.write_text(file.read_text() + "\n# written after it\n")
    moved = replace(OFFER, base_url="http://127.0.0.1:21001/v1", price=None)
    register(file, moved, check)
    assert file.read_text().count("[[offer]]") == 2
    assert file.read_text().endswith("\n# written after it\n")
    # The first server's end does not take out what is the second's now.
    before = file.read_text()
    assert unregister(file, OFFER.id, URL, check) is None
    assert file.read_text() == before
    assert unregister(file, OFFER.id, moved.base_url, check) == []
    assert file.read_text() == OWN + "\n# written after it\n"


def test_names_that_begin_alike(tmp_path: Path) -> None:
    file = tmp_path / "paceline.toml"
    file.write_text(OWN)
    second = replace(OFFER, id="gemma-ultra-2")
    register(file, second, check)
    register(file, OFFER, check)
    assert unregister(file, OFFER.id, URL, check) == []
    assert [one["id"] for one in tomllib.loads(file.read_text())["offer"]] == ["other", "gemma-ultra-2"]


def test_without_a_config_one_is_made_that_works(tmp_path: Path) -> None:
    file = tmp_path / "new" / "paceline.toml"
    try_registration(file, OFFER, check)
    assert not file.parent.exists()
    assert register(file, OFFER, check) is True
    assert list(check(file)) == []
    assert [one.id for one in read_config(file).config.offers] == ["gemma-ultra"]
    problems = unregister(file, OFFER.id, URL, check)
    assert problems is not None
    assert [one.message for one in problems] == ["there is no [[offer]]"]
    assert "[[offer]]" not in file.read_text()


@pytest.mark.parametrize(
    ("text", "offer", "words"),
    [
        (OWN + "nonsense\n", OFFER, "not TOML"),
        (OWN + "teir = 1\n", OFFER, "teir: there is no such key"),
        (OWN.replace("'other'", "'gemma-ultra'"), OFFER, "another offer has this id"),
        ("offer = []\n", OFFER, "not TOML"),
        (OWN, replace(OFFER, model="no id"), "it is no id"),
        (OWN, replace(OFFER, model="\udcff"), "it is no id"),
        (OWN, replace(OFFER, limits=Limits(queue=4, session="soon")), "session"),
        (OWN, replace(OFFER, price=(-1.0, 1.0)), "price"),
    ],
)
def test_what_the_gateway_would_refuse_is_not_written(
    text: str, offer: Offer, words: str, tmp_path: Path
) -> None:
    file = tmp_path / "paceline.toml"
    file.write_text(text)
    for attempt in (try_registration, register):
        with pytest.raises(ConfigError) as caught:
            attempt(file, offer, check)
        assert words in caught.value.message
        assert str(file) in caught.value.message
        assert file.read_text() == text
        assert [one.name for one in tmp_path.iterdir()] == ["paceline.toml"]


def test_mode_and_links_stay(tmp_path: Path) -> None:
    real = tmp_path / "real.toml"
    real.write_text(OWN)
    real.chmod(0o640)
    link = tmp_path / "paceline.toml"
    link.symlink_to(real)
    register(link, OFFER, check)
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert "gemma-ultra" in real.read_text()


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "latin").write_bytes(b"# \xe9\n")
    for file in (tmp_path, tmp_path / "loop", tmp_path / "latin", tmp_path / "no\0name"):
        with pytest.raises(ConfigError):
            try_registration(file, OFFER, check)


def test_a_block_without_its_end_is_left_alone() -> None:
    text = with_block(OWN, OFFER).replace("# <<< paceline serve gemma-ultra\n", "")
    assert without_block(text, OFFER.id) == text


def test_many_register_at_once(tmp_path: Path) -> None:
    """Each of eight takes its offer in, and half of them out again: none is lost."""
    file = tmp_path / "paceline.toml"
    file.write_text(OWN)

    def serve(number: int) -> None:
        offer = replace(OFFER, id=f"server-{number}")
        register(file, offer, check)
        if number % 2:
            unregister(file, offer.id, URL, check)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(serve, range(8)))
    ids = [one["id"] for one in tomllib.loads(file.read_text())["offer"]]
    assert sorted(ids) == ["other", "server-0", "server-2", "server-4", "server-6"]


def test_what_the_user_saves_during_the_check_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "paceline.toml"
    file.write_text(OWN)
    saved: list[str] = []

    def slow_check(copy: Path) -> Sequence[Problem]:
        if not saved:
            saved.append(OWN.replace("# mine", "# mine, and newer"))
            file.write_text(saved[0])
        return check(copy)

    assert not register(file, OFFER, slow_check)
    assert file.read_text() == with_block(saved[0], OFFER)


def test_a_check_needs_room_for_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "paceline.toml"
    file.write_text(OWN)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    for action in (register, try_registration):
        with pytest.raises(ConfigError, match="cannot be checked"):
            action(file, OFFER, check)
    assert file.read_text() == OWN


def test_limits_of_tiers() -> None:
    assert tier_limits("standard", 8) == Limits(concurrency=8)
    assert tier_limits("standard", None) == Limits()
    assert tier_limits("fast", 2) == Limits(2, 8, "10s")
    own = Limits(queue=0, session="5m")
    assert own.over(tier_limits("ultra", None)) == Limits(1, 0, "2s", 1, "5m", "2m")
