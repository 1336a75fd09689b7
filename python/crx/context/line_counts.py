"""Counts of the lines that a model wrote, by which a run decides about second tries."""

from __future__ import annotations

from dataclasses import dataclass

from crx.types import Context

# Second tries after which their share of accepted ones decides, and the least such share. A second
# try takes up to twice the time of a first line.
ENOUGH_TRIES = 30
MIN_ACCEPTED = 0.2


@dataclass(slots=True)
class LineCounts:
    """First lines of a contextualizer since it was opened, second tries, and digests.

    It is not stored: each run, and each process of a run, counts for itself.
    """

    first: int = 0
    rejected: int = 0
    second: int = 0
    accepted: int = 0
    documents: int = 0
    digests: int = 0

    @property
    def lines(self) -> int:
        """The lines and digests that the model was asked for."""
        return self.first + self.second + self.digests

    @property
    def digests_a_document(self) -> float:
        """The mean number of digests that the model was asked for, 1 to 2."""
        return self.digests / max(1, self.documents)

    @property
    def second_try_pays(self) -> bool:
        """Whether a rejected line is to be asked for again."""
        return self.second < ENOUGH_TRIES or self.accepted >= MIN_ACCEPTED * self.second

    def count_digest(self, context: Context) -> None:
        """Count the digest of a document; a rejected one was asked for twice."""
        self.documents += 1
        self.digests += 1 if context.status == "ok" else 2

    def count_first(self, context: Context) -> None:
        """Count a line of a group."""
        self.first += 1
        self.rejected += context.status == "rejected"

    def count_second(self, context: Context) -> None:
        """Count a line that was asked for alone."""
        self.second += 1
        self.accepted += context.status == "ok"

    def estimate_second_tries(self, chunks: int) -> float:
        """Return how many second tries so many chunks will take, at the shares so far."""
        wanted = chunks * self.rejected / max(1, self.first)
        few = self.accepted < MIN_ACCEPTED * self.second
        return min(wanted, ENOUGH_TRIES) if few else wanted
