"""docs/reference/workload.md has every key of the workload file with its default, and no other."""

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from paceline.workloads.calls import CallSpec, ImagesSpec
from paceline.workloads.equivalence_spec import EquivalenceSpec
from paceline.workloads.spec import WorkloadSpec

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "workload.md").read_text()


def section(title: str) -> str:
    return PAGE.split(f"## {title}\n")[1].split("\n## ")[0]


def shown(field: Any) -> str:
    default = field.get_default(call_default_factory=True)
    if default is PydanticUndefined:
        return "must be given"
    if default is None:
        return "-"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return "`[]`" if default == () else f"`{default}`"


@pytest.mark.parametrize(
    ("title", "model"),
    [
        ("The workload", WorkloadSpec),
        ("`[[call]]`", CallSpec),
        ("`[call.images]`", ImagesSpec),
        ("`[equivalence]`", EquivalenceSpec),
    ],
)
def test_the_page_has_every_key_with_its_default(title: str, model: type[BaseModel]) -> None:
    told = re.findall(r"^\| `(\w+)` \| .+? \| ([^|]+) \| .+ \|$", section(title), re.MULTILINE)
    assert told == [(field.alias or name, shown(field)) for name, field in model.model_fields.items()]


def test_the_bounds_on_the_page_are_those_of_the_models() -> None:
    for model, key, bound in (
        (ImagesSpec, "count", 16),
        (ImagesSpec, "width_px", 4096),
        (ImagesSpec, "height_px", 4096),
    ):
        assert model.model_validate({key: bound})
        with pytest.raises(ValueError, match=key):
            model.model_validate({key: bound + 1})
