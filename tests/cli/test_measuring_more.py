import typing

import pytest

from paceline.advisor.identity import OfferKey
from paceline.advisor.missing import Batch
from paceline.cli.commands.advise import MoreFlags
from paceline.cli.measuring_more import _agree, plan_words
from paceline.errors import ConfigError

KEY = OfferKey("tiny", "acme", "fast")


@pytest.mark.parametrize(
    ("batch", "words"),
    [
        (Batch(KEY, "jobs", "run", 60, 60), "tiny @ acme (fast): 60 more requests"),
        (Batch(KEY, "items", "", 1200, 1200), "tiny @ acme (fast): 1,200 more items of the probe"),
        (Batch(KEY, "jobs", "run", 14, 40, 35.0), "14 more jobs, about 490 requests of 40 that it takes"),
        (Batch(KEY, "jobs", "run", 500, None), "500 more requests; it is too close to call"),
    ],
)
def test_the_plan_is_said(batch: Batch, words: str) -> None:
    assert words in plan_words(batch)


def test_nobody_there_to_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    class Pipe:
        def isatty(self) -> bool:
            return False

    monkeypatch.setattr("sys.stdin", typing.cast("typing.TextIO", Pipe()))
    with pytest.raises(ConfigError) as caught:
        _agree(MoreFlags())
    assert "--yes" in (caught.value.hint or "")
    _agree(MoreFlags(yes=True))
