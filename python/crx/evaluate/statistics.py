"""Confidence intervals and significance of paired differences.

Both answered the same questions, so what is looked at is the difference on each question. Its mean
gets an interval by bootstrap over questions (Efron, Tibshirani 1993) and a p-value by Fisher's
randomization test, which flips the signs of the differences (Smucker, Allan, Carterette 2007: on
retrieval figures it agrees with the bootstrap and the t-test, and assumes least).

Differences of recall take few values, most of them 0. A resample of n questions is a multinomial
draw of how often each distinct value comes, and flipping signs is a binomial draw for each distinct
size: the same distributions, at a hundredth of the work of drawing question by question.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 10_000
LEVEL = 0.95
SEED = 20240919
# Draws held at once, in numbers: 32 MB.
_HELD = 4_000_000

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean difference of two rows over their questions, its 95% interval and p-value."""

    mean: float
    low: float
    high: float
    p: float

    @property
    def significant(self) -> bool:
        """Does the interval leave out 0, and does the test agree at 5%?"""
        return (self.low > 0 or self.high < 0) and self.p < 1 - LEVEL


def difference(
    of: ArrayLike, against: ArrayLike, *, resamples: int = RESAMPLES, seed: int = SEED
) -> Difference:
    """Return how much larger `of` is than `against`, (n,) values of the same n questions.

    The same values and seed give the same answer. Raises `ValueError` where they are not paired.
    """
    one, other = np.asarray(of, dtype=np.float64), np.asarray(against, dtype=np.float64)
    if one.shape != other.shape or one.ndim != 1 or not len(one):
        raise ValueError(f"values of the same questions wanted, not {one.shape} and {other.shape}")
    differences = one - other
    rng = np.random.default_rng(seed)
    low, high = interval(differences, rng=rng, resamples=resamples)
    p = sign_flip(differences, rng=rng, resamples=resamples)
    return Difference(float(differences.mean()), low, high, p)


def interval(
    values: Floats, *, rng: np.random.Generator, resamples: int = RESAMPLES, level: float = LEVEL
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of the mean.

    On simulated differences such as recall has, from 100 questions on, it covered the truth in 93
    to 96 of 100 trials where more than five of them differed; the bias-corrected and accelerated
    interval in 90 to 95. Where fewer differ at all, either is too narrow (91 of 100).
    """
    distinct, counts = np.unique(values, return_counts=True)
    n = len(values)
    means = np.concatenate(
        [
            rng.multinomial(n, counts / n, size=size) @ distinct / n
            for size in _sizes(resamples, len(distinct))
        ]
    )
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def sign_flip(values: Floats, *, rng: np.random.Generator, resamples: int = RESAMPLES) -> float:
    """Return the two-sided p-value of "the sign of each difference is chance".

    The observed signs count as one of the draws (Phipson, Smyth 2010), so p is never 0.
    """
    sizes, counts = np.unique(np.abs(values[values != 0]), return_counts=True)
    if not len(sizes):
        return 1.0
    observed = abs(float(values.sum()))
    beyond = 0
    for size in _sizes(resamples, len(sizes)):
        plus = rng.binomial(counts, 0.5, size=(size, len(sizes)))
        sums = np.abs((2 * plus - counts) @ sizes)
        # Sums of the same numbers in another order may differ in the last bits.
        beyond += int((sums >= observed * (1 - 1e-9)).sum())
    return (1 + beyond) / (1 + resamples)


def _sizes(resamples: int, width: int) -> Iterator[int]:
    """Yield how many resamples to draw at once, so that memory stays small."""
    step = max(1, _HELD // width)
    for start in range(0, resamples, step):
        yield min(step, resamples - start)
