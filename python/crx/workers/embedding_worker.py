"""The code of a worker: it loads an embedder and embeds the texts that it is given.

Local processes and actors of Ray run the same code.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crx import registry
from crx.errors import Incompatible
from crx.ingest.embed import Situated, SituatedEmbedder

# Numbers of threads of the libraries that models run on, which they read when they are loaded.
_THREADS = ("CRX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class WorkerModel:
    """What a worker loads: the embedder's specification, its fingerprint, and its threads."""

    embedder: str
    fingerprint: str
    threads: int = 1


class EmbeddingWorker:
    """An embedder in a process of its own."""

    def __init__(self, model: WorkerModel) -> None:
        """Load the model; raises `ModelError`, and `Incompatible` for another model."""
        os.environ.update(dict.fromkeys(_THREADS, str(model.threads)))
        embedder = registry.load_embedder(model.embedder)
        if embedder.fingerprint != model.fingerprint:
            raise Incompatible(
                f"{model.embedder}: a worker has {embedder.fingerprint}, the index needs "
                f"{model.fingerprint}; install the same model for all workers"
            )
        self._situated = SituatedEmbedder(embedder)

    def embed(self, texts: Sequence[Situated]) -> tuple[NDArray[np.float32], int]:
        """Return (n, d) float32 unit rows, and how many texts took more than one window."""
        return self._situated.embed(texts)
