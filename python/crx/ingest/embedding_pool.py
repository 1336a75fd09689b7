"""Where batches of situated texts are embedded: in this process, or by a pool of workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from crx.ingest.embed import Situated, SituatedEmbedder
from crx.protocols import Embedder


@dataclass(frozen=True, slots=True)
class TextBatch:
    """Texts that are embedded in one call, and the keys of their vectors."""

    keys: Sequence[bytes]
    texts: Sequence[Situated]

    @property
    def chars(self) -> int:
        """Characters of the texts and what situates them."""
        return sum(len(text.before) + len(text.text) for text in self.texts)


@dataclass(frozen=True, slots=True)
class EmbeddedBatch:
    """(n, d) float32 unit rows by their keys; `windowed` of the texts took several windows."""

    keys: Sequence[bytes]
    rows: NDArray[np.float32]
    windowed: int


class TextsLost(Exception):
    """Workers were lost repeatedly while they embedded these texts; the message says how."""

    def __init__(self, message: str, *, keys: Sequence[bytes]) -> None:
        super().__init__(message)
        self.keys = keys


class EmbeddingPool(Protocol):
    """Embeds batches of texts.

    Batches may finish in any order, and in other parts than they were submitted in. `submit`,
    `take_finished` and `wait_finished` raise `TextsLost`, and `ModelError` if the model fails.
    """

    def submit(self, batch: TextBatch) -> None:
        """Accept a batch, once there is room for it."""

    def take_finished(self) -> Sequence[EmbeddedBatch]:
        """Return what is finished now."""

    def wait_finished(self) -> Sequence[EmbeddedBatch]:
        """Return what is finished as soon as there is something; empty when all was taken."""


class OwnProcess:
    """Embeds in this process, each batch when it is submitted."""

    def __init__(self, embedder: Embedder) -> None:
        self._situated = SituatedEmbedder(embedder)
        self._finished: list[EmbeddedBatch] = []

    def submit(self, batch: TextBatch) -> None:
        """Embed a batch."""
        self._finished.append(EmbeddedBatch(batch.keys, *self._situated.embed(batch.texts)))

    def take_finished(self) -> Sequence[EmbeddedBatch]:
        """Return what was embedded since the last call."""
        finished, self._finished = self._finished, []
        return finished

    def wait_finished(self) -> Sequence[EmbeddedBatch]:
        """Return what was embedded since the last call."""
        return self.take_finished()
