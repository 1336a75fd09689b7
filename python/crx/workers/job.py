"""Jobs of workers: what a worker loads, and the form of its tasks and answers in a pipe.

Local processes and actors of Ray run the same jobs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Protocol, TypeVar

from crx.process.pipe import Message

# Numbers of threads of the libraries that models run on, which they read when they are loaded.
_THREADS = ("CRX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")


class Sized(Protocol):
    """A task with a text."""

    @property
    def chars(self) -> int:
        """Characters of the text."""
        ...


Task = TypeVar("Task", bound=Sized)
Answer = TypeVar("Answer")
TaskIn = TypeVar("TaskIn", bound=Sized, contravariant=True)
AnswerOut = TypeVar("AnswerOut", covariant=True)


class JobWorker(Protocol[TaskIn, AnswerOut]):
    """A model in a process of its own."""

    def run(self, task: TaskIn) -> Iterator[AnswerOut]:
        """Yield the answers to a task, each as soon as it is known; raises `ModelError`."""
        ...


class Job(Protocol[Task, Answer]):
    """What the workers of a pool do. A job is sent to each worker, which loads a model for it."""

    def with_threads(self, threads: int) -> Job[Task, Answer]:
        """Return the job for workers of so many threads."""
        ...

    def load(self) -> JobWorker[Task, Answer]:
        """Load the model; raises `ModelError`, and `Incompatible` for another model."""
        ...

    def count_answers(self, task: Task) -> int:
        """Return how many answers a task has."""
        ...

    def silent_s(self, chars: int) -> float:
        """Return for how many seconds a worker with so much text may be silent."""
        ...

    def encode(self) -> Message:
        """Return the job as an object of JSON."""
        ...

    def encode_task(self, task: Task) -> Message:
        """Return a task as an object of JSON."""
        ...

    def decode_task(self, message: Message) -> Task:
        """Return the task of an object."""
        ...

    def encode_answer(self, answer: Answer) -> Message:
        """Return an answer as an object of JSON."""
        ...

    def decode_answer(self, message: Message, task: Task) -> Answer:
        """Return the answer of an object; raises `ValueError`, `KeyError` or `TypeError`."""
        ...


def use_threads(threads: int) -> None:
    """Have the libraries that are loaded from now on use so many threads."""
    os.environ.update(dict.fromkeys(_THREADS, str(threads)))
