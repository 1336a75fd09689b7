"""Weights of the legs and of their fusion."""

from __future__ import annotations

from typing import NamedTuple


class RankingWeights(NamedTuple):
    """Parameters of BM25, of the two legs and of their fusion; see `config.Settings`."""

    bm25_depth: int
    dense_depth: int
    bm25_weight: float
    dense_weight: float
    score_share: float
    rrf_k: float
    k1: float
    b: float
    outline_weight: float
    context_weight: float
