"""Paceline measures the speed of AI inference endpoints, and proves its own error."""

__version__ = "0.1.0"
