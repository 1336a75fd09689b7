"""Workers that are processes of this machine."""

from __future__ import annotations

import itertools
import os
import select
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic

from crx.errors import ModelError
from crx.workers.child import Child
from crx.workers.messages import ChildLost, Message
from crx.workers.supervisor import OUT_OF_TURN, ChildRefused, require_ready
from crx_engines.pools.job import Answer, Job, Task
from crx_engines.pools.transport import WorkerAnswer, WorkerEvent, WorkerLost, WorkerReady


@dataclass(slots=True)
class _TaskSent(Generic[Task]):
    """A task that a worker was sent, and how many of its answers are to come."""

    task: Task
    to_come: int


@dataclass(slots=True)
class _Process(Generic[Task]):
    """A worker's process, the tasks that it has not answered, and when it was heard of.

    `lost` is why nothing more could be sent, "" while something can.
    """

    child: Child
    heard: float = field(default_factory=time.monotonic)
    ready: bool = False
    unanswered: deque[_TaskSent[Task]] = field(default_factory=deque)
    lost: str = ""

    @property
    def chars(self) -> int:
        """Characters of the tasks that it has not answered."""
        return sum(each.task.chars for each in self.unanswered)

    @property
    def silence_s(self) -> float:
        """For how long the worker has had something to answer without a message."""
        busy = bool(self.unanswered) or not self.ready
        return time.monotonic() - self.heard if busy else 0.0


class LocalProcesses(Generic[Task, Answer]):
    """Workers in processes that end with this one."""

    def __init__(self, job: Job[Task, Answer]) -> None:
        self._job = job
        self._numbers = itertools.count()
        self._processes: dict[int, _Process[Task]] = {}

    @property
    def host(self) -> str:
        """This machine."""
        return "localhost"

    @property
    def capacity(self) -> int:
        """One worker for each processor."""
        return os.cpu_count() or 1

    def start(self) -> int:
        """Start a worker and return its number; raises `SystemFailure` if there is no process."""
        number = next(self._numbers)
        self._processes[number] = _Process(Child(self._job.command))
        self._send(number, {"op": "open", "job": self._job.encode()})
        return number

    def send(self, worker: int, task: Task) -> None:
        """Send a task to a worker that is ready."""
        process = self._processes[worker]
        if not process.unanswered:
            process.heard = time.monotonic()
        process.unanswered.append(_TaskSent(task, self._job.count_answers(task)))
        self._send(worker, {"op": "run", "task": self._job.encode_task(task)})

    def receive(self, *, timeout_s: float) -> Sequence[WorkerEvent[Answer]]:
        """Wait for the next events; empty after the timeout."""
        # What was read while something was sent is no longer in a pipe.
        events = self._take_events()
        if not events and self._processes:
            outputs = select.poll()
            for each in self._processes.values():
                outputs.register(each.child, select.POLLIN)
            outputs.poll(1000 * timeout_s)
            events = self._take_events()
        return events

    def close(self) -> None:
        """End all workers."""
        for each in self._processes.values():
            each.child.end()
        self._processes.clear()

    def _send(self, worker: int, message: Message) -> None:
        process = self._processes[worker]
        try:
            process.child.send(message, timeout_s=self._job.silent_s(process.chars))
        except ChildLost as lost:
            process.lost = str(lost)

    def _take_events(self) -> list[WorkerEvent[Answer]]:
        return [event for number in list(self._processes) for event in self._events_of(number)]

    def _events_of(self, number: int) -> Iterator[WorkerEvent[Answer]]:
        """Yield what a worker has told, and in the end that it is lost."""
        process = self._processes[number]
        try:
            for message in process.child.arrived():
                yield self._event(number, message)
            if process.lost:
                raise ChildLost(process.lost)
            silent_s = self._job.silent_s(process.chars)
            if process.silence_s > silent_s:
                raise ChildLost(f"silent for {silent_s:.0f} s")
        except ChildLost as lost:
            process.child.end()
            del self._processes[number]
            yield WorkerLost(number, str(lost))

    def _event(self, number: int, message: Message) -> WorkerEvent[Answer]:
        process = self._processes[number]
        process.heard = time.monotonic()
        if not process.ready:
            try:
                require_ready(message)
            except ChildRefused as refused:
                raise ModelError(str(refused)) from None
            process.ready = True
            return WorkerReady(number)
        match message:
            case {"op": "answer", "answer": dict(answer)} if process.unanswered:
                return self._answer(number, process.unanswered, answer)
            case {"op": "failed", "why": str(why)}:
                raise ModelError(why)
        raise ChildLost(OUT_OF_TURN)

    def _answer(
        self, number: int, unanswered: deque[_TaskSent[Task]], message: Message
    ) -> WorkerAnswer[Answer]:
        sent = unanswered[0]
        try:
            answer = self._job.decode_answer(message, sent.task)
        except (KeyError, TypeError, ValueError):
            raise ChildLost("an unreadable answer") from None
        sent.to_come -= 1
        if not sent.to_come:
            unanswered.popleft()
        return WorkerAnswer(number, answer, last=not sent.to_come)
