from pathlib import Path

import pytest

from paceline.errors import ConfigError
from paceline.measure.server_table import EngineTable, ServerTable, built_in_table, load_table
from paceline.stats.server_quantities import QUANTITIES

HEAD = 'schema = "paceline.server-metrics/1"\n'
OWN = (
    HEAD
    + """
[engine.mine]
title = "Mine"
paths = ["/stats"]
metrics = [
  { name = "running_requests", from = "my_running", labels = { state = "busy" } },
  { name = "kv_cache_use", from = ["my_kv_percent", "my_kv_old"], scale = 0.01 },
  { name = "lora_slots", from = "my_lora", kind = "gauge", combine = "max" },
]
"""
)


def written(folder: Path, text: str) -> Path:
    path = folder / "table.toml"
    path.write_text(text)
    return path


def mine(folder: Path) -> EngineTable:
    return load_table(written(folder, OWN)).engines["mine"]


def test_every_engine_tells_what_runs_and_from_where_that_is_known() -> None:
    engines = built_in_table().engines
    assert list(engines) == ["vllm", "sglang", "tensorrt-llm", "triton", "llama.cpp", "tgi"]
    for engine in engines.values():
        names = [one.name for one in engine.metrics]
        assert {"running_requests", "waiting_requests", "kv_cache_use"} - set(names) <= {"kv_cache_use"}
        assert len(names) == len(set(names))
        assert set(names) <= QUANTITIES.keys()
        assert len(engine.source) > 20
        assert engine.title


def test_values_are_scaled_chosen_by_labels_and_combined(tmp_path: Path) -> None:
    page = (
        'my_running{state="busy"} 3\nmy_running{state="busy",pool="2"} 4\nmy_running{state="idle"} 9\n'
        'my_kv_old 20\nmy_lora 1\nmy_lora{a="b"} 5\n'
    )
    assert mine(tmp_path).values(page) == {"running_requests": 7.0, "kv_cache_use": 0.2, "lora_slots": 5.0}
    # The first of several names that is there; shares are averaged.
    assert mine(tmp_path).values('my_kv_old 1\nmy_kv_percent 50\nmy_kv_percent{e="2"} 70\n') == {
        "kv_cache_use": 0.6
    }


@pytest.mark.parametrize(
    "page",
    [
        'my_running{state="busy"} -3\n',
        'my_running{state="busy"} 1e308\nmy_running{state="busy",pool="2"} 1e308\n',
        'my_running{state="busy"} -1e308\nmy_running{state="busy",pool="2"} -1e308\n',
        'my_running{state="busy"} 1e19\n',
        'my_running{state="busy"} 1\n' * 5_000,
        'my_running{state="busy"} 1\nmy_running{state="busy",x="' + "y" * 20_000 + '"} 1\n',
        "my_kv_old -1\n",
        'my_kv_old 1e308\nmy_kv_old{e="2"} 1e308\n',
    ],
)
def test_what_no_server_can_have_and_what_is_read_in_part_is_left_out(tmp_path: Path, page: str) -> None:
    assert mine(tmp_path).values("my_lora -2\n" + page) == {"lora_slots": -2.0}


def test_no_counter_is_below_0(tmp_path: Path) -> None:
    own = '[engine.mine]\nmetrics = [{ name = "own", from = "own_total", kind = "counter" }]\n'
    engine = load_table(written(tmp_path, HEAD + own)).engines["mine"]
    assert (engine.values("own_total -1\n"), engine.values("own_total 0\n")) == ({}, {"own": 0.0})


def test_what_is_a_sum_of_two_metrics_needs_both() -> None:
    llama = built_in_table().engines["llama.cpp"]
    page = "llamacpp:prompt_tokens_total 30\n"
    assert llama.values(page) == {"prompt_tokens_total": 30.0}
    assert llama.values(page + "llamacpp:prompt_tokens_cached_total 10\n") == {
        "prefix_cache_queries": 40.0,
        "prefix_cache_hits": 10.0,
        "prompt_tokens_total": 30.0,
    }


