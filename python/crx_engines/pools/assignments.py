"""Which worker has which tasks."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Generic

from crx_engines.pools.job import Task

# Characters of text that a worker is given ahead: they fit into a pipe.
CHARS_AHEAD = 200_000


class Assignments(Generic[Task]):
    """The tasks of a run that are not finished. A worker finishes its own in their order.

    A worker is given up to `ahead` tasks.
    """

    def __init__(self, *, ahead: int) -> None:
        self._ahead = ahead
        self._waiting: deque[Task] = deque()
        self._assigned: dict[int, deque[Task]] = {}

    def __len__(self) -> int:
        """Return how many tasks are not finished."""
        return len(self._waiting) + sum(map(len, self._assigned.values()))

    @property
    def workers(self) -> int:
        """How many workers can be assigned to."""
        return len(self._assigned)

    def submit(self, task: Task) -> None:
        """Let a task wait for a worker."""
        self._waiting.append(task)

    def submit_first(self, tasks: Sequence[Task]) -> None:
        """Let tasks wait for a worker, before all others."""
        self._waiting.extendleft(reversed(tasks))

    def join(self, worker: int) -> None:
        """Let a worker be assigned to."""
        self._assigned[worker] = deque()

    def assign(self) -> tuple[int, Task] | None:
        """Assign the next task to the worker with the least text; None if all have enough."""
        if not self._waiting or not self._assigned:
            return None
        chars = {worker: self.chars(worker) for worker in self._assigned}
        worker = min(chars, key=lambda each: (chars[each], each))
        task, tasks = self._waiting[0], self._assigned[worker]
        if tasks and (len(tasks) >= self._ahead or chars[worker] + task.chars > CHARS_AHEAD):
            return None
        tasks.append(self._waiting.popleft())
        return worker, task

    def chars(self, worker: int) -> int:
        """Return how much text a worker has."""
        return sum(task.chars for task in self._assigned[worker])

    def first(self, worker: int) -> Task:
        """Return the task that a worker works on: the one that it was assigned first."""
        return self._assigned[worker][0]

    def replace_first(self, worker: int, task: Task) -> None:
        """Put a task instead of the one that a worker works on: what remains of it."""
        self._assigned[worker][0] = task

    def finish(self, worker: int) -> Task:
        """Take the task that a worker has finished: the one that it was assigned first."""
        return self._assigned[worker].popleft()

    def lose(self, worker: int) -> Task | None:
        """Return the task that a lost worker worked on; those that it had ahead wait again."""
        tasks = list(self._assigned.pop(worker, ()))
        self.submit_first(tasks[1:])
        return tasks[0] if tasks else None
