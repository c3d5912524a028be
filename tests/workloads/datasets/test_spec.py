import pytest

from paceline.config import validate
from paceline.errors import ConfigError
from paceline.workloads.datasets.spec import DataSpec
from paceline.workloads.spec import WorkloadSpec


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"columm": "x"}, "unknown key `columm`"),
        ({"min_prompt_tokens": 5, "max_prompt_tokens": 4}, "min_prompt_tokens 5 is above"),
        ({"format": "text", "column": "x"}, "`column`: the format text has no columns"),
        ({"format": "blocks", "rows": "log"}, "the rows of the format blocks are prompts"),
        ({"limit": 0}, "limit"),
        ({"sha256": "x"}, "sha256"),
    ],
)
def test_what_is_wrong_is_named(keys: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        validate(DataSpec, {"path": "p.txt", **keys}, "data")


def test_jobs_come_from_one_place() -> None:
    data, trace = {"path": "p.jsonl"}, {"path": "t.csv"}
    with pytest.raises(ConfigError, match="give one of `data`, `trace`"):
        WorkloadSpec.parse({"data": data, "trace": trace})
    with pytest.raises(ConfigError, match="give one of `call`, `data`"):
        WorkloadSpec.parse({"data": data, "call": [{"name": "a"}]})
    with pytest.raises(ConfigError, match="`data` brings its own"):
        WorkloadSpec.parse({"data": data, "shared_prefix_tokens": 5})


def test_it_is_stored_and_read_back_whole() -> None:
    spec = WorkloadSpec.parse({"data": {"path": "p.jsonl", "think_ms": "lognormal:2000:0.5", "limit": 3}})
    assert WorkloadSpec.parse(spec.to_dict()) == spec
