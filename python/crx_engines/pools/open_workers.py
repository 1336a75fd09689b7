"""Opening of the workers that the settings and the options name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from crx import context_registry, plugins
from crx._context.sources import ContextRouter
from crx._services.destination import Destination
from crx._services.prompt import Prompt
from crx.config.settings import refuse_offline
from crx.errors import Offline, UsageError
from crx.protocols import Closeable, Embedder, Remote
from crx.thread_count import thread_count
from crx_engines.pools.contexts import DOCUMENTS_AHEAD, ContextJob, ContextWorkers
from crx_engines.pools.embedding import BATCHES_AHEAD, EmbeddingJob, EmbeddingWorkers
from crx_engines.pools.job import Answer, Job, Task
from crx_engines.pools.local_processes import LocalProcesses
from crx_engines.pools.pool import WorkerPool
from crx_engines.pools.transport import WorkerTransport

# The entry points that open a transport: named by the scheme of its address, called with the
# address and the job, they return a `WorkerTransport`.
TRANSPORTS = "crx.workers"


@contextlib.contextmanager
def open_embedding_workers(
    spec: str, embedder: Embedder, *, count: int, on: str
) -> Iterator[EmbeddingWorkers]:
    """Yield workers that embed, none of which runs yet, and end them.

    `spec` is the specification of the embedder. The threads of this process are shared out among
    `count` local workers. `on` is the address of a transport, "" for processes of this machine.
    Raises `UsageError` for an embedder on a server, which needs no workers, and for an address that
    no installed package opens, `SystemFailure` for a cluster that cannot be reached, and `Offline`.
    """
    if isinstance(embedder, Remote):
        raise UsageError(
            f"{spec}: is on a server, and workers load models of their own; set workers = 0"
        )
    job = EmbeddingJob(spec, embedder.fingerprint)
    with _open_pool(job, on, count=count, ahead=BATCHES_AHEAD) as pool:
        yield EmbeddingWorkers(pool, dimensions=embedder.dimensions)


@contextlib.contextmanager
def open_context_workers(
    source: object, router: ContextRouter, prompts: Sequence[Prompt | None], *, count: int, on: str
) -> Iterator[ContextWorkers]:
    """Yield workers that write contexts, none of which runs yet, and end them.

    `source` is the specification of the contextualizers of `router`, and `prompts` are theirs. The
    model that was loaded for its fingerprint is freed; it is loaded again if it is used after all.
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
    if context_registry.is_context_file(source):
        raise UsageError(f"{source}: is a file of contexts, which needs no workers")
    if isinstance(router.general, Remote):
        raise UsageError(
            f"{source}: is on a server, which is sent several requests at once without workers"
        )
    job = ContextJob(
        source, tuple(prompts), tuple(each.fingerprint for each in router.contextualizers)
    )
    with _open_pool(job, on, count=count, ahead=DOCUMENTS_AHEAD) as pool:
        if isinstance(router.general, Closeable):
            router.general.close()
        yield ContextWorkers(pool)


def threads_of_each(count: int) -> int:
    """Return the number of threads of each of `count` workers, which share those of one process."""
    return max(1, thread_count() // count)


@contextlib.contextmanager
def _open_pool(
    job: Job[Task, Answer], on: str, *, count: int, ahead: int
) -> Iterator[WorkerPool[Task, Answer]]:
    """Yield a pool of workers and end them; `count` 0: as many as there is room for."""
    if on:
        transport = _open_remote(job, on)
    else:
        transport = LocalProcesses(job.with_threads(threads_of_each(count)))
    with contextlib.closing(WorkerPool(transport, job, count=count, ahead=ahead)) as pool:
        yield pool


def _open_remote(job: Job[Task, Answer], address: str) -> WorkerTransport[Task, Answer]:
    """Return the transport of an address; raise `Offline` if it leads to another machine."""
    shown, _, _ = address.partition("?")
    host = _host_of(address)
    if host and not Destination(host).is_local:
        refuse_offline(shown)
    scheme = plugins.scheme_of(address) or shown
    transport = plugins.load_for_scheme(TRANSPORTS, scheme, shown=shown)(address, job)
    if not isinstance(transport, WorkerTransport):
        found = type(transport).__name__
        raise UsageError(
            f'{shown}: the plugin "{scheme}" returned {found}, which is not a WorkerTransport'
        )
    try:
        if not Destination(transport.host).is_local:
            refuse_offline(f"{shown} with a node on {transport.host}")
    except Offline:
        transport.close()
        raise
    return transport


def _host_of(address: str) -> str:
    """Return the host of an address, "" if it has none or is none."""
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""  # what opens the address says what is wrong with it
