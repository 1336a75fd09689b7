"""Writing of contexts by the workers of a pool, a document at a time."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic

from crx.context.compute_usage import ComputeUsage
from crx.context.context_pool import DocumentTask, Request
from crx.errors import ModelError
from crx.jobs.context_job import NumberedTask, WrittenContext
from crx.remote.destination import Destination
from crx.types import Context
from crx.workers.pool import MAX_LOSSES, WAIT_S, TaskAnswer, TaskLost, WorkerPool

# Documents that a worker is given: the one that it works on, and the next.
DOCUMENTS_AHEAD = 2
# Chunks in a row that fail because workers are lost at them: no single chunk is at fault.
MAX_LOST_CHUNKS = 3


@dataclass(slots=True)
class _DocumentInFlight(Generic[Request]):
    """What was asked, and how many of its chunks have no context yet."""

    request: Request
    missing: int


class ContextWorkers:
    """Workers with a contextualizer. A chunk at which the pool gives up has a failed context."""

    def __init__(self, pool: WorkerPool[NumberedTask, WrittenContext]) -> None:
        self._pool = pool
        self._usage: dict[int, ComputeUsage] = {}
        self._lost_chunks = 0

    @property
    def destination(self) -> Destination:
        """The host that documents are sent to."""
        return Destination(self._pool.host)

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
                    document.missing -= 1
                    if not document.missing:
                        del in_flight[event.task.number]
                    yield document.request, *self._result(event)
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
            in_flight[number] = _DocumentInFlight(request, len(task.chunks))
            self._pool.submit(NumberedTask(number, task))
        return bool(in_flight)

    def _result(
        self, event: TaskAnswer[NumberedTask, WrittenContext] | TaskLost[NumberedTask]
    ) -> tuple[int, Context]:
        """Return the position and the context of the chunk that an event is about."""
        match event:
            case TaskAnswer(worker, _, WrittenContext(position, context, usage)):
                self._lost_chunks = 0
                if usage is not None:
                    self._usage[worker] = usage
                return position, context
            case TaskLost(task, why):
                return self._give_up_first(task, why)

    def _give_up_first(self, task: NumberedTask, why: str) -> tuple[int, Context]:
        """Ask again for all chunks of a task but the first, whose context has failed."""
        self._lost_chunks += 1
        if self._lost_chunks >= MAX_LOST_CHUNKS:
            raise ModelError(
                f"{MAX_LOSSES} workers were lost at each of {MAX_LOST_CHUNKS} chunks in a row, "
                f"the last one {why}"
            )
        first, *others = task.task.chunks
        if others:
            self._pool.submit_first([task.part(others)])
        lost = f"{MAX_LOSSES} workers were lost at this chunk, the last one {why}"
        return first, Context.failed(lost)
