"""Opening of the pool of workers that the settings name."""

from __future__ import annotations

from crx.config.settings import refuse_offline
from crx.errors import Offline, UsageError
from crx.models.threads import thread_count
from crx.protocols import Embedder, Remote
from crx.remote.destination import Destination
from crx.workers.embedding_worker import WorkerModel
from crx.workers.local_processes import LocalProcesses
from crx.workers.pool import RemoteWorkerPool, WorkerPool
from crx.workers.ray_address import parse_ray_address


def open_pool(spec: str, embedder: Embedder, *, count: int, on: str) -> WorkerPool:
    """Return a pool of workers, none of which runs yet.

    `spec` is the specification of the embedder. The threads of this process are shared out among
    `count` local workers. `on` is the address of a Ray cluster, "" for this machine. Raises
    `UsageError` for an embedder on a server, which needs no workers, `SystemFailure` for a cluster
    that cannot be reached, and `Offline`.
    """
    if isinstance(embedder, Remote):
        raise UsageError(
            f"{spec}: is on a server, and workers load models of their own; set workers = 0"
        )
    model = WorkerModel(spec, embedder.fingerprint)
    if on:
        return _ray_pool(model, on, count=count, dimensions=embedder.dimensions)
    local = LocalProcesses(WorkerModel(spec, embedder.fingerprint, threads_of_each(count)))
    return WorkerPool(local, count=count, dimensions=embedder.dimensions)


def threads_of_each(count: int) -> int:
    """Return the number of threads of each of `count` workers, which share those of one process."""
    return max(1, thread_count() // count)


def _ray_pool(model: WorkerModel, on: str, *, count: int, dimensions: int) -> WorkerPool:
    address = parse_ray_address(on)
    if address.host and not Destination(address.host).is_local:
        refuse_offline(str(address))
    # Imported here: it is an extra, and takes seconds.
    from crx.workers.ray_actors import RayActors

    actors = RayActors(address, model)
    destination = Destination(actors.host)
    try:
        if not destination.is_local:
            refuse_offline(f"{address} with a node on {destination.host}")
    except Offline:
        actors.close()
        raise
    return RemoteWorkerPool(
        actors, count=count or actors.capacity, dimensions=dimensions, destination=destination
    )
