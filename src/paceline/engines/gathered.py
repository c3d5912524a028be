"""Settings of a tier as they are gathered, each with its reason."""

from paceline.engines.engine import TierSettings, Value


class Gathered:
    """values and why, option by option."""

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}
        self.why: dict[str, str] = {}

    def add(self, name: str, value: Value, why: str) -> None:
        """Set an option."""
        self.values[name] = value
        self.why[name] = why

    def settings(self, needs_bytes: int | None = None) -> TierSettings:
        """What was gathered."""
        return TierSettings(self.values, self.why, needs_bytes)
