"""docs/reference/gateway.md has every key of the config with its default, and no other."""

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from paceline.control import config
from paceline.control.force import _LIVE

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "gateway.md").read_text()
MODELS: dict[str, type[BaseModel]] = {
    "`[gateway]`": config.GatewayConfig,
    "`[gateway.tls]`": config.TlsConfig,
    "`[gateway.clients]`": config.ClientsConfig,
    "`[gateway.ledger]`": config.LedgerConfig,
    "`[gateway.policy]`": config.PolicyConfig,
    "`[gateway.hedging]`": config.HedgingConfig,
    "`[gateway.probing]`": config.ProbingConfig,
    "`[[model]]`": config.ModelConfig,
    "`[[offer]]`": config.OfferConfig,
    "`price`": config.PriceConfig,
    "`[offer.limits]`": config.LimitsConfig,
    "`[offer.timeouts]`": config.TimeoutsConfig,
}


def rows(title: str) -> list[tuple[str, str, str]]:
    text = PAGE.split(f"## {title}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \| .+? \| ([^|]+) \| (.+) \|$", text, re.MULTILINE)


def shown(field: Any) -> str:
    default = field.get_default(call_default_factory=True)
    if default is PydanticUndefined:
        return "must be given"
    if default is None:
        return "-"
    if isinstance(default, BaseModel):
        return "below"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if isinstance(default, tuple):
        return "`[" + ", ".join(f'"{one}"' for one in default) + "]`"
    return f"`{default}`"


@pytest.mark.parametrize("title", MODELS)
def test_the_page_has_every_key_with_its_default(title: str) -> None:
    told = [(name, default) for name, default, _ in rows(title)]
    assert told == [(name, shown(field)) for name, field in MODELS[title].model_fields.items()]


def test_no_model_of_the_config_is_left_out() -> None:
    found = {
        one
        for one in vars(config).values()
        if isinstance(one, type) and issubclass(one, BaseModel) and one.__module__ == config.__name__
    }
    assert found == {*MODELS.values(), config.Config}


def test_the_page_says_what_can_change_while_it_runs() -> None:
    marked = {name for name, _, meaning in rows("`[gateway]`") if meaning.startswith("* ")}
    assert marked == _LIVE
