"""Engines and gateways of one test, or of one file."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.gateway.engines import Engine, engines
from tests.support.gateway.process import Gateway, gateways

Engines = Callable[..., Engine]
Gateways = Callable[..., Gateway]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engines]:
    with engines(tmp_path / "engines") as start:
        yield start


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateways]:
    with gateways(tmp_path / "gateways") as start:
        yield start


@pytest.fixture(scope="module")
def module_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    with engines(tmp_path_factory.mktemp("engines")) as start:
        yield start


@pytest.fixture(scope="module")
def module_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateways]:
    with gateways(tmp_path_factory.mktemp("gateways")) as start:
        yield start
