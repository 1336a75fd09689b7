"""Opening of the pools of workers that the settings and the options name."""

from __future__ import annotations

from collections.abc import Sequence

from crx.config.settings import refuse_offline
from crx.context.prompt import Prompt
from crx.context.routing import ContextRouter
from crx.errors import Offline, UsageError
from crx.models.threads import thread_count
from crx.protocols import Embedder, Remote
from crx.registry import is_context_file
from crx.remote.destination import Destination
from crx.workers.context_job import ContextJob
from crx.workers.context_workers import DOCUMENTS_AHEAD, ContextWorkers, RemoteContextWorkers
from crx.workers.embedding_job import EmbeddingJob
from crx.workers.embedding_workers import BATCHES_AHEAD, EmbeddingWorkers, RemoteEmbeddingWorkers
from crx.workers.job import Answer, Job, Task
from crx.workers.local_processes import LocalProcesses
from crx.workers.pool import WorkerPool
from crx.workers.ray_address import parse_ray_address


def open_embedding_workers(
    spec: str, embedder: Embedder, *, count: int, on: str
) -> EmbeddingWorkers:
    """Return workers that embed, none of which runs yet.

    `spec` is the specification of the embedder. The threads of this process are shared out among
    `count` local workers. `on` is the address of a Ray cluster, "" for this machine. Raises
    `UsageError` for an embedder on a server, which needs no workers, `SystemFailure` for a cluster
    that cannot be reached, and `Offline`.
    """
    if isinstance(embedder, Remote):
        raise UsageError(
            f"{spec}: is on a server, and workers load models of their own; set workers = 0"
        )
    job = EmbeddingJob(spec, embedder.fingerprint)
    dimensions = embedder.dimensions
    if not on:
        return EmbeddingWorkers(_local(job, count, BATCHES_AHEAD), dimensions=dimensions)
    pool, destination = _on_ray(job, on, count=count, ahead=BATCHES_AHEAD)
    return RemoteEmbeddingWorkers(pool, dimensions=dimensions, destination=destination)


def open_context_workers(
    source: object, router: ContextRouter, prompts: Sequence[Prompt | None], *, count: int, on: str
) -> ContextWorkers:
    """Return workers that write contexts, none of which runs yet.

    `source` is the specification of the contextualizers of `router`, and `prompts` are theirs.
    Raises `UsageError` for a source that workers cannot load, or that needs none, and otherwise as
    `open_embedding_workers`.
    """
    if count < 0:
        raise UsageError(f"workers = {count}: must be 0 or more")
    if not isinstance(source, str):
        raise UsageError(
            f"{router.general.fingerprint}: workers load a model by its specification, such as "
            "llama:PATH; give that, or no workers"
        )
    if is_context_file(source):
        raise UsageError(f"{source}: is a file of contexts, which needs no workers")
    if isinstance(router.general, Remote):
        raise UsageError(
            f"{source}: is on a server, which is sent several requests at once without workers"
        )
    job = ContextJob(
        source, tuple(prompts), tuple(each.fingerprint for each in router.contextualizers)
    )
    if not on:
        return ContextWorkers(_local(job, count, DOCUMENTS_AHEAD))
    pool, destination = _on_ray(job, on, count=count, ahead=DOCUMENTS_AHEAD)
    return RemoteContextWorkers(pool, destination=destination)


def threads_of_each(count: int) -> int:
    """Return the number of threads of each of `count` workers, which share those of one process."""
    return max(1, thread_count() // count)


def _local(job: Job[Task, Answer], count: int, ahead: int) -> WorkerPool[Task, Answer]:
    processes = LocalProcesses(job.with_threads(threads_of_each(count)))
    return WorkerPool(processes, count=count, ahead=ahead)


def _on_ray(
    job: Job[Task, Answer], on: str, *, count: int, ahead: int
) -> tuple[WorkerPool[Task, Answer], Destination]:
    """Return workers on a cluster, and one of its hosts."""
    address = parse_ray_address(on)
    if address.host and not Destination(address.host).is_local:
        refuse_offline(str(address))
    # Imported here: it is an extra, and takes seconds.
    from crx.workers.ray_actors import RayActors

    actors = RayActors(address, job)
    destination = Destination(actors.host)
    try:
        if not destination.is_local:
            refuse_offline(f"{address} with a node on {destination.host}")
    except Offline:
        actors.close()
        raise
    return WorkerPool(actors, count=count or actors.capacity, ahead=ahead), destination
