"""Coverage of the intervals, and p-values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crx_evaluate.statistics import difference, interval, sign_flip, smallest_significant_count

values = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=2, max_size=40)


def coverage(trials: int, *, questions: int, worse: float, better: float) -> float:
    """Return the share of trials whose interval holds the true mean, `better - worse`."""
    rng = np.random.default_rng(11)
    held = 0
    for _ in range(trials):
        shares = [worse, 1 - worse - better, better]
        differences = rng.choice([-1.0, 0.0, 1.0], p=shares, size=questions)
        low, high = interval(differences, rng=rng, resamples=1000)
        held += low - 1e-12 <= better - worse <= high + 1e-12
    return held / trials


def test_about_95_percent_of_the_intervals_hold_the_true_mean() -> None:
    assert 0.92 <= coverage(400, questions=250, worse=0.05, better=0.2) <= 0.98


@pytest.mark.slow
@pytest.mark.parametrize(
    ("questions", "worse", "better"),
    [(100, 0.05, 0.05), (100, 0.05, 0.2), (250, 0.05, 0.2), (250, 0.02, 0.05), (1000, 0.02, 0.05)],
)
def test_93_to_97_percent_of_the_intervals_hold_the_true_mean(
    questions: int, worse: float, better: float
) -> None:
    share = coverage(3000, questions=questions, worse=worse, better=better)
    assert 0.93 <= share <= 0.97


def test_without_a_difference_one_p_value_in_twenty_is_below_5_percent() -> None:
    rng = np.random.default_rng(5)
    p = [
        sign_flip(rng.choice([-1.0, 0.0, 1.0], p=[0.1, 0.8, 0.1], size=200), rng=rng, resamples=500)
        for _ in range(600)
    ]
    # A test of few distinct sums rejects a little less often than it might.
    assert 0.02 <= float(np.mean(np.array(p) < 0.05)) <= 0.065


def test_the_interval_equals_that_of_resampling_questions() -> None:
    rng = np.random.default_rng(2)
    differences = rng.choice([-1.0, -0.5, 0.0, 1.0], size=120)
    drawn = rng.integers(0, 120, size=(20_000, 120))
    plain = np.quantile(differences[drawn].mean(axis=1), [0.025, 0.975])
    assert interval(differences, rng=rng) == pytest.approx(tuple(plain), abs=0.01)


def test_the_p_value_of_five_differences_is_the_exact_one() -> None:
    # Of the 32 ways to sign these five, two are as far from 0 as all plus.
    found = difference([0.2, 0.4, 0.6, 0.8, 1.0], [0.0] * 5)
    assert found.p == pytest.approx(2 / 32, abs=0.01)


def test_equal_rows_do_not_differ() -> None:
    found = difference([1.0, 0.0, 0.5], [1.0, 0.0, 0.5])
    assert (found.mean, found.low, found.high, found.p) == (0.0, 0.0, 0.0, 1.0)
    assert not found.significant


def test_values_of_other_questions_are_refused() -> None:
    with pytest.raises(ValueError, match="of the same questions"):
        difference([1.0, 0.0], [1.0])


@given(values, values)
def test_the_interval_holds_the_mean_and_is_reproducible(
    one: list[float], other: list[float]
) -> None:
    size = min(len(one), len(other))
    found = difference(one[:size], other[:size], resamples=200)
    back = difference(other[:size], one[:size], resamples=200)
    assert found.low - 1e-12 <= found.mean <= found.high + 1e-12
    assert (back.mean, back.p <= 1) == (-found.mean, back.p > 0)
    assert difference(one[:size], other[:size], resamples=200) == found


@pytest.mark.parametrize("questions", [10, 60, 500])
def test_the_smallest_significant_count_is_the_smallest(questions: int) -> None:
    count = smallest_significant_count()
    values = [float(at < count) for at in range(questions)]
    fewer = [float(at < count - 1) for at in range(questions)]
    none = [0.0] * questions
    assert difference(values, none).significant
    assert not difference(fewer, none).significant
