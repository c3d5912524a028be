from typing import Any

import pytest

from paceline.advisor.identity import (
    KnownOffer,
    OfferKey,
    asked_tier,
    load_name,
    offer_of,
    workload_key,
    workload_name,
)
from tests.advisor.samples import digest

URL = "https://api.acme.example/v1"


def known(number: int = 0, **fields: Any) -> KnownOffer:
    return KnownOffer(
        **{
            "id": f"own-{number}",
            "key": OfferKey("m", "Acme", "standard"),
            "base_url": URL,
            "upstream_model": "m-2026",
            "extra_body": {},
            **fields,
        }
    )


def test_what_the_run_says_goes_before_the_users_offer_and_that_before_the_url() -> None:
    asked: dict[str, Any] = {"endpoint": f"{URL}/", "model": "m-2026", "provider": None, "tier": None}
    assert offer_of(digest(**asked)) == OfferKey("m-2026", "api.acme.example", "standard")
    assert offer_of(digest(**asked), [known()]) == OfferKey("m", "Acme", "standard")
    said = digest(**{**asked, "provider": "told", "tier": "ultra"})
    assert offer_of(said, [known()]) == OfferKey("m", "told", "ultra")


def test_a_local_server_is_called_by_host_and_port() -> None:
    one = digest(endpoint="http://127.0.0.1:8080/v1", provider=None)
    assert offer_of(one).provider == "127.0.0.1:8080"


def test_of_several_offers_of_one_url_the_one_whose_body_says_most() -> None:
    fast = known(1, key=OfferKey("m", "Acme", "fast"), extra_body={"service_tier": "priority"})
    asked: dict[str, Any] = {"endpoint": URL, "model": "m-2026", "provider": None, "tier": None}
    plain, priority = digest(**asked), digest(**asked, extra={"service_tier": "priority", "top_p": 1})
    assert offer_of(plain, [fast, known()]).tier == "standard"
    assert offer_of(priority, [known(), fast]).tier == "fast"


def test_live_traffic_is_of_the_offer_of_that_id_and_of_no_other() -> None:
    one = digest(live_offer="own-1", endpoint=URL, model="m-2026", provider=None, tier=None)
    mine = [known(0), known(1, key=OfferKey("m", "Other", "flex"))]
    assert offer_of(one, mine) == OfferKey("m", "Other", "flex")
    assert offer_of(one, [known(0)]) == OfferKey("m-2026", "api.acme.example", "standard")


@pytest.mark.parametrize(
    ("extra", "tier"),
    [
        ({}, "standard"),
        ({"service_tier": "priority"}, "fast"),
        ({"service_tier": "flex"}, "flex"),
        ({"service_tier": "auto"}, "standard"),
        ({"speed": "fast"}, "fast"),
        ({"service_tier": None, "speed": "fast"}, "fast"),
    ],
)
def test_the_body_asks_for_a_tier(extra: dict[str, Any], tier: str) -> None:
    assert asked_tier(extra) == tier


def test_seeds_limits_and_notes_make_no_other_workload() -> None:
    one = {"prompt_tokens": "512", "output_tokens": "32", "extra": {}}
    same = {**one, "seed": 7, "prefix_salt": 9, "about": "x", "slo": {"ttft_ms": 1.0}, "jobs_per_day": 3.0}
    assert workload_key(one) == workload_key(same)
    assert workload_key(one) != workload_key({**one, "output_tokens": "33"})
    assert workload_key(one) != workload_key({**one, "extra": {"reasoning_effort": "high"}})
    # Two tiers of a model do the same work.
    assert workload_key(one) == workload_key({**one, "extra": {"service_tier": "priority"}})
    assert workload_key(one) == workload_key({**one, "extra": {"speed": "fast"}})
    assert workload_key({"kind": "live", "live": {"offer": "a"}}) == "live"


def test_names() -> None:
    assert workload_name({"name": "chat", "prompt_tokens": "1"}) == "chat"
    assert workload_name({"prompt_tokens": "512", "output_tokens": "32"}) == "512 in, 32 out"
    assert workload_name({"kind": "live"}) == "live"
    assert str(OfferKey("m", "acme")) == "m @ acme"
    assert str(OfferKey("m", "acme", "fast")) == "m @ acme (fast)"


@pytest.mark.parametrize(
    ("arrival", "name"),
    [
        ({"kind": "closed", "concurrency": 8}, "closed 8"),
        ({"kind": "poisson", "rate_requests_s": 5.0}, "poisson 5/s"),
        ({"kind": "gamma", "rate_requests_s": 2.5, "burstiness": 0.5}, "gamma 2.5/s"),
        ({"kind": "ramp", "from_requests_s": 1, "to_requests_s": 10}, "ramp 1 to 10/s"),
        ({"kind": "replay"}, "replay"),
        ({"kind": "live"}, "live"),
    ],
)
def test_loads_are_called_by_what_makes_them_comparable(arrival: dict[str, Any], name: str) -> None:
    assert load_name({"arrival": arrival, "seed": 3}) == name
    assert load_name({}) == "unknown"
