"""How often a harness runs, and with which seed."""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import dataclass, field

# "full" for the counts of RELIABILITY.md, or a number; not set: the quick counts.
RUNS = "RELIABILITY_RUNS"
# The seed of the random choices; not set: another one each time.
SEED = "RELIABILITY_SEED"


@dataclass(slots=True)
class Effort:
    """The seed and the number of runs of one harness, and what became of the runs.

    It is printed at the end, also of a run that is interrupted.
    """

    name: str
    seed: int
    done: int = 0
    notes: list[str] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)

    @staticmethod
    def of(name: str) -> Effort:
        """Return the effort that the environment asks for."""
        return Effort(name, int(os.environ.get(SEED, "") or random.SystemRandom().randrange(10**6)))

    @property
    def chance(self) -> random.Random:
        """A random generator that begins with the seed."""
        return random.Random(self.seed)

    def runs(self, *, quick: int, full: int) -> int:
        """Return how often to run."""
        asked = os.environ.get(RUNS, "")
        return full if asked == "full" else int(asked or quick)

    def describe(self) -> str:
        """Return the seed, the number of runs, the notes and the outcomes."""
        lines = [f"{self.name}: {SEED}={self.seed}; {self.done} runs", *self.notes]
        if self.outcomes:
            counts = self.outcomes.most_common()
            lines.append(", ".join(f"{count} {what}" for what, count in counts))
        return "\n    ".join(lines)
