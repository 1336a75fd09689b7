"""A reranker without weights: the share of the query's terms that a text contains.

Terms are those of the index's analyzer. It is deterministic and fast, and ranks worse than a
cross-encoder.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crx import _native
from crx.errors import ModelError

_VERSION = 1


def load_reranker(spec: str) -> OverlapReranker:
    """Return the reranker; raise `ModelError` if options are given."""
    if spec:
        raise ModelError(f"overlap:{spec}: takes no options; write overlap")
    return OverlapReranker()


class OverlapReranker:
    """A reranker by the share of the query's distinct terms that a text contains."""

    @property
    def fingerprint(self) -> str:
        return f"overlap:{_VERSION}"

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n,) float32 scores in (0, 1): (common terms + 1/2) / (query terms + 1)."""
        terms = set(_native.analyze(query))
        common = [len(terms.intersection(_native.analyze(text))) for text in texts]
        return ((np.array(common, np.float32) + 0.5) / (len(terms) + 1)).astype(np.float32)
