import pytest

from paceline.config import validate
from paceline.errors import ConfigError
from paceline.workloads.traces.spec import TraceSpec


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"speed": 0}, "speed"),
        ({"speed": float("nan")}, "speed"),
        ({"start_s": 5, "end_s": 5}, "the window is empty"),
        ({"over": "cut"}, "over"),
        ({"sped": 1}, "unknown key `sped`"),
        ({"path": ""}, "path"),
    ],
)
def test_what_is_wrong_is_named(keys: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        validate(TraceSpec, {"path": "t.csv", **keys}, "trace")
