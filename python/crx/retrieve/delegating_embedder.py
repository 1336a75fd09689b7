"""The part of an embedder that a wrapper of one passes on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crx.protocols import Embedder
from crx.retrieve.query_language import declared_langs


class DelegatingEmbedder:
    """An embedder with the properties and the tokenizer of another; a subclass embeds."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @property
    def fingerprint(self) -> str:
        return self._embedder.fingerprint

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    @property
    def max_tokens(self) -> int:
        return self._embedder.max_tokens

    @property
    def languages(self) -> tuple[str, ...]:
        """ISO 639-1 codes; empty if the embedder does not declare them."""
        return declared_langs(self._embedder)

    def token_starts(self, text: str) -> NDArray[np.uint32]:
        return self._embedder.token_starts(text)
