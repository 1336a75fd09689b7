"""Confidence intervals and significance of paired differences.

Two rows have values for the same questions, so the differences by question are analysed. Their mean
has an interval by bootstrap over questions (Efron, Tibshirani 1993) and a p-value by Fisher's
randomization test, which flips the signs of the differences (Smucker, Allan, Carterette 2007: for
retrieval metrics it agrees with the bootstrap and the t-test and has the fewest assumptions).

Differences of recall have few distinct values, most of them 0. A resample of n questions is
therefore drawn as multinomial counts of the distinct values, and flipped signs as binomial counts
of the distinct sizes: the same distributions for a hundredth of the work.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 10_000
LEVEL = 0.95
SEED = 20240919
# Numbers drawn at a time: 32 MB.
_BATCH_NUMBERS = 4_000_000

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
        """Whether the interval excludes 0 and p is below 5%."""
        return (self.low > 0 or self.high < 0) and self.p < 1 - LEVEL


def difference(
    of: ArrayLike, against: ArrayLike, *, resamples: int = RESAMPLES, seed: int = SEED
) -> Difference:
    """Return how much larger `of` is than `against`; both are (n,) values of the same questions.

    The same values and seed give the same result. Raises `ValueError` for other shapes.
    """
    one, other = np.asarray(of, dtype=np.float64), np.asarray(against, dtype=np.float64)
    if one.shape != other.shape or one.ndim != 1 or not len(one):
        raise ValueError(
            f"the values must be (n,) of the same questions, not {one.shape} and {other.shape}"
        )
    differences = one - other
    rng = np.random.default_rng(seed)
    low, high = interval(differences, rng=rng, resamples=resamples)
    p = sign_flip(differences, rng=rng, resamples=resamples)
    return Difference(float(differences.mean()), low, high, p)


def interval(
    values: Floats, *, rng: np.random.Generator, resamples: int = RESAMPLES, level: float = LEVEL
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of the mean.

    For simulated differences of recall with at least 100 questions of which more than five differ,
    it has the true mean in 93 to 96 of 100 trials (the bias-corrected and accelerated interval in
    90 to 95). If fewer differ, both are too narrow (91 of 100).
    """
    distinct, counts = np.unique(values, return_counts=True)
    n = len(values)
    means = np.concatenate(
        [
            rng.multinomial(n, counts / n, size=size) @ distinct / n
            for size in _batch_sizes(resamples, len(distinct))
        ]
    )
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def sign_flip(values: Floats, *, rng: np.random.Generator, resamples: int = RESAMPLES) -> float:
    """Return the two-sided p-value of the hypothesis that the signs are random.

    The observed signs count as one of the draws (Phipson, Smyth 2010), so p is never 0.
    """
    sizes, counts = np.unique(np.abs(values[values != 0]), return_counts=True)
    if not len(sizes):
        return 1.0
    observed = abs(float(values.sum()))
    beyond = 0
    for size in _batch_sizes(resamples, len(sizes)):
        plus = rng.binomial(counts, 0.5, size=(size, len(sizes)))
        sums = np.abs((2 * plus - counts) @ sizes)
        # The tolerance is for sums of the same numbers in another order.
        beyond += int((sums >= observed * (1 - 1e-9)).sum())
    return (1 + beyond) / (1 + resamples)


def upper_bound_of_none(questions: int) -> float:
    """Return the largest share of differing questions that is consistent with seeing none.

    The exact one-sided bound at `LEVEL`, about 3 / n (Hanley, Lippman-Hand 1983).
    """
    return float(1 - (1 - LEVEL) ** (1 / questions))


def smallest_significant_count() -> int:
    """Return how many questions must change, all in one direction, for a significant difference.

    Signs of `count` equal differences are all alike with probability 2 / 2**count.
    """
    return math.floor(1 - math.log2(1 - LEVEL)) + 1


def _batch_sizes(resamples: int, width: int) -> Iterator[int]:
    """Yield the sizes of batches of resamples that bound the memory."""
    step = max(1, _BATCH_NUMBERS // width)
    for start in range(0, resamples, step):
        yield min(step, resamples - start)
