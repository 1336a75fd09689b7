"""The time that this process waits for other programs, which counts as its own."""

from __future__ import annotations

_waited: list[float] = []


def add_seconds(seconds: float) -> None:
    """Record that another program took so long."""
    _waited[:] = [waited_seconds() + seconds]


def waited_seconds() -> float:
    """Return for how long this process has waited for other programs."""
    return sum(_waited)
