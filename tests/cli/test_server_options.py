from pathlib import Path

import pytest

from paceline.cli.commands.compare import _second_server
from paceline.cli.server_options import ServerFlags
from paceline.errors import ConfigError
from paceline.measure.scrape import ServerWatch
from paceline.settings import MeasureSettings, load_settings


def test_without_options_the_server_is_looked_at_each_second_where_it_can_be() -> None:
    assert ServerFlags().watch(MeasureSettings()) == ServerWatch("auto", 1_000_000_000, None, None)
    # After a hang-up more often, since that is what there is to see.
    assert ServerFlags().watch(MeasureSettings(), hangs_up=True).every_ns == 200_000_000
    assert ServerFlags(server_metrics_every="1s").watch(MeasureSettings(), hangs_up=True).every_ns == 10**9


def test_options_go_over_settings(tmp_path: Path) -> None:
    file = tmp_path / "paceline.toml"
    file.write_text(
        "[measure]\nserver_metrics = 'off'\nserver_metrics_every = '500ms'\n"
        f"server_metrics_table = '{tmp_path}/own.toml'\ngpu = true\n"
    )
    own = load_settings(file).measure
    assert ServerFlags().watch(own) == ServerWatch("off", 500_000_000, tmp_path / "own.toml", gpu=True)
    flags = ServerFlags("http://127.0.0.1:8002/metrics", "2s", Path("t.toml"), gpu=False)
    assert flags.watch(own) == ServerWatch(
        "http://127.0.0.1:8002/metrics", 2_000_000_000, Path("t.toml"), gpu=False
    )


@pytest.mark.parametrize("every", ["50ms", "1", "soon"])
def test_how_often_must_make_sense(every: str) -> None:
    with pytest.raises(ConfigError if every == "50ms" else Exception, match=r"--server-metrics-every|100 ms"):
        ServerFlags(server_metrics_every=every).watch(MeasureSettings())


def test_the_other_side_of_a_comparison_has_metrics_of_its_own() -> None:
    url = ServerWatch("http://127.0.0.1:8002/metrics", 200_000_000)
    assert _second_server(url, None) == ServerWatch("auto", 200_000_000)
    assert _second_server(url, "http://127.0.0.1:8003/metrics").metrics == "http://127.0.0.1:8003/metrics"
    assert _second_server(ServerWatch("off"), None).metrics == "off"
    assert _second_server(ServerWatch(), None) == ServerWatch()
