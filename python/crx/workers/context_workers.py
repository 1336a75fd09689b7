"""Workers that write contexts: what a lost worker has not written is asked of others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Generic

from crx.context.compute_usage import ComputeUsage
from crx.context.context_pool import DocumentTask, Request
from crx.errors import ModelError
from crx.remote.destination import Destination
from crx.types import Context
from crx.workers.context_job import NumberedTask, WrittenContext
from crx.workers.pool import MAX_LOSSES, WAIT_S, TaskAnswer, TaskLost, WorkerPool

# Documents that a worker is given: the one that it works on, and the next.
DOCUMENTS_AHEAD = 2
# Chunks in a row that fail because workers are lost at them: no single chunk is at fault.
MAX_LOST_CHUNKS = 3


@dataclass(slots=True)
class _DocumentInFlight(Generic[Request]):
    """What was asked, positions that have no context yet, and workers that were lost at each."""

    request: Request
    missing: set[int]
    losses: Counter[int] = field(default_factory=Counter)


class ContextWorkers:
    """Workers with a contextualizer.

    When a worker is lost, the chunks that it gave no context are asked of another. The first of
    them is suspected: when a second worker is lost at it, it is asked for alone, and after
    `MAX_LOSSES` its context has failed.
    """

    def __init__(self, pool: WorkerPool[NumberedTask, WrittenContext]) -> None:
        self._pool = pool
        self._usage: dict[int, ComputeUsage] = {}
        self._lost_chunks = 0

    def __enter__(self) -> ContextWorkers:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.close()

    @property
    def usage(self) -> ComputeUsage | None:
        """The computation of all workers so far, None if their contextualizer counts none."""
        return sum(self._usage.values(), ComputeUsage()) if self._usage else None

    def situate(
        self, asked: Iterable[tuple[Request, DocumentTask]]
    ) -> Generator[tuple[Request, int, Context], None, None]:
        """Yield (request, position of the chunk, context) as they come, one for each chunk."""
        waiting = enumerate(asked)
        in_flight: dict[int, _DocumentInFlight[Request]] = {}
        try:
            while self._fill(waiting, in_flight):
                for event in self._pool.advance(timeout_s=WAIT_S):
                    document = in_flight[event.task.number]
                    for at, context in self._handle(event, document):
                        document.missing.discard(at)
                        yield document.request, at, context
                    if not document.missing:
                        del in_flight[event.task.number]
        finally:
            self._pool.close()

    def _fill(
        self,
        waiting: Iterator[tuple[int, tuple[Request, DocumentTask]]],
        in_flight: dict[int, _DocumentInFlight[Request]],
    ) -> bool:
        """Submit documents while there is room; return whether any is in flight."""
        while not self._pool.is_full:
            following = next(waiting, None)
            if following is None:
                break
            number, (request, task) = following
            in_flight[number] = _DocumentInFlight(request, set(task.chunks))
            self._pool.submit(NumberedTask(number, task))
        return bool(in_flight)

    def _handle(
        self,
        event: TaskAnswer[NumberedTask, WrittenContext] | TaskLost[NumberedTask],
        document: _DocumentInFlight[Request],
    ) -> Iterator[tuple[int, Context]]:
        match event:
            case TaskAnswer(worker, _, WrittenContext(position, context, usage)):
                self._lost_chunks = 0
                if usage is not None:
                    self._usage[worker] = usage
                yield position, context
            case TaskLost(task, why):
                yield from self._retry(task, why, document)

    def _retry(
        self, task: NumberedTask, why: str, document: _DocumentInFlight[Request]
    ) -> Iterator[tuple[int, Context]]:
        """Ask again for what a lost worker has not written; yield a chunk's failed context."""
        first, *others = [at for at in task.task.chunks if at in document.missing]
        document.losses[first] += 1
        losses = document.losses[first]
        if losses >= MAX_LOSSES:
            self._count_lost_chunk(why)
            parts = [others]
            lost = f"{MAX_LOSSES} workers were lost at this chunk, the last one {why}"
            yield first, Context.failed(lost)
        else:
            parts = [[first, *others]] if losses == 1 else [[first], others]
        self._pool.submit_first([_part(task, part) for part in parts if part])

    def _count_lost_chunk(self, why: str) -> None:
        self._lost_chunks += 1
        if self._lost_chunks >= MAX_LOST_CHUNKS:
            raise ModelError(
                f"{MAX_LOSSES} workers were lost at each of {MAX_LOST_CHUNKS} chunks in a row, "
                f"the last one {why}"
            )


class RemoteContextWorkers(ContextWorkers):
    """Workers that may be on other machines; `destination` is one of their hosts."""

    def __init__(
        self, pool: WorkerPool[NumberedTask, WrittenContext], *, destination: Destination
    ) -> None:
        super().__init__(pool)
        self._destination = destination

    @property
    def destination(self) -> Destination:
        """The host that documents are sent to."""
        return self._destination


def _part(numbered: NumberedTask, positions: Iterable[int]) -> NumberedTask:
    """Return a task for some of its chunks."""
    task = numbered.task
    return replace(numbered, task=replace(task, chunks={at: task.chunks[at] for at in positions}))
