"""Embedding by the workers of a pool: batches in, rows out, in any order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crx.errors import ModelError
from crx.ingest.embedding_pool import EmbeddedBatch, TextBatch, TextsLost
from crx.jobs.embedding_job import EmbeddedRows
from crx.remote.destination import Destination
from crx.workers.pool import MAX_LOSSES, WAIT_S, TaskAnswer, TaskLost, WorkerPool

# Batches that a worker is given ahead: the process that submits them also parses and commits, for
# seconds at a time.
BATCHES_AHEAD = 16


class EmbeddingWorkers:
    """Workers with an embedder of `dimensions`."""

    def __init__(self, pool: WorkerPool[TextBatch, EmbeddedRows], *, dimensions: int) -> None:
        self._pool = pool
        self._dimensions = dimensions
        self._finished: list[EmbeddedBatch] = []

    @property
    def destination(self) -> Destination:
        """The host that texts are sent to."""
        return Destination(self._pool.host)

    def submit(self, batch: TextBatch) -> None:
        """Accept a batch, once there is room for it."""
        while self._pool.is_full:
            self._advance(WAIT_S)
        self._pool.submit(batch)
        self._advance(0)

    def take_finished(self) -> Sequence[EmbeddedBatch]:
        """Return what is finished now."""
        finished, self._finished = self._finished, []
        return finished

    def wait_finished(self) -> Sequence[EmbeddedBatch]:
        """Return what is finished as soon as there is something; empty when all was taken."""
        while not self._finished and len(self._pool):
            self._advance(WAIT_S)
        return self.take_finished()

    def _advance(self, timeout_s: float) -> None:
        for event in self._pool.advance(timeout_s=timeout_s):
            match event:
                case TaskAnswer(_, batch, EmbeddedRows(rows, windowed)):
                    self._require_rows(rows, len(batch.keys))
                    self._finished.append(EmbeddedBatch(batch.keys, rows, windowed))
                case TaskLost(batch, why):
                    lost = f"{MAX_LOSSES} workers were lost at this text, the last one {why}"
                    raise TextsLost(lost, keys=batch.keys)

    def _require_rows(self, rows: NDArray[np.float32], count: int) -> None:
        wanted = (count, self._dimensions)
        if rows.shape != wanted or rows.dtype != np.float32:
            raise ModelError(f"a worker gave {rows.dtype} {rows.shape}, not float32 {wanted}")
