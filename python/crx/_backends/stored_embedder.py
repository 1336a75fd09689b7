"""What all embedders of the model store have in common: a card and a tokenizer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crx._models.card import ModelCard
from crx._models.tokenizer import Ids, ModelTokenizer
from crx.errors import ModelError


class StoredEmbedder:
    """An embedder of the model store; a subclass runs its graph."""

    def __init__(self, card: ModelCard, tokens: ModelTokenizer) -> None:
        self.card = card
        self._tokens = tokens

    @property
    def dimensions(self) -> int:
        return self.card.dimensions

    @property
    def max_tokens(self) -> int:
        """Tokens of a passage that are read, not counting special tokens and the prefix."""
        return self.card.max_tokens

    @property
    def languages(self) -> tuple[str, ...]:
        """ISO 639-1 codes of the languages that the model declares; empty if it declares none."""
        return self.card.languages

    def token_starts(self, text: str) -> NDArray[np.uint32]:
        """Return the code point at which each token of the whole text starts, ascending."""
        return self._tokens.token_starts(text)

    def _encode(self, texts: Sequence[str], *, query: bool) -> list[Ids]:
        """Return the ids of texts behind their prefix, each truncated to `max_tokens`."""
        prefix = self.card.query_prefix if query else self.card.passage_prefix
        return self._tokens.encode(texts, prefix=prefix, query=query)

    def _require_finite(self, vectors: NDArray[np.float32]) -> None:
        """Raise `ModelError` if a vector is not finite."""
        if not np.isfinite(vectors).all():
            raise ModelError(f"{self.card.name}: gave a vector that is not finite; add it again")
