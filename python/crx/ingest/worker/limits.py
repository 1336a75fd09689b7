"""Limits on the reading of one file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """What reading one file may take: seconds of CPU time, and millions of bytes of memory."""

    seconds: int = 60
    memory_mb: int = 2000

    @property
    def wall_seconds(self) -> int:
        """Seconds of wall time, more than of CPU time, since other processes run too.

        They are counted only while a file is parsed, not while its documents wait to be taken.
        """
        return 2 * self.seconds


DEFAULT_LIMITS = ReadLimits()
