"""Fusion of rankings by relative scores and reciprocal ranks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crx.retrieve.fusion import WeightedRanking, fuse
from crx.types import Ranking

FLOOR_RANK = 50


def ranked(
    scores: dict[int, float], *, weight: float = 1.0, lowest: float = 0.0
) -> WeightedRanking:
    ranking = Ranking(np.array([*scores], np.int64), np.array([*scores.values()], np.float32))
    return WeightedRanking(ranking, np.full(len(scores), weight), lowest)


def fused(*rankings: WeightedRanking, share: float, rrf_k: float = 4.0) -> dict[int, float]:
    found = fuse(rankings, score_share=share, rrf_k=rrf_k, k=100)
    return dict(zip(found.keys.tolist(), found.scores.tolist(), strict=True))


def test_a_part_is_half_the_relative_score_and_half_the_reciprocal_rank() -> None:
    a = ranked({1: 8.0, 2: 6.0}, weight=0.75)
    b = ranked({2: 0.9, 3: 0.8, 1: 0.7}, weight=0.25, lowest=0.7)
    expected = {
        1: 0.75 + 0.25 * (0.5 * 0.0 + 0.5 * 5 / 7),
        2: 0.75 * (0.5 * 0.75 + 0.5 * 5 / 6) + 0.25,
        3: 0.25 * (0.5 * 0.5 + 0.5 * 5 / 6),
    }
    found = fused(a, b, share=0.5)
    assert list(found) == [2, 1, 3]
    assert found == pytest.approx(expected)


def test_the_best_of_all_rankings_scores_the_sum_of_the_weights() -> None:
    found = fused(ranked({7: 3.0, 8: 1.0}, weight=0.65), ranked({7: 0.2}, weight=0.35), share=0.5)
    assert found[7] == pytest.approx(1.0)


RANKINGS = st.lists(st.lists(st.integers(-50, 50), max_size=30, unique=True), min_size=1)


@given(rankings=RANKINGS)
def test_a_share_of_0_is_reciprocal_rank_fusion(rankings: list[list[int]]) -> None:
    weights = [1.0 / (n + 1) for n in range(len(rankings))]
    lists = [
        ranked({key: 100.0 - n for n, key in enumerate(keys)}, weight=weight)
        for keys, weight in zip(rankings, weights, strict=True)
    ]
    expected: dict[int, float] = {}
    for keys, weight in zip(rankings, weights, strict=True):
        for rank, key in enumerate(keys, 1):
            expected[key] = expected.get(key, 0.0) + weight * 21 / (20 + rank)
    found = fused(*lists, share=0.0, rrf_k=20)
    assert found == pytest.approx(expected, rel=1e-5)


def test_a_share_of_1_leaves_the_ranks_out() -> None:
    assert fused(ranked({1: 4.0, 2: 3.0, 3: 1.0}), share=1.0) == {1: 1.0, 2: 0.75, 3: 0.25}


def test_equal_sums_go_to_the_better_rank_then_to_the_smaller_key() -> None:
    a, b = ranked({5: 1.0, 9: 1.0}), ranked({4: 1.0, 3: 1.0})
    assert list(fused(a, b, share=1.0)) == [4, 5, 3, 9]


def test_scores_that_are_all_alike_leave_the_ranks() -> None:
    assert fused(ranked({1: 0.5, 2: 0.5}, lowest=0.5), share=0.5) == pytest.approx(
        {1: 0.5, 2: 0.5 * 5 / 6}
    )


def test_a_weight_may_differ_by_key() -> None:
    ranking = ranked({1: 1.0, 2: 1.0})
    weighted = WeightedRanking(ranking.ranking, np.array([0.1, 1.0]), 0.0)
    assert fused(weighted, share=1.0) == pytest.approx({2: 1.0, 1: 0.1})


@pytest.mark.parametrize("rankings", [[], [ranked({})], [ranked({}), ranked({})]])
def test_nothing_fused_is_nothing(rankings: list[WeightedRanking]) -> None:
    assert fuse(rankings, score_share=0.5, rrf_k=5.0, k=3).keys.tolist() == []


def test_k_limits_the_keys() -> None:
    assert fuse([ranked({1: 2.0, 2: 1.0})], score_share=0.5, rrf_k=5.0, k=1).keys.tolist() == [1]


def test_scores_count_from_the_floor_rank_up() -> None:
    scores = {key: 100.0 - key for key in range(80)}
    found = fused(ranked(scores), share=1.0)
    assert found[0] == 1.0
    assert found[10] == pytest.approx(1 - 10 / (FLOOR_RANK - 1))
    assert {found[key] for key in range(FLOOR_RANK - 1, 80)} == {0.0}


def relative_scores(weighted: WeightedRanking) -> np.ndarray:
    scores = weighted.ranking.scores.astype(np.float64)
    floor = scores[FLOOR_RANK - 1] if len(scores) >= FLOOR_RANK else weighted.lowest
    above = np.maximum(scores - floor, 0.0)
    highest = above.max(initial=0.0)
    return above / highest if highest > 0 else np.zeros_like(above)


def fused_by_numpy(
    rankings: list[WeightedRanking], *, score_share: float, rrf_k: float, k: int
) -> tuple[list[int], list[float]]:
    """Return what `fuse` does, by its formula in double precision."""
    ranks = [np.arange(1, len(each.ranking.keys) + 1) for each in rankings]
    parts = [
        each.weights
        * (
            score_share * relative_scores(each)
            + (1 - score_share) * (rrf_k + 1) / (rrf_k + ranks_of_each)
        )
        for each, ranks_of_each in zip(rankings, ranks, strict=True)
    ]
    every = np.concatenate([each.ranking.keys for each in rankings])
    keys, rows = np.unique(every, return_inverse=True)
    sums = np.bincount(rows, np.concatenate(parts), len(keys)).astype(np.float32)
    best = np.full(len(keys), np.iinfo(np.int64).max)
    np.minimum.at(best, rows, np.concatenate(ranks))
    order = np.lexsort((keys, best, -sums))[:k]
    return keys[order].tolist(), sums[order].tolist()


@given(
    seed=st.integers(0, 2**32),
    lengths=st.lists(st.integers(0, 90), min_size=1, max_size=3),
    share=st.sampled_from([0.0, 0.4, 0.6, 1.0]),
    rrf_k=st.sampled_from([0.5, 5.0, 60.0]),
    k=st.integers(1, 200),
)
def test_the_scores_are_those_of_the_formula_to_the_last_bit(
    seed: int, lengths: list[int], share: float, rrf_k: float, k: int
) -> None:
    rng = np.random.default_rng(seed)
    rankings = [
        WeightedRanking(
            Ranking(
                rng.permutation(120)[:length].astype(np.int64),
                -np.sort(-rng.choice([0.25, 0.5, *rng.random(40)], length).astype(np.float32)),
            ),
            rng.choice([0.2, 0.3, 0.7], length),
            float(rng.random()),
        )
        for length in lengths
    ]
    found = fuse(rankings, score_share=share, rrf_k=rrf_k, k=k)
    expected = fused_by_numpy(rankings, score_share=share, rrf_k=rrf_k, k=k)
    assert (found.keys.tolist(), found.scores.tolist()) == expected
