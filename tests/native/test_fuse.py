"""Fusion: two rankings become one, the same on every machine."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crx._native import fuse, fuse_scores

RANKINGS = st.lists(st.lists(st.integers(-50, 50), max_size=30), min_size=1, max_size=4)


def keys(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def by_the_formula(
    rankings: list[list[int]], weights: list[float], rrf_k: float
) -> list[tuple[int, float]]:
    scores: dict[int, float] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        for key in dict.fromkeys(ranking):
            scores[key] = scores.get(key, 0.0) + weight / (rrf_k + 1 + ranking.index(key))
    rounded = {key: float(np.float32(score)) for key, score in scores.items()}
    return sorted(rounded.items(), key=lambda item: (-item[1], item[0]))


def test_a_key_that_both_rankings_hold_comes_first() -> None:
    found, scores = fuse([keys(1, 3), keys(2, 3)], weights=[1, 1], rrf_k=60, k=2)
    assert found.tolist() == [3, 1]
    assert scores.tolist() == pytest.approx([2 / 62, 1 / 61])
    assert (found.dtype.name, scores.dtype.name) == ("int64", "float32")


@given(rankings=RANKINGS, rrf_k=st.sampled_from([0.0, 1.0, 60.0]), k=st.integers(0, 40))
def test_it_is_the_published_formula(rankings: list[list[int]], rrf_k: float, k: int) -> None:
    weights = [1.0 / (i + 1) for i in range(len(rankings))]
    found, scores = fuse([keys(*r) for r in rankings], weights=weights, rrf_k=rrf_k, k=k)
    expected = by_the_formula(rankings, weights, rrf_k)[:k]
    assert list(zip(found.tolist(), scores.tolist(), strict=True)) == expected


@pytest.mark.parametrize(
    ("weights", "rrf_k"), [([1.0], 60.0), ([1.0, -1.0], 60.0), ([1.0, 1.0], float("nan"))]
)
def test_bad_weights_are_refused(weights: list[float], rrf_k: float) -> None:
    with pytest.raises(ValueError, match=r"weights|rrf_k"):
        fuse([keys(1), keys(2)], weights=weights, rrf_k=rrf_k, k=1)


def test_a_strided_ranking_is_refused() -> None:
    with pytest.raises(ValueError, match="rankings: not contiguous"):
        fuse([keys(1, 2, 3, 4)[::2]], weights=[1], rrf_k=60, k=1)


def test_a_ranking_needs_a_score_and_a_weight_for_each_key() -> None:
    with pytest.raises(ValueError, match="1 scores and 2 weights for 2 keys"):
        fuse_scores(
            [(keys(1, 2), np.ones(1, np.float32), np.ones(2), 0.0)],
            score_share=0.5,
            rrf_k=5.0,
            k=1,
        )