def test_what_each_process_of_a_group_shows_again_counts_once() -> None:
    page = "\n".join(
        f'sglang:num_running_reqs{{dp_rank="{dp}",tp_rank="{tp}"}} {running}'
        for dp, tp, running in ((0, 0, 3), (0, 1, 3), (1, 2, 5), (1, 3, 0))
    )
    assert built_in_table().engines["sglang"].values(page) == {"running_requests": 8.0}


def test_the_engine_is_the_one_of_which_there_is_most() -> None:
    table = built_in_table()
    assert table.engine_of("vllm:num_requests_running 1\n") == "vllm"
    both = "trtllm_num_requests_running 1\ntrtllm_num_requests_waiting 1\nvllm:num_requests_running 1\n"
    assert table.engine_of(both) == "tensorrt-llm"
    assert table.engine_of("python_gc_objects_collected_total 1\n") is None
    assert table.paths()[0] == "/metrics"


def test_a_user_s_lines_go_over_those_that_are_built_in(tmp_path: Path) -> None:
    own = HEAD + '[engine.vllm]\nmetrics = [{ name = "kv_cache_use", from = "fork:kv", combine = "max" }]\n'
    vllm = load_table(written(tmp_path, own)).engines["vllm"]
    assert vllm.title == "vLLM"
    page = "fork:kv 0.5\nvllm:kv_cache_usage_perc 0.1\nvllm:num_requests_running 2\n"
    assert vllm.values(page) == {"kv_cache_use": 0.5, "running_requests": 2.0}
    assert next(iter(load_table(written(tmp_path, OWN)).engines)) == "mine"


def test_a_name_of_one_s_own_has_a_kind(tmp_path: Path) -> None:
    kinds = {one.name: one.its_kind for one in mine(tmp_path).metrics}
    assert kinds == {"running_requests": "gauge", "kv_cache_use": "gauge", "lora_slots": "gauge"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nonsense", "is not TOML"),
        ("", "schema"),
        ('schema = "paceline.server-metrics/2"\n[engine.a]\n', "schema"),
        (HEAD + "[engine.a]\nmetric = []\n", "unknown key `engine.a.metric`"),
        (HEAD + '[engine.a]\nmetrics = [{ name = "my_own", from = "x" }]\n', "say its kind"),
        (HEAD + '[engine.a]\nmetrics = [{ name = "My Own", from = "x", kind = "gauge" }]\n', "small letters"),
        (
            HEAD + '[engine.a]\nmetrics = [{ name = "kv_cache_use", from = "x", kind = "counter" }]\n',
            "a gauge",
        ),
        (
            HEAD + '[engine.a]\nmetrics = [{ name = "kv_cache_use", from = "x{a=1}" }]\n',
            "no name of a metric",
        ),
        (HEAD + '[engine.a]\nmetrics = [{ name = "kv_cache_use" }]\n', "from"),
        (HEAD + '[engine.a]\nmetrics = [{ name = "kv_cache_use", from = "x", scale = 0 }]\n', "scale"),
        (HEAD + '[engine.a]\npaths = ["metrics"]\n', "begins with /"),
    ],
)
def test_what_is_wrong_with_a_table_is_said(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_table(written(tmp_path, text))
    assert said in caught.value.message
    assert "table.toml" in caught.value.message


def test_a_table_that_is_not_there_or_no_table_at_all(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_table(tmp_path / "none.toml")
    (tmp_path / "big.toml").write_bytes(b"#" * 1_000_001)
    with pytest.raises(ConfigError, match="larger than"):
        load_table(tmp_path / "big.toml")
    (tmp_path / "odd.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load_table(tmp_path / "odd.toml")


def test_a_table_of_nothing_finds_nothing() -> None:
    assert ServerTable().engine_of("vllm:num_requests_running 1\n") is None
