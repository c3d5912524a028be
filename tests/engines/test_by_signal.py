"""What the signal that ended an engine tells."""

import pytest

from paceline.engines.by_signal import by_signal


@pytest.mark.parametrize(
    ("exit_code", "said", "hint", "lasting"),
    [
        (-9, "killed from outside", "see dmesg; less context", False),
        (137, "killed from outside", "see dmesg; less context", False),
        (-4, "illegal instruction", "another build", True),
        (132, "illegal instruction", "another build", True),
    ],
)
def test_signals_that_tell_something(exit_code: int, said: str, hint: str, *, lasting: bool) -> None:
    found = by_signal(exit_code, memory_hint="less context", build_hint="another build")
    assert found is not None
    assert said in found.message
    assert (found.hint, found.lasting) == (hint, lasting)


@pytest.mark.parametrize("exit_code", [None, 0, 1, 9, -15, 143])
def test_ends_that_tell_nothing(exit_code: int | None) -> None:
    assert by_signal(exit_code, memory_hint="", build_hint="") is None
