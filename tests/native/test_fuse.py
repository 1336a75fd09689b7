"""Fusion: two rankings become one, the same on every machine."""

from __future__ import annotations

import numpy as np
import pytest

from crx._native import fuse_scores


def test_a_ranking_needs_a_score_and_a_weight_for_each_key() -> None:
    ranking = (np.array([1, 2], np.int64), np.ones(1, np.float32), np.ones(2), 0.0)
    with pytest.raises(ValueError, match="1 scores and 2 weights for 2 keys"):
        fuse_scores([ranking], score_share=0.5, rrf_k=5.0, k=1)
