"""The annotated config that `paceline gateway init` writes."""

from importlib.resources import files


def example_text() -> str:
    """A config that works as it stands, with all that there is in comments."""
    return (files("paceline.control") / "example.toml").read_text(encoding="utf-8")
