"""An engine that did not come up, or that ended by itself: the error, and its words."""

from paceline.engines.engine import Failure
from paceline.errors import RunError


class EngineError(RunError):
    """The engine failed. lasting: another start would end alike. engine_exit_code: None where it still ran.

    log_tail: the last that it said, with secrets hidden, as it came: make it harmless before it is printed.
    """

    def __init__(self, failure: Failure, engine_exit_code: int | None = None, log_tail: str = "") -> None:
        super().__init__(failure.message, failure.hint)
        self.failure = failure
        self.lasting = failure.lasting
        self.engine_exit_code = engine_exit_code
        self.log_tail = log_tail
