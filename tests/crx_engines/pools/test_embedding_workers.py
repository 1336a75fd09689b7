"""Workers that embed: texts of a lost worker are embedded by others, or named."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from crx.errors import ModelError
from crx.ingest.embed import Situated
from crx.ingest.embedding_pool import TextBatch, TextsLost
from crx_engines.pools.embedding import EmbeddedRows, EmbeddingJob, EmbeddingWorkers
from crx_engines.pools.pool import MAX_FAILED_STARTS, WorkerPool
from crx_engines.pools.transport import WorkerAnswer, WorkerEvent, WorkerLost, WorkerReady


class Mortal:
    """Workers that answer at once and are lost at some texts, or before they are ready."""

    host = "localhost"
    capacity = 1

    def __init__(self, *deadly: str, starts: bool = True, dimensions: int = 2) -> None:
        self.deadly = set(deadly)
        self.sent: list[str] = []
        self._starts = starts
        self._dimensions = dimensions
        self._workers = 0
        self._events: list[WorkerEvent[EmbeddedRows]] = []

    def start(self) -> int:
        self._workers += 1
        event = WorkerReady if self._starts else _lost
        self._events.append(event(self._workers))
        return self._workers

    def send(self, worker: int, task: TextBatch) -> None:
        texts = [each.text for each in task.texts]
        self.sent.append("".join(texts))
        if self.deadly & set(texts):
            self._events.append(_lost(worker))
            return
        rows = np.ones((len(texts), self._dimensions), np.float32)
        self._events.append(WorkerAnswer(worker, EmbeddedRows(rows, 0), last=True))

    def receive(self, *, timeout_s: float) -> Sequence[WorkerEvent[EmbeddedRows]]:
        events, self._events = self._events, []
        return events

    def close(self) -> None:
        pass


def _lost(worker: int) -> WorkerLost:
    return WorkerLost(worker, "killed")


def embed(transport: Mortal, *batches: str) -> list[str]:
    """Return the texts that were embedded, by batch, of batches of texts of a letter."""
    job = EmbeddingJob("hashed", "")
    workers = EmbeddingWorkers(WorkerPool(transport, job, count=1, ahead=1), dimensions=2)
    finished = []
    for batch in batches:
        workers.submit(
            TextBatch([text.encode() for text in batch], [Situated("", text) for text in batch])
        )
    while done := workers.wait_finished():
        finished += [b"".join(each.keys).decode() for each in done]
    return finished


def test_texts_at_which_a_worker_was_lost_are_embedded_one_by_one() -> None:
    transport = Mortal("b")

    def live(*, timeout_s: float) -> Sequence[WorkerEvent[EmbeddedRows]]:
        events = Mortal.receive(transport, timeout_s=timeout_s)
        if any(isinstance(event, WorkerLost) for event in events):
            transport.deadly.clear()
        return events

    transport.receive = live  # type: ignore[method-assign]
    assert embed(transport, "abc", "de") == ["a", "b", "c", "de"]
    assert transport.sent == ["abc", "a", "b", "c", "de"]


def test_a_text_at_which_workers_are_lost_repeatedly_is_named() -> None:
    transport = Mortal("b")
    with pytest.raises(TextsLost, match="3 workers were lost at this text, the last one k") as e:
        embed(transport, "ab")
    assert e.value.keys == [b"b"]
    assert transport.sent == ["ab", "a", "b", "b"]


def test_workers_that_are_lost_before_they_are_ready_end_the_run() -> None:
    with pytest.raises(ModelError, match=f"{MAX_FAILED_STARTS} workers in a row were lost while"):
        embed(Mortal(starts=False), "a")


def test_rows_of_another_shape_are_an_error() -> None:
    with pytest.raises(ModelError, match=r"a worker gave float32 \(1, 3\), not float32 \(1, 2\)"):
        embed(Mortal(dimensions=3), "a")
