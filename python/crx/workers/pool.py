"""A pool of workers: batches in flight are bounded, and lost workers are replaced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from crx.errors import ModelError
from crx.ingest.embedding_pool import EmbeddedBatch, TextBatch
from crx.remote.destination import Destination
from crx.workers.assignments import BATCHES_AHEAD, Assignments

# Workers lost in a row before they had loaded the model.
MAX_FAILED_STARTS = 3
# Seconds of one wait for workers; an interrupt ends it at once.
_WAIT_S = 1.0


@dataclass(frozen=True, slots=True)
class WorkerReady:
    """A worker has loaded its model."""

    worker: int


@dataclass(frozen=True, slots=True)
class WorkerAnswer:
    """A worker has embedded the first of its batches."""

    worker: int
    rows: NDArray[np.float32]
    windowed: int


@dataclass(frozen=True, slots=True)
class WorkerLost:
    """A worker is gone; `why` continues a sentence about it."""

    worker: int
    why: str


WorkerEvent = WorkerReady | WorkerAnswer | WorkerLost


class WorkerTransport(Protocol):
    """Starts workers and exchanges messages with them."""

    def start(self) -> int:
        """Start a worker and return its number; `WorkerReady` or `WorkerLost` follows."""
        ...

    def send(self, worker: int, batch: TextBatch) -> None:
        """Send a batch to a worker that is ready; its failure is told by `receive`."""
        ...

    def receive(self, *, timeout_s: float) -> Sequence[WorkerEvent]:
        """Wait for the next events; empty after the timeout. Raises `ModelError`."""
        ...

    def close(self) -> None:
        """End all workers."""
        ...


class WorkerPool:
    """Up to `count` workers, each started when there is a batch for it."""

    def __init__(self, transport: WorkerTransport, *, count: int, dimensions: int) -> None:
        self._transport = transport
        self._count = count
        self._dimensions = dimensions
        self._assignments = Assignments()
        self._starting: set[int] = set()
        self._failed_starts = 0
        self._finished: list[EmbeddedBatch] = []

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all workers; what they have not finished is forgotten."""
        self._transport.close()

    def submit(self, batch: TextBatch) -> None:
        """Accept a batch, once there is room for it."""
        while len(self._assignments) >= self._count * BATCHES_AHEAD:
            self._advance(_WAIT_S)
        self._assignments.submit(batch)
        self._advance(0)

    def take_finished(self) -> Sequence[EmbeddedBatch]:
        """Return what is finished now."""
        finished, self._finished = self._finished, []
        return finished

    def wait_finished(self) -> Sequence[EmbeddedBatch]:
        """Return what is finished as soon as there is something; empty when all was taken."""
        while not self._finished and len(self._assignments):
            self._advance(_WAIT_S)
        return self.take_finished()

    def _advance(self, timeout_s: float) -> None:
        """Start workers, assign batches, and handle what workers tell."""
        while self._assignments.workers + len(self._starting) < min(
            self._count, len(self._assignments)
        ):
            self._starting.add(self._transport.start())
        self._assign()
        for event in self._transport.receive(timeout_s=timeout_s):
            self._handle(event)
        self._assign()

    def _assign(self) -> None:
        while (assigned := self._assignments.assign()) is not None:
            self._transport.send(*assigned)

    def _handle(self, event: WorkerEvent) -> None:
        match event:
            case WorkerReady(worker):
                self._starting.remove(worker)
                self._failed_starts = 0
                self._assignments.join(worker)
            case WorkerAnswer(worker, rows, windowed):
                batch = self._assignments.finish(worker)
                self._require_rows(rows, len(batch.keys))
                self._finished.append(EmbeddedBatch(batch.keys, rows, windowed))
            case WorkerLost(worker, why) if worker in self._starting:
                self._starting.remove(worker)
                self._failed_starts += 1
                if self._failed_starts >= MAX_FAILED_STARTS:
                    raise ModelError(
                        f"{MAX_FAILED_STARTS} workers in a row were lost while they loaded the "
                        f"model, the last one {why}; take fewer --workers if memory is short"
                    )
            case WorkerLost(worker, why):
                self._assignments.lose(worker, why)

    def _require_rows(self, rows: NDArray[np.float32], count: int) -> None:
        wanted = (count, self._dimensions)
        if rows.shape != wanted or rows.dtype != np.float32:
            raise ModelError(f"a worker gave {rows.dtype} {rows.shape}, not float32 {wanted}")


class RemoteWorkerPool(WorkerPool):
    """A pool whose workers may be on other machines; `destination` is one of their hosts."""

    def __init__(
        self,
        transport: WorkerTransport,
        *,
        count: int,
        dimensions: int,
        destination: Destination,
    ) -> None:
        super().__init__(transport, count=count, dimensions=dimensions)
        self._destination = destination

    @property
    def destination(self) -> Destination:
        """The host that texts are sent to."""
        return self._destination
