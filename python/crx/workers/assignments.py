"""Which worker has which batches; those of a lost worker are assigned again."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from crx.ingest.embedding_pool import TextBatch, TextsLost

# Workers that may be lost at the same text. The first loss may be an accident; after it the texts
# of the batch are assigned one by one, so that the others are embedded and the cause is known.
MAX_LOSSES = 3
# Batches, and characters of text, that a worker is given ahead: the process that submits them also
# parses and commits, for seconds at a time. The characters fit into a pipe.
BATCHES_AHEAD = 16
CHARS_AHEAD = 200_000


@dataclass(frozen=True, slots=True)
class _Task:
    """A batch, and how many workers were lost at it."""

    batch: TextBatch
    losses: int = 0


class Assignments:
    """The batches of a run that are not finished. A worker finishes its own in their order."""

    def __init__(self) -> None:
        self._waiting: deque[_Task] = deque()
        self._assigned: dict[int, deque[_Task]] = {}

    def __len__(self) -> int:
        """Return how many batches are not finished."""
        return len(self._waiting) + sum(map(len, self._assigned.values()))

    @property
    def workers(self) -> int:
        """How many workers can be assigned to."""
        return len(self._assigned)

    def submit(self, batch: TextBatch) -> None:
        """Let a batch wait for a worker."""
        self._waiting.append(_Task(batch))

    def join(self, worker: int) -> None:
        """Let a worker be assigned to."""
        self._assigned[worker] = deque()

    def assign(self) -> tuple[int, TextBatch] | None:
        """Assign the next batch to the worker with the least text; None if all have enough."""
        if not self._waiting or not self._assigned:
            return None
        chars = {worker: self.chars(worker) for worker in self._assigned}
        worker = min(chars, key=lambda each: (chars[each], each))
        batch = self._waiting[0].batch
        tasks = self._assigned[worker]
        if tasks and (len(tasks) >= BATCHES_AHEAD or chars[worker] + batch.chars > CHARS_AHEAD):
            return None
        tasks.append(self._waiting.popleft())
        return worker, batch

    def chars(self, worker: int) -> int:
        """Return how much text a worker has."""
        return sum(task.batch.chars for task in self._assigned[worker])

    def finish(self, worker: int) -> TextBatch:
        """Take the batch that a worker has finished: the one that it was assigned first."""
        return self._assigned[worker].popleft().batch

    def lose(self, worker: int, why: str) -> None:
        """Let the batches of a lost worker wait again, those at which it was lost one by one.

        Raises `TextsLost` when `MAX_LOSSES` workers were lost at the same text.
        """
        tasks = list(self._assigned.pop(worker, ()))
        suspects = [
            _Task(TextBatch([key], [text]), task.losses + 1)
            for task in tasks[:1]
            for key, text in zip(task.batch.keys, task.batch.texts, strict=True)
        ]
        if suspects and suspects[0].losses >= MAX_LOSSES:
            raise TextsLost(
                f"{MAX_LOSSES} workers were lost at this text, the last one {why}",
                keys=suspects[0].batch.keys,
            )
        self._waiting.extendleft(reversed([*suspects, *tasks[1:]]))
