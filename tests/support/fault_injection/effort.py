"""How often a harness runs, and with which seed."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field

# "full" for the counts of RELIABILITY.md, or a number; not set: the quick counts.
RUNS = "RELIABILITY_RUNS"
# The seed of the random choices; not set: another one each time.
SEED = "RELIABILITY_SEED"


@dataclass(slots=True)
class Effort:
    """The seed and the number of runs of one harness; `notes` are printed at the end."""

    name: str
    seed: int
    done: int = 0
    notes: list[str] = field(default_factory=list)

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
        """Return the seed, the number of runs and the notes."""
        return "\n    ".join([f"{self.name}: {SEED}={self.seed}; {self.done} runs", *self.notes])
