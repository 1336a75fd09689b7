"""A pool of workers: tasks in flight are bounded, and lost workers are replaced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol

from crx.errors import ModelError
from crx.workers.assignments import Assignments
from crx.workers.job import Answer, Task, TaskIn

# Workers lost in a row before they had loaded the model.
MAX_FAILED_STARTS = 3
# Workers that may be lost at the same text: the first loss may be an accident.
MAX_LOSSES = 3
# Seconds of one wait for workers; an interrupt ends it at once.
WAIT_S = 1.0


@dataclass(frozen=True, slots=True)
class WorkerReady:
    """A worker has loaded its model."""

    worker: int


@dataclass(frozen=True, slots=True)
class WorkerAnswer(Generic[Answer]):
    """A worker has answered the first of its tasks; `last` if the task has no more answers."""

    worker: int
    answer: Answer
    last: bool


@dataclass(frozen=True, slots=True)
class WorkerLost:
    """A worker is gone; `why` continues a sentence about it."""

    worker: int
    why: str


WorkerEvent = WorkerReady | WorkerAnswer[Answer] | WorkerLost


class WorkerTransport(Protocol[TaskIn, Answer]):
    """Starts workers and exchanges messages with them."""

    def start(self) -> int:
        """Start a worker and return its number; `WorkerReady` or `WorkerLost` follows."""
        ...

    def send(self, worker: int, task: TaskIn) -> None:
        """Send a task to a worker that is ready; its failure is told by `receive`."""
        ...

    def receive(self, *, timeout_s: float) -> Sequence[WorkerEvent[Answer]]:
        """Wait for the next events; empty after the timeout. Raises `ModelError`."""
        ...

    def close(self) -> None:
        """End all workers."""
        ...


@dataclass(frozen=True, slots=True)
class TaskAnswer(Generic[Task, Answer]):
    """An answer to a task by a worker."""

    worker: int
    task: Task
    answer: Answer


@dataclass(frozen=True, slots=True)
class TaskLost(Generic[Task]):
    """A worker was lost at this task, which is no longer in the pool."""

    task: Task
    why: str


class WorkerPool(Generic[Task, Answer]):
    """Up to `count` workers, each started when there is a task for it and given `ahead` of them."""

    def __init__(self, transport: WorkerTransport[Task, Answer], *, count: int, ahead: int) -> None:
        self._transport = transport
        self._count = count
        self._room = count * ahead
        self._assignments: Assignments[Task] = Assignments(ahead=ahead)
        self._starting: set[int] = set()
        self._failed_starts = 0

    def __len__(self) -> int:
        """Return how many tasks are not finished."""
        return len(self._assignments)

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
                    assignments = self._assignments
                    task = assignments.finish(worker) if last else assignments.first(worker)
                    yield TaskAnswer(worker, task, answer)
                case WorkerLost(worker, why) if worker in self._starting:
                    self._fail_start(worker, why)
                case WorkerLost(worker, why):
                    lost = self._assignments.lose(worker)
                    if lost is not None:
                        yield TaskLost(lost, why)
        self._assign()

    def _assign(self) -> None:
        while (assigned := self._assignments.assign()) is not None:
            self._transport.send(*assigned)

    def _fail_start(self, worker: int, why: str) -> None:
        self._starting.remove(worker)
        self._failed_starts += 1
        if self._failed_starts >= MAX_FAILED_STARTS:
            raise ModelError(
                f"{MAX_FAILED_STARTS} workers in a row were lost while they loaded the model, "
                f"the last one {why}; take fewer --workers if memory is short"
            )
