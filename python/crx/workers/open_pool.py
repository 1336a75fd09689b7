"""Opening of the pool of workers that the settings name."""

from __future__ import annotations

from crx.errors import UsageError
from crx.models.threads import thread_count
from crx.protocols import Embedder, Remote
from crx.workers.embedding_worker import WorkerModel
from crx.workers.local_processes import LocalProcesses
from crx.workers.pool import WorkerPool


def open_pool(spec: str, embedder: Embedder, *, count: int) -> WorkerPool:
    """Return a pool of workers, none of which runs yet.

    `spec` is the specification of the embedder. The threads of this process are shared out among
    `count` local workers. Raises `UsageError` for an embedder on a server, which needs no workers.
    """
    if isinstance(embedder, Remote):
        raise UsageError(
            f"{spec}: is on a server, and workers load models of their own; set workers = 0"
        )
    model = WorkerModel(spec, embedder.fingerprint, threads_of_each(count))
    return WorkerPool(LocalProcesses(model), count=count, dimensions=embedder.dimensions)


def threads_of_each(count: int) -> int:
    """Return the number of threads of each of `count` workers, which share those of one process."""
    return max(1, thread_count() // count)
