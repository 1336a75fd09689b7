"""The job of embedding: a worker loads an embedder and embeds the texts that it is given."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crx import registry
from crx.errors import Incompatible
from crx.ingest.embed import Situated, SituatedEmbedder
from crx.ingest.embedding_pool import TextBatch
from crx.workers.child import child_command
from crx.workers.job import serve_job, use_threads
from crx.workers.messages import Message

# A worker that loads its model or embeds a batch is silent. It is taken for lost after these
# seconds and one for each thousand characters that it was sent: far slower than any model.
_SILENT_S = 300.0
_CHARS_A_SECOND = 1000


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
        return child_command("crx.jobs.embedding_job")

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


def main() -> None:
    """Serve as a worker that embeds."""
    serve_job(lambda message: EmbeddingJob(**message))
