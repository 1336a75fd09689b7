"""A pool of workers: tasks in flight are bounded, and lost workers are replaced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic

from crx.errors import ModelError
from crx_engines.pools.assignments import Assignments
from crx_engines.pools.job import Answer, Job, Task
from crx_engines.pools.transport import WorkerAnswer, WorkerLost, WorkerReady, WorkerTransport

# Workers lost in a row before they had loaded the model.
MAX_FAILED_STARTS = 3
# Workers that may be lost at the same item: the first loss may be an accident.
MAX_LOSSES = 3
# Seconds of one wait for workers; an interrupt ends it at once.
WAIT_S = 1.0


@dataclass(frozen=True, slots=True)
class TaskAnswer(Generic[Task, Answer]):
    """An answer to a task by a worker."""

    worker: int
    task: Task
    answer: Answer


@dataclass(frozen=True, slots=True)
class TaskLost(Generic[Task]):
    """So many workers were lost at the first suspect of a task that the pool has given it up."""

    task: Task
    why: str


class WorkerPool(Generic[Task, Answer]):
    """Up to `count` workers, each started when there is a task for it and given `ahead` of them.

    What a lost worker has not answered is given to others, as the job divides it.
    """

    def __init__(
        self,
        transport: WorkerTransport[Task, Answer],
        job: Job[Task, Answer],
        *,
        count: int,
        ahead: int,
    ) -> None:
        """`count` 0: as many as the transport has room for."""
        self._transport = transport
        self._job = job
        self._count = count or transport.capacity
        self._room = self._count * ahead
        self._assignments: Assignments[Task] = Assignments(ahead=ahead)
        self._losses: Counter[Hashable] = Counter()
        self._starting: set[int] = set()
        self._failed_starts = 0

    def __len__(self) -> int:
        """Return how many tasks are not finished."""
        return len(self._assignments)

    @property
    def host(self) -> str:
        """The host that texts are sent to."""
        return self._transport.host

    @property
    def is_full(self) -> bool:
        """Whether more tasks would only wait."""
        return len(self) >= self._room

    def close(self) -> None:
        """End all workers; what they have not finished is forgotten."""
        self._transport.close()

    def submit(self, task: Task) -> None:
        """Let a task wait for a worker."""
        self._assignments.submit(task)

    def submit_first(self, tasks: Sequence[Task]) -> None:
        """Let tasks wait for a worker, before all others."""
        self._assignments.submit_first(tasks)

    def advance(self, *, timeout_s: float) -> Iterator[TaskAnswer[Task, Answer] | TaskLost[Task]]:
        """Start workers, assign tasks, wait for the next events and yield those of tasks."""
        wanted = min(self._count, len(self))
        while self._assignments.workers + len(self._starting) < wanted:
            self._starting.add(self._transport.start())
        self._assign()
        for event in self._transport.receive(timeout_s=timeout_s):
            match event:
                case WorkerReady(worker):
                    self._starting.remove(worker)
                    self._failed_starts = 0
                    self._assignments.join(worker)
                case WorkerAnswer(worker, answer, last):
                    yield TaskAnswer(worker, self._take_answer(worker, answer, last=last), answer)
                case WorkerLost(worker, why) if worker in self._starting:
                    self._fail_start(worker, why)
                case WorkerLost(worker, why):
                    lost = self._assignments.lose(worker)
                    if lost is not None:
                        yield from self._retry(lost, why)
        self._assign()

    def _assign(self) -> None:
        while (assigned := self._assignments.assign()) is not None:
            self._transport.send(*assigned)

    def _take_answer(self, worker: int, answer: Answer, *, last: bool) -> Task:
        """Return the task that is answered; what remains of it stays with the worker."""
        if last:
            return self._assignments.finish(worker)
        task = self._assignments.first(worker)
        self._assignments.replace_first(worker, self._job.remaining(task, answer))
        return task

    def _retry(self, task: Task, why: str) -> Iterator[TaskLost[Task]]:
        suspects = self._job.suspects(task)
        self._losses.update(suspects)
        losses = self._losses[suspects[0]]
        if losses >= MAX_LOSSES:
            yield TaskLost(task, why)
        else:
            self.submit_first(self._job.divide(task, losses=losses))

    def _fail_start(self, worker: int, why: str) -> None:
        self._starting.remove(worker)
        self._failed_starts += 1
        if self._failed_starts >= MAX_FAILED_STARTS:
            raise ModelError(
                f"{MAX_FAILED_STARTS} workers in a row were lost while they loaded the model, "
                f"the last one {why}; take fewer --workers if memory is short"
            )
