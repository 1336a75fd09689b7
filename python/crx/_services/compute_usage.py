"""Computation of a local model: tokens and timed steps so far.

A step computes some tokens at once. Its time has three parts: one for the step itself (the weights
are read), one for each token that goes through the weights, and one for each *cell*, the key and
value of a token that a later one attends to. Behind a long prompt the last part is the largest.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields


@dataclass(slots=True)
class Pace:
    """Sums over timed steps of tokens, cells and seconds, and of their products."""

    steps: float = 0.0
    tokens: float = 0.0
    cells: float = 0.0
    seconds: float = 0.0
    tokens_tokens: float = 0.0
    tokens_cells: float = 0.0
    cells_cells: float = 0.0
    tokens_seconds: float = 0.0
    cells_seconds: float = 0.0

    def add_step(self, tokens: int, cells: int, seconds: float) -> None:
        """Add one step."""
        self.steps += 1
        self.tokens += tokens
        self.cells += cells
        self.seconds += seconds
        self.tokens_tokens += tokens * tokens
        self.tokens_cells += tokens * cells
        self.cells_cells += cells * cells
        self.tokens_seconds += tokens * seconds
        self.cells_seconds += cells * seconds

    def __add__(self, other: Pace) -> Pace:
        return Pace(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Pace)))


@dataclass(slots=True)
class ComputeUsage:
    """Tokens of prompts, how many of them were computed, and tokens decoded.

    `prompt - prefilled` tokens were reused. `answers` answers were finished, in `answered` tokens.
    """

    prompt: int = 0
    prefilled: int = 0
    decoded: int = 0
    answers: int = 0
    answered: int = 0
    restarts: int = 0
    prefill: Pace = field(default_factory=Pace)
    decode: Pace = field(default_factory=Pace)

    @staticmethod
    def from_dict(counts: dict[str, int | dict[str, float]]) -> ComputeUsage:
        """Return the inverse of `asdict`. Raises `TypeError` for an unknown name."""
        paces = {name: Pace(**counts[name]) for name in ("prefill", "decode") if name in counts}  # type: ignore[arg-type]
        return ComputeUsage(**(counts | paces))  # type: ignore[arg-type]

    @property
    def reused(self) -> int:
        return self.prompt - self.prefilled

    @property
    def seconds(self) -> float:
        return self.prefill.seconds + self.decode.seconds

    def __add__(self, other: ComputeUsage) -> ComputeUsage:
        return ComputeUsage(
            *(getattr(self, f.name) + getattr(other, f.name) for f in fields(ComputeUsage))
        )
