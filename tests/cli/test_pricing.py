from pathlib import Path

import pytest

from paceline.catalogue.price import Price, PriceUnknown
from paceline.cli.pricing import price_of_run
from tests.store.samples import manifest


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PACELINE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("home")
def test_the_price_is_that_of_the_runs_day_and_tier() -> None:
    run = manifest(endpoint="https://api.openai.com/v1", model="gpt-5-mini")
    price = price_of_run(run.model_copy(update={"offer": {"provider": "openai", "tier": "fast"}}))
    assert isinstance(price, Price)
    assert price.as_of == run.started_at.date()
    assert "gpt-5-mini" in price.source
    assert isinstance(
        price_of_run(run.model_copy(update={"endpoint": "http://127.0.0.1:1/v1"})), PriceUnknown
    )


def test_a_wrong_price_file_costs_no_report(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "prices.toml").write_text("price = [")
    price = price_of_run(manifest())
    assert isinstance(price, PriceUnknown)
    assert "not TOML" in price.why
    assert "the cost is not told" in capsys.readouterr().err
