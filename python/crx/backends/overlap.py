"""A reranker without weights: the share of the query's terms that a text holds.

Terms are those of the index's analyzer. It is no match for a cross-encoder; it is deterministic,
takes no time, and says the truth about what it counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crx import _native
from crx.errors import ModelError

_VERSION = 1


def load_reranker(spec: str) -> OverlapReranker:
    """Make the reranker; `ModelError` where anything follows its name."""
    if spec:
        raise ModelError(f"overlap:{spec}: takes no options; write overlap")
    return OverlapReranker()


class OverlapReranker:
    """Scores a text by the share of the query's distinct terms that it holds."""

    @property
    def fingerprint(self) -> str:
        return f"overlap:{_VERSION}"

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n,) float32 scores in (0, 1): (terms held + 1/2) / (terms asked + 1)."""
        asked = set(_native.analyze(query))
        held = [len(asked.intersection(_native.analyze(text))) for text in texts]
        return ((np.array(held, np.float32) + 0.5) / (len(asked) + 1)).astype(np.float32)
