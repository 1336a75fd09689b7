"""A search of the dense leg, whose files are checked as they are read."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crx import _native
from crx.errors import Damaged
from crx.types import Ranking


def search_dense(
    dense: _native.Dense,
    store: _native.Store,
    vector: NDArray[np.float32],
    *,
    k: int,
    only: _native.Filter | None = None,
) -> Ranking:
    """Return the k chunks whose vectors have the largest inner product with the (d,) `vector`.

    If a part of a file turns out to be damaged, what the file holds is read from `store`, and
    `dense.faults` names the file.
    """
    try:
        return Ranking(*dense.search(vector, k=k, only=only))
    except Damaged:
        dense.sync(store)
        return Ranking(*dense.search(vector, k=k, only=only))
