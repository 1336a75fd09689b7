"""The time that a local model takes, estimated from its timed steps so far."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from crx._services.compute_usage import ComputeUsage, Pace


class Work(NamedTuple):
    """Numbers of steps, of the tokens computed in them, and of the cells these attend to."""

    steps: float
    tokens: float
    cells: float


@dataclass(frozen=True, slots=True)
class PromptLengths:
    """Lengths in tokens of prompts that share a prefix: of the prefix and of each suffix.

    `lines` are those of each answer, by default one.
    """

    prefix: int
    suffixes: Sequence[int]
    lines: Sequence[int] = ()


def seconds_of(pace: Pace, work: Work) -> float:
    """Return the seconds of other steps, by the costs that fit the recorded steps best.

    Least squares over costs that are not below zero (Lawson and Hanson, Solving Least Squares
    Problems, 1974, chapter 23); with three costs, every subset of them is tried.
    """
    costs = _non_negative(
        np.array(
            [
                [pace.steps, pace.tokens, pace.cells],
                [pace.tokens, pace.tokens_tokens, pace.tokens_cells],
                [pace.cells, pace.tokens_cells, pace.cells_cells],
            ]
        ),
        np.array([pace.seconds, pace.tokens_seconds, pace.cells_seconds]),
    )
    return float(costs @ work)


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
    return seconds_of(used.prefill, read) + seconds_of(used.decode, written)


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
