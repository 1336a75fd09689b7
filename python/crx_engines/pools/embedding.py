"""Embedding in workers: the job that each of them runs, and the pool that is given batches."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crx import registry
from crx._services.destination import Destination
from crx.errors import Incompatible, ModelError
from crx.ingest.embed import Situated, SituatedEmbedder
from crx.ingest.embedding_pool import EmbeddedBatch, TextBatch, TextsLost
from crx.workers.child import child_command
from crx.workers.messages import Message
from crx_engines.pools.job import serve_job, use_threads
from crx_engines.pools.pool import MAX_LOSSES, WAIT_S, TaskAnswer, TaskLost, WorkerPool

# A worker that loads its model or embeds a batch is silent. It is taken for lost after these
# seconds and one for each thousand characters that it was sent: far slower than any model.
_SILENT_S = 300.0
_CHARS_A_SECOND = 1000

# Batches that a worker is given ahead: the process that submits them also parses and commits, for
# seconds at a time.
BATCHES_AHEAD = 16


@dataclass(frozen=True, slots=True)
class EmbeddedRows:
    """(n, d) float32 unit rows, and how many of the texts took more than one window."""

    rows: NDArray[np.float32]
    windowed: int


@dataclass(frozen=True, slots=True)
class EmbeddingJob:
    """What a worker loads: the embedder's specification, its fingerprint, and its threads."""

    embedder: str
    fingerprint: str
    threads: int = 1

    @property
    def command(self) -> Sequence[str]:
        return child_command("crx_engines.pools.embedding")

    def with_threads(self, threads: int) -> EmbeddingJob:
        return replace(self, threads=threads)

    def load(self) -> EmbeddingWorker:
        return EmbeddingWorker(self)

    def count_answers(self, task: TextBatch) -> int:
        return 1

    def silent_s(self, chars: int) -> float:
        return _SILENT_S + chars / _CHARS_A_SECOND

    def remaining(self, task: TextBatch, answer: EmbeddedRows) -> TextBatch:
        return TextBatch([], [])

    def suspects(self, task: TextBatch) -> Sequence[bytes]:
        return task.keys

    def divide(self, task: TextBatch, *, losses: int) -> Sequence[TextBatch]:
        """Return the texts one by one, so that the others are embedded and the cause is known."""
        texts = zip(task.keys, task.texts, strict=True)
        return [TextBatch([key], [text]) for key, text in texts]

    def encode(self) -> Message:
        return asdict(self)

    def encode_task(self, task: TextBatch) -> Message:
        return {"texts": [(each.before, each.text, each.tokens) for each in task.texts]}

    def decode_task(self, message: Message) -> TextBatch:
        texts = [Situated(before, text, tokens) for before, text, tokens in message["texts"]]
        return TextBatch([], texts)

    def encode_answer(self, answer: EmbeddedRows) -> Message:
        rows = base64.b64encode(answer.rows.tobytes()).decode()
        return {"rows": rows, "windowed": answer.windowed}

    def decode_answer(self, message: Message, task: TextBatch) -> EmbeddedRows:
        rows = np.frombuffer(base64.b64decode(message["rows"]), np.float32)
        return EmbeddedRows(rows.reshape(len(task.texts), -1), int(message["windowed"]))


class EmbeddingWorker:
    """An embedder in a process of its own."""

    def __init__(self, job: EmbeddingJob) -> None:
        """Load the model; raises `ModelError`, and `Incompatible` for another model."""
        use_threads(job.threads)
        embedder = registry.load_embedder(job.embedder)
        if embedder.fingerprint != job.fingerprint:
            raise Incompatible(
                f"{job.embedder}: a worker has {embedder.fingerprint}, the index needs "
                f"{job.fingerprint}; install the same model for all workers"
            )
        self._situated = SituatedEmbedder(embedder)

    def run(self, task: TextBatch) -> Iterator[EmbeddedRows]:
        """Yield the rows of the texts."""
        yield EmbeddedRows(*self._situated.embed(task.texts))


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


def main() -> None:
    """Serve as a worker that embeds."""
    serve_job(lambda message: EmbeddingJob(**message))
