"""Progress and results of a run, with contexts counted by status and reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from crx._services.service_usage import ServiceUsage
from crx.errors import ModelError
from crx.types import ContextStatus, is_outcome, parse_outcome

_STORED = "outcome:"
_ACCEPTED: tuple[ContextStatus, ...] = ("ok", "retried")


@dataclass(frozen=True, slots=True)
class OutcomeCounts:
    """Numbers of contexts by status and reason; the reason of an accepted one is ""."""

    counts: Mapping[tuple[ContextStatus, str], int]

    @staticmethod
    def from_made(made: Mapping[str, int]) -> OutcomeCounts:
        """Return the counts of a report, whose keys are as `Context.outcome`."""
        return OutcomeCounts({parse_outcome(outcome): n for outcome, n in made.items()})

    @staticmethod
    def from_stats(stats: Mapping[str, int]) -> OutcomeCounts:
        """Return the counts of an index, from the statistics of its store.

        An outcome that no version of crx writes counts as no context.
        """
        made = {
            name.removeprefix(_STORED): n for name, n in stats.items() if name.startswith(_STORED)
        }
        return OutcomeCounts.from_made({name: n for name, n in made.items() if is_outcome(name)})

    @property
    def total(self) -> int:
        """All contexts, of every status."""
        return sum(self.counts.values())

    @property
    def accepted(self) -> int:
        """Contexts that passed validation, at the first or the second try."""
        return self.count(*_ACCEPTED)

    def count(self, *statuses: ContextStatus) -> int:
        """Return how many contexts have one of the statuses."""
        return sum(n for (status, _), n in self.counts.items() if status in statuses)

    def describe_rejected(self) -> str:
        """Return the share of answers that were rejected and the reasons, "" if none was."""
        rejected = self.count("rejected")
        if not rejected:
            return ""
        answered = self.accepted + rejected
        reasons = ", ".join(f"{why} {n:,}" for why, n in self.reasons("rejected").items())
        return f"{rejected / answered:.1%} of {answered:,} contexts rejected: {reasons}"

    def reasons(self, status: ContextStatus) -> dict[str, int]:
        """Return how many contexts of a status there are by reason, the most frequent first."""
        found = {reason: n for (each, reason), n in self.counts.items() if each == status}
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


@dataclass(frozen=True, slots=True)
class ContextProgress:
    """Progress of a run: chunks done of those that had no context, chunks a second, seconds left.

    `tokens_reused` are prompt tokens that were not computed or paid again, None if the
    contextualizer does not count them; `usage` is as in `ContextReport`, so far.
    """

    done: int = 0
    total: int = 0
    per_second: float = 0.0
    seconds_left: float | None = None
    tokens_reused: int | None = None
    embedded: int = 0
    uri: str = ""
    usage: ServiceUsage | None = None


@dataclass(frozen=True, slots=True)
class ContextReport:
    """Result of a run.

    `made` counts new contexts by `Context.outcome`, and `kept` those of earlier runs, which are
    `reused` together.
    `coverage` is the share of the index's chunks that have a context. `stopped` is the reason why
    the run ended early, or "". `usage` is what a metered service was sent and answered, None for
    other contextualizers; `notes` are remarks, one line each.
    """

    made: Mapping[str, int]
    kept: Mapping[str, int]
    embedded: int
    coverage: float
    chunks: int
    seconds: float
    stopped: str = ""
    usage: ServiceUsage | None = None
    notes: tuple[str, ...] = ()

    @property
    def reused(self) -> int:
        """Contexts of earlier runs."""
        return sum(self.kept.values())

    @property
    def outcomes(self) -> OutcomeCounts:
        """New and kept contexts by status and reason."""
        return OutcomeCounts.from_made(Counter(self.made) + Counter(self.kept))

    def require(self, coverage: float) -> None:
        """Raise `ModelError` if a smaller share of the index has a context."""
        if self.coverage < coverage:
            raise ModelError(
                f"{self.coverage:.1%} of the chunks have a context, less than {coverage:.1%}; "
                f"the same command tries again those that failed"
            )


def compute_coverage(stats: Mapping[str, int]) -> float:
    """Return the share of an index's chunks that have a context, from its store's statistics."""
    accepted = OutcomeCounts.from_stats(stats).accepted
    return accepted / stats["chunks"] if stats["chunks"] else 1.0
