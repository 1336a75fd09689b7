"""Workers that embed: the texts of a lost worker are given to others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crx.errors import ModelError
from crx.ingest.embedding_pool import EmbeddedBatch, TextBatch, TextsLost
from crx.remote.destination import Destination
from crx.workers.embedding_job import EmbeddedRows
from crx.workers.pool import MAX_LOSSES, WAIT_S, TaskAnswer, TaskLost, WorkerPool

# Batches that a worker is given ahead: the process that submits them also parses and commits, for
# seconds at a time.
BATCHES_AHEAD = 16


class EmbeddingWorkers:
    """Workers with an embedder of `dimensions`.

    After a worker is lost at a batch, its texts are assigned one by one, so that the others are
    embedded and the cause is known.
    """

    def __init__(self, pool: WorkerPool[TextBatch, EmbeddedRows], *, dimensions: int) -> None:
        self._pool = pool
        self._dimensions = dimensions
        self._losses: Counter[bytes] = Counter()
        self._finished: list[EmbeddedBatch] = []

    def __enter__(self) -> EmbeddingWorkers:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.close()

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
                    self._retry(batch, why)

    def _retry(self, batch: TextBatch, why: str) -> None:
        self._losses.update(batch.keys)
        if self._losses[batch.keys[0]] >= MAX_LOSSES:
            raise TextsLost(
                f"{MAX_LOSSES} workers were lost at this text, the last one {why}",
                keys=batch.keys,
            )
        texts = zip(batch.keys, batch.texts, strict=True)
        self._pool.submit_first([TextBatch([key], [text]) for key, text in texts])

    def _require_rows(self, rows: NDArray[np.float32], count: int) -> None:
        wanted = (count, self._dimensions)
        if rows.shape != wanted or rows.dtype != np.float32:
            raise ModelError(f"a worker gave {rows.dtype} {rows.shape}, not float32 {wanted}")


class RemoteEmbeddingWorkers(EmbeddingWorkers):
    """Workers that may be on other machines; `destination` is one of their hosts."""

    def __init__(
        self,
        pool: WorkerPool[TextBatch, EmbeddedRows],
        *,
        dimensions: int,
        destination: Destination,
    ) -> None:
        super().__init__(pool, dimensions=dimensions)
        self._destination = destination

    @property
    def destination(self) -> Destination:
        """The host that texts are sent to."""
        return self._destination
