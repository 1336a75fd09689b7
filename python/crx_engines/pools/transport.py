"""The protocol of transports: where the workers of a pool run, and what they tell it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, runtime_checkable

from crx_engines.pools.job import Answer, TaskIn


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


@runtime_checkable
class WorkerTransport(Protocol[TaskIn, Answer]):
    """Starts workers and exchanges messages with them.

    A worker runs its tasks in the order in which they are sent.
    """

    @property
    def host(self) -> str:
        """The host that texts are sent to: "localhost" unless one is on another machine."""

    @property
    def capacity(self) -> int:
        """How many workers there is room for, at least 1."""

    def start(self) -> int:
        """Start a worker and return its number; `WorkerReady` or `WorkerLost` follows."""

    def send(self, worker: int, task: TaskIn) -> None:
        """Send a task to a worker that is ready; its failure is told by `receive`."""

    def receive(self, *, timeout_s: float) -> Sequence[WorkerEvent[Answer]]:
        """Wait for the next events; empty after the timeout. Raises `ModelError`."""

    def close(self) -> None:
        """End all workers."""
