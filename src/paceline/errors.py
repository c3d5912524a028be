"""The exception tree.

PacelineError
├── UsageError          the user asked for something wrong or impossible: exit code 2
│   ├── ConfigError     a file or option does not say what it must
│   ├── EndpointError   the endpoint refuses or cannot be reached before load begins
│   └── StoreError      a stored run is missing, unreadable or cannot be written
└── RunError            the run itself failed or is invalid: exit code 1
"""


class PacelineError(Exception):
    """Base of all errors that Paceline raises on purpose.

    `message` says what is wrong and where; `hint` says what to do about it.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(PacelineError):
    """The user asked for something wrong or impossible."""

    exit_code = 2


class ConfigError(UsageError):
    """A file or an option does not say what it must."""


class EndpointError(UsageError):
    """The endpoint refuses, or cannot be reached, before load begins."""


class StoreError(UsageError):
    """A stored run is missing, unreadable, or cannot be written."""


class RunError(PacelineError):
    """The run failed or is invalid."""
