"""The plugs: one verb each, a batch in and one result an item out, in order.

Every plug has a `fingerprint`: a short text that changes whenever its output may. It is part of
the key under which results are kept, so two plugs with one fingerprint must agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from crx.types import Chunk, Context, Document


@runtime_checkable
class Tokenizer(Protocol):
    """Where an embedder's tokens start."""

    def token_starts(self, text: str) -> NDArray[np.uint32]:
        """Return the code point at which each token of the whole text starts, ascending."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Texts to unit vectors."""

    @property
    def fingerprint(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    @property
    def max_tokens(self) -> int:
        """Tokens of a text that the model reads; what lies beyond is not seen."""
        ...

    def token_starts(self, text: str) -> NDArray[np.uint32]:
        """Return the code point at which each token of the whole text starts, ascending."""
        ...

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Return (n, d) float32 unit rows, in order; a row does not depend on its batch."""
        ...


@runtime_checkable
class Contextualizer(Protocol):
    """Chunks to the texts that situate them."""

    @property
    def fingerprint(self) -> str: ...

    def situate(self, document: Document, chunks: Sequence[Chunk]) -> Iterator[Context]:
        """Yield one context a chunk, in the order of `chunks`."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """A query and texts to relevance."""

    @property
    def fingerprint(self) -> str: ...

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n,) float32 scores in (0, 1), larger is better, in order."""
        ...


@runtime_checkable
class Generator(Protocol):
    """A prompt to text, as it comes."""

    @property
    def fingerprint(self) -> str: ...

    def generate(self, prompt: str, *, prefix: str = "") -> Iterator[str]:
        """Yield the answer to `prefix + prompt`, sent as one user's turn, piece by piece.

        `prefix` is what several prompts begin with: what it took to read may be kept between them.
        Thoughts are left out. Raises `ModelError` where the answer does not come to its end, after
        what came of it.
        """
        ...

    def close(self) -> None:
        """Let go of processes and memory."""
        ...
