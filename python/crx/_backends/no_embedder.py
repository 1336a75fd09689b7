"""`none`: no embedder, for an index that is searched with BM25 alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from crx.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Words of which a quarter is left for the context: chunks are as long as with minilm.
_MAX_TOKENS = 256


class _NoEmbedder:
    """An embedder of no dimensions: it counts words for the splitter and makes no vectors."""

    fingerprint = "none:1"
    dimensions = 0
    max_tokens = _MAX_TOKENS

    def token_starts(self, text: str) -> NDArray[np.uint32]:
        """Return the code point at which each word, mark or lone character starts, ascending."""
        from crx._backends.hashed import HashedEmbedder  # needed for a changed file alone

        return HashedEmbedder().token_starts(text)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Raise `UsageError`: there are no vectors to compare."""
        raise UsageError("the embedder is none, which makes no vectors; name another embedder")


def load_embedder(rest: str) -> _NoEmbedder:
    """Return the embedder of `none`; it takes no options."""
    if rest:
        raise UsageError(f"none:{rest}: takes no options; write none")
    return _NoEmbedder()
