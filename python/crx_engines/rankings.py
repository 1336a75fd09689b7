"""Rankings that are merged or cut."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crx.types import Ranking


def best_ranking(keys: NDArray[np.int64], scores: NDArray[np.float32], *, k: int) -> Ranking:
    """Return the best k; equal scores are in ascending order of key."""
    order = np.lexsort((keys, -scores))[:k]
    return Ranking(keys[order], scores[order])
