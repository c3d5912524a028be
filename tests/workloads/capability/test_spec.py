from typing import Any

import pytest

from paceline.errors import ConfigError
from paceline.workloads.capability.families import DEFAULT_FAMILIES
from paceline.workloads.spec import WorkloadSpec


def parse(probe: dict[str, Any], **more: Any) -> WorkloadSpec:
    return WorkloadSpec.parse({"probe": probe, **more})


def test_all_families_are_asked_by_default_and_their_order_is_of_no_meaning() -> None:
    spec = parse({}).probe
    assert spec is not None
    assert (spec.families, spec.items, spec.seed) == (DEFAULT_FAMILIES, 100, None)
    one, two = (
        parse({"families": ["products", "leg_counting"]}),
        parse({"families": ["leg_counting", "products"]}),
    )
    assert one == two


def test_it_survives_being_stored() -> None:
    spec = parse({"families": ["products"], "items": 7, "seed": 3}, name="probe", output_tokens=None)
    assert WorkloadSpec.parse(spec.to_dict()) == spec


@pytest.mark.parametrize(
    ("probe", "more", "says"),
    [
        ({"families": ["produkts"]}, {}, "did you mean products"),
        ({"families": ["products", "products"]}, {}, "named twice"),
        ({"families": []}, {}, "families"),
        ({"items": 0}, {}, "items"),
        ({"items": 10**9}, {}, "items"),
        ({"seed": -1}, {}, "seed"),
        ({"color": 1}, {}, "color"),
        ({}, {"data": {"path": "x"}}, "jobs come from one place"),
        ({}, {"shared_prefix_tokens": 5}, "brings its own"),
    ],
)
def test_what_is_wrong_is_named(probe: dict[str, Any], more: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        parse(probe, **more)
