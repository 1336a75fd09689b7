"""Computation of a local model: tokens and timed steps so far, and estimates from them.

A step computes some tokens at once. Its time has three parts: one for the step itself (the weights
are read), one for each token that goes through the weights, and one for each *cell*, the key and
value of a token that a later one attends to. Behind a long prompt the last part is the largest.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Work(NamedTuple):
    """Numbers of steps, of the tokens computed in them, and of the cells these attend to."""

    steps: float
    tokens: float
    cells: float


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

    def estimate_seconds(self, work: Work) -> float:
        """Return the seconds of other steps, by the costs that fit the recorded steps best.

        Least squares over costs that are not below zero (Lawson and Hanson, Solving Least Squares
        Problems, 1974, chapter 23); with three costs, every subset of them is tried.
        """
        costs = _non_negative(
            np.array(
                [
                    [self.steps, self.tokens, self.cells],
                    [self.tokens, self.tokens_tokens, self.tokens_cells],
                    [self.cells, self.tokens_cells, self.cells_cells],
                ]
            ),
            np.array([self.seconds, self.tokens_seconds, self.cells_seconds]),
        )
        return float(costs @ work)


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


@dataclass(frozen=True, slots=True)
class PromptLengths:
    """Lengths in tokens of prompts that share a prefix: of the prefix and of each suffix.

    `lines` are those of each answer, by default one.
    """

    prefix: int
    suffixes: Sequence[int]
    lines: Sequence[int] = ()


def estimate_work(
    prompts: Sequence[PromptLengths],
    *,
    asks: float,
    answer: float,
    slots: int,
    step_tokens: int,
    together: bool,
) -> tuple[Work, Work]:
    """Return the work of prefilling prompts and of decoding answers of `answer` tokens a line.

    Every prompt is answered `asks` times, `slots` of them at a time, and prefilled in steps of
    `step_tokens`; a shared prefix is prefilled once. Only with `together` are prompts of different
    prefixes answered at a time.
    """
    read, written = np.zeros(3), np.zeros(3)
    total = sum(len(shared.suffixes) for shared in prompts)
    for shared in prompts:
        begin, ends = shared.prefix, np.array(shared.suffixes, dtype=np.float64)
        lines = sum(shared.lines) or len(ends)
        follow, tokens = asks * float(ends.sum()), asks * answer * lines
        below = begin**2 / 2 + follow * begin + asks * float((ends**2).sum()) / 2
        read += [-(-begin // step_tokens) + follow / step_tokens, begin + follow, below]
        depth = begin + float(ends.mean()) + answer * lines / len(ends) / 2
        width = min(slots, total if together else len(ends))
        written += [tokens / width, tokens, tokens * depth]
    return Work(*read.tolist()), Work(*written.tolist())


def estimate_seconds(
    used: ComputeUsage,
    prompts: Sequence[PromptLengths],
    *,
    asks: float,
    lines: int,
    slots: int,
    step_tokens: int,
    together: bool,
) -> float:
    """Return the seconds that answers to the prompts take, at the pace of the steps so far.

    The length of a line is the mean of the `lines` so far; the rest is as in `estimate_work`.
    """
    if not lines:
        return 0.0
    read, written = estimate_work(
        prompts,
        asks=asks,
        answer=used.answered / lines,
        slots=slots,
        step_tokens=step_tokens,
        together=together,
    )
    return used.prefill.estimate_seconds(read) + used.decode.estimate_seconds(written)


def _non_negative(
    squares: NDArray[np.float64], products: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the x >= 0 that minimizes x.squares.x / 2 - products.x, both (n, n) and (n,)."""
    n = len(products)
    scale = np.sqrt(np.maximum(np.diag(squares), 1e-300))
    squares, products = squares / np.outer(scale, scale), products / scale
    best, least = np.zeros(n), 0.0
    for size in range(1, n + 1):
        for chosen in map(list, itertools.combinations(range(n), size)):
            found = np.zeros(n)
            found[chosen] = np.linalg.lstsq(
                squares[np.ix_(chosen, chosen)], products[chosen], rcond=1e-9
            )[0]
            value = float(found @ squares @ found / 2 - products @ found)
            if found.min() >= 0 and value < least:
                best, least = found, value
    return best / scale
