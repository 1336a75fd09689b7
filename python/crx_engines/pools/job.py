"""Jobs of a pool: what its workers load, how tasks are passed, and how they are divided.

Every transport runs the same jobs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from crx.errors import CrxError
from crx.workers.messages import Message
from crx.workers.parent import Parent, run_child

# Numbers of threads of the libraries that models run on, which they read when they are loaded.
_THREADS = ("CRX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")


class Sized(Protocol):
    """A task with a text."""

    @property
    def chars(self) -> int:
        """Characters of the text."""


Task = TypeVar("Task", bound=Sized)
Answer = TypeVar("Answer")
TaskIn = TypeVar("TaskIn", bound=Sized, contravariant=True)
AnswerOut = TypeVar("AnswerOut", covariant=True)


class JobWorker(Protocol[TaskIn, AnswerOut]):
    """A model in a process of its own."""

    def run(self, task: TaskIn) -> Iterator[AnswerOut]:
        """Yield the answers to a task, each as soon as it is known; raises `ModelError`."""


class Job(Protocol[Task, Answer]):
    """What the workers of a pool do. A job is sent to each worker, which loads a model for it.

    A task consists of items, such as the chunks of a document.
    """

    @property
    def command(self) -> Sequence[str]:
        """The command of a process that calls `serve_job`."""

    def with_threads(self, threads: int) -> Job[Task, Answer]:
        """Return the job for workers of so many threads."""

    def load(self) -> JobWorker[Task, Answer]:
        """Load the model; raises `ModelError`, and `Incompatible` for another model."""

    def count_answers(self, task: Task) -> int:
        """Return how many answers a task has."""

    def silent_s(self, chars: int) -> float:
        """Return for how many seconds a worker with so much text may be silent."""

    def remaining(self, task: Task, answer: Answer) -> Task:
        """Return a task without the items that an answer is about."""

    def suspects(self, task: Task) -> Sequence[Hashable]:
        """Return the items at which a worker with this task may have been lost, at least one."""

    def divide(self, task: Task, *, losses: int) -> Sequence[Task]:
        """Return what other workers are given after so many losses at the first suspect."""

    def encode(self) -> Message:
        """Return the job as an object of JSON."""

    def encode_task(self, task: Task) -> Message:
        """Return a task as an object of JSON."""

    def decode_task(self, message: Message) -> Task:
        """Return the task of an object."""

    def encode_answer(self, answer: Answer) -> Message:
        """Return an answer as an object of JSON."""

    def decode_answer(self, message: Message, task: Task) -> Answer:
        """Return the answer of an object; raises `ValueError`, `KeyError` or `TypeError`."""


def use_threads(threads: int) -> None:
    """Have the libraries that are loaded from now on use so many threads."""
    os.environ.update(dict.fromkeys(_THREADS, str(threads)))


def serve_job(decode: Callable[[Message], Job[Any, Any]]) -> None:
    """Serve as a worker: run tasks of the job that `decode` returns until the input ends.

    The worker answers `open` with `ready`, or `refused` and the reason, and each `run` with as many
    `answer`s as the task has, or `failed` and the reason.
    """

    def serve(parent: Parent) -> None:
        opening = parent.receive()
        if opening is None:
            return
        job = decode(opening["job"])
        try:
            worker = job.load()
        except CrxError as why:
            parent.send({"op": "refused", "why": str(why)})
            return
        parent.send({"op": "ready"})
        while (message := parent.receive()) is not None:
            for reply in _run(job, worker, message):
                parent.send(reply)

    run_child(serve)


def _run(job: Job[Any, Any], worker: JobWorker[Any, Any], message: Message) -> Iterator[Message]:
    try:
        for answer in worker.run(job.decode_task(message["task"])):
            yield {"op": "answer", "answer": job.encode_answer(answer)}
    except CrxError as why:
        yield {"op": "failed", "why": str(why)}
