"""Milliseconds of the stages of one search."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping


class StageTimer:
    """A stopwatch for the stages of one search, some of which run in parallel."""

    def __init__(self) -> None:
        self._ms: dict[str, float] = {}

    @property
    def timings_ms(self) -> Mapping[str, float]:
        """The milliseconds of each stage that has ended."""
        return self._ms

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what is done inside."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self._ms[name] = 1000 * (time.perf_counter() - started)
