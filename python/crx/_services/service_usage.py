"""Tokens and dollars of a paid service.

Tokens are the service's own counts. Dollars are U.S. dollars without tax, and `None` if the
model's price is not known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from crx.errors import UsageError

# A number as it is written in an amount.
AMOUNT = r"[0-9]+(\.[0-9]+)?"


@dataclass(frozen=True, slots=True)
class ServiceUsage:
    """Tokens and dollars of some requests.

    `input` counts tokens that were neither written to the prompt cache nor read from it.
    `unanswered` counts requests whose answer was lost; their cost is not known.
    """

    requests: int = 0
    input: int = 0
    written: int = 0
    read: int = 0
    output: int = 0
    dollars: float | None = 0.0
    unanswered: int = 0

    @property
    def prompt(self) -> int:
        """The number of tokens sent."""
        return self.input + self.written + self.read

    @property
    def share_read(self) -> float:
        """The share of the tokens sent that came from the cache, 0 to 1."""
        return self.read / self.prompt if self.prompt else 0.0

    def __add__(self, other: ServiceUsage) -> ServiceUsage:
        return self._plus(other, 1)

    def __sub__(self, before: ServiceUsage) -> ServiceUsage:
        """Return the usage since `before`."""
        return self._plus(before, -1)

    def _plus(self, other: ServiceUsage, sign: int) -> ServiceUsage:
        dollars = None
        if self.dollars is not None and other.dollars is not None:
            dollars = self.dollars + sign * other.dollars
        names = ("requests", "input", "written", "read", "output", "unanswered")
        sums = {name: getattr(self, name) + sign * getattr(other, name) for name in names}
        return ServiceUsage(**sums, dollars=dollars)

    def rows(self) -> tuple[tuple[str, str], ...]:
        """Return (name, value) rows for a table."""
        rows = (
            ("requests", f"{self.requests:,}"),
            ("input tokens", f"{self.input:,}"),
            ("written to cache", f"{self.written:,}"),
            ("read from cache", f"{self.read:,}"),
            ("share read from cache", f"{self.share_read:.1%}"),
            ("output tokens", f"{self.output:,}"),
            ("dollars", "unknown" if self.dollars is None else f"${self.dollars:.4f}"),
        )
        lost = (("answers lost", f"{self.unanswered:,}"),) if self.unanswered else ()
        return rows + lost


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated usage and cost of a run: with caching, with caching and batches, with neither."""

    documents: int
    chunks: int
    usage: ServiceUsage
    dollars: float | None
    dollars_batch: float | None
    dollars_uncached: float | None


def parse_dollars(text: str) -> float:
    """Parse an amount like `$2` or `$0.50`; raise `UsageError` for anything else and for 0."""
    if not re.fullmatch(rf"\${AMOUNT}", text):
        raise UsageError(f"\"{text}\": not an amount in dollars; write it like '$2' or '$0.50'")
    dollars = float(text[1:])
    if dollars == 0:
        raise UsageError(f"{text}: a spending cap must be above 0")
    return dollars
