"""The process of a local worker: it runs the tasks that it is sent until its input ends.

It answers `open` (the kind of job and what to load) with `ready`, or `refused` with the reason, and
each `run` with as many `answer`s as the task has, or `failed` with the reason.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from crx.errors import CrxError
from crx.ingest.worker.limits import end_with_parent
from crx.process.pipe import Message, Parent
from crx.workers.context_job import decode_context_job
from crx.workers.embedding_job import EmbeddingJob
from crx.workers.job import Job, JobWorker

_INPUT = 0


def main() -> None:
    """Serve on the standard streams."""
    end_with_parent(_INPUT)
    serve(Parent())
    os._exit(0)  # runtimes may crash while they unload, and there is nothing to save


def serve(parent: Parent) -> None:
    """Answer messages until the parent is gone."""
    opening = parent.receive()
    if opening is None:
        return
    job = _decode_job(opening["kind"], opening["job"])
    try:
        worker = job.load()
    except CrxError as why:
        parent.send({"op": "refused", "why": str(why)})
        return
    parent.send({"op": "ready"})
    while (message := parent.receive()) is not None:
        for reply in _run(job, worker, message):
            parent.send(reply)


def _decode_job(kind: str, message: Message) -> Job[Any, Any]:
    return EmbeddingJob(**message) if kind == "EmbeddingJob" else decode_context_job(message)


def _run(job: Job[Any, Any], worker: JobWorker[Any, Any], message: Message) -> Iterator[Message]:
    try:
        for answer in worker.run(job.decode_task(message["task"])):
            yield {"op": "answer", "answer": job.encode_answer(answer)}
    except CrxError as why:
        yield {"op": "failed", "why": str(why)}
