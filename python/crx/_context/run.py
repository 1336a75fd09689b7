"""Run of a contextualizer over an index: find what is missing, ask, store, embed.

The index stays searchable. Each finished chunk is one durable step, so a run that is killed loses
only the chunks in flight, and the next run continues with what is left.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace

from crx import _native
from crx._context.archive import ArchivedContext, ContextArchive
from crx._context.cache import CachedContext, context_keys, find, store_context
from crx._context.controls import refuse_controls
from crx._context.documents import (
    ContextPool,
    DocumentTask,
    PendingDocument,
    estimate_need,
    group_documents,
    link_context,
    load_document,
    to_chunk,
)
from crx._context.records import Record, hash_of, name_kind
from crx._context.report import ContextProgress, ContextReport, OutcomeCounts, compute_coverage
from crx._context.sources import ContextRouter, ContextSources
from crx._services.compute_usage import ComputeUsage
from crx._services.pending_jobs import PendingJobs
from crx._services.service_usage import ServiceUsage
from crx.deadline import check_deadline, deadline, seconds_left
from crx.errors import BudgetSpent, ModelError, UsageError
from crx.ingest.embedding_pool import EmbeddingPool
from crx.ingest.indexer import Indexer
from crx.protocols import (
    Annotated,
    BatchContextualizer,
    Contextualizer,
    Embedder,
    Metered,
    Notifying,
    Remote,
    Resumable,
)
from crx.sending import sending_notice, text_bytes
from crx.types import Chunk, Context, Document

# Seconds after which new contexts are embedded and become searchable while a run goes on.
PUBLISH_SECONDS = 20.0
# The share of the budget's rest after which they do: little is left to embed at its end, although
# embedding a context may take three times as long as writing it.
_PUBLISH_SHARE = 0.2
# A run whose first contexts are mostly rejected stops: these many, more than this share of them.
_TRIAL_CHUNKS = 50
_MAX_REJECTED = 0.5
# Missing contexts in one group of documents for a contextualizer that takes several documents.
GROUP_CHUNKS = 4000


@dataclass(frozen=True, slots=True)
class _ContextRequest:
    """A document whose contexts are asked for: its chunks, and the key of each one's context."""

    document: Document
    rows: Sequence[_native.ChunkRow]
    keys: Sequence[bytes]
    missing: Sequence[int]

    @property
    def chunks(self) -> list[Chunk]:
        """The chunks that lack a context."""
        return [to_chunk(self.rows[i]) for i in self.missing]


class ContextRun:
    """One run that gives the chunks of a store contexts; the caller holds the writer's lock.

    `seconds` is its budget, from `began` on, a time of `time.monotonic`, or from the first request.
    `max_rejected` is the share of the first `_TRIAL_CHUNKS` contexts above which the run stops.
    With `retry_rejected`, contexts that were rejected in earlier runs are asked for again.
    `archive` gets each context that was stored, and those of earlier runs that it lacks. `workers`
    write the contexts, with the contextualizers of `router`, and `embedding_workers` embed them;
    without them this process does.
    Raises `UsageError` if a time limit is given and a contextualizer submits remote batch jobs,
    which cannot be stopped after a time.
    """

    def __init__(
        self,
        store: _native.Store,
        *,
        embedder: Embedder,
        router: ContextRouter,
        seconds: float = math.inf,
        began: float | None = None,
        max_rejected: float = _MAX_REJECTED,
        retry_rejected: bool = False,
        archive: ContextArchive | None = None,
        workers: ContextPool | None = None,
        embedding_workers: EmbeddingPool | None = None,
        on_progress: Callable[[ContextProgress], None] | None = None,
        on_commit: Callable[[], None] | None = None,
        on_notice: Callable[[str], None] | None = None,
    ) -> None:
        if seconds < math.inf and _has_remote_jobs(router):
            raise UsageError("a batch cannot be stopped after a time; give dollars, such as '$2'")
        self._store = store
        self._embedder = embedder
        self._router = router
        self._seconds = seconds
        self._began = began
        self._max_rejected = max_rejected
        self._retry_rejected = retry_rejected
        self._archive = archive
        self._workers = workers
        self._on_progress = on_progress
        self._on_commit = on_commit or (lambda: None)
        self._on_notice = on_notice or (lambda notice: None)
        self._notice = ""
        self._usage_before = self._usage
        self._progress = ContextProgress()
        self._made: dict[str, int] = {}
        self._kept: Counter[str] = Counter()
        self._indexer = Indexer(
            store,
            embedder=embedder,
            situator=ContextSources(outline=False),
            workers=embedding_workers,
            on_progress=lambda progress: self._report(embedded=progress.embedded),
            on_commit=on_commit,
            on_notice=on_notice if embedding_workers is not None else None,
        )

    def run(self) -> ContextReport:
        """Make the missing contexts, those of the neediest documents first.

        A budget that is spent ends the run and is reported. Raises `ModelError` if the model
        cannot continue, or if most of its first contexts are rejected, after everything it made has
        become searchable.
        """
        started = time.monotonic()
        for contextualizer in self._router.contextualizers:
            if isinstance(contextualizer, Notifying):
                contextualizer.notify(self._on_notice)
        pending = self._survey()
        self._begun = self._published = time.monotonic()
        stopped = ""
        try:
            with self._pending_jobs(), deadline(self._seconds, began=self._began):
                self._contextualize(pending)
        except BudgetSpent as spent:
            stopped = str(spent)
        except ModelError:
            self._publish()
            raise
        self._publish()
        stats = self._store.stats()
        return ContextReport(
            made=dict(self._made),
            kept=dict(self._kept),
            embedded=self._indexer.report.embedded,
            coverage=compute_coverage(stats),
            chunks=stats["chunks"],
            seconds=time.monotonic() - started,
            stopped=stopped,
            usage=self._service_usage,
            notes=self._notes(),
        )

    @property
    def _usage(self) -> ComputeUsage | ServiceUsage | None:
        """What the contextualizer or its workers counted so far."""
        return self._workers.usage if self._workers is not None else _usage(self._router.general)

    @property
    def _service_usage(self) -> ServiceUsage | None:
        """What a metered service counted since the run began."""
        return _usage_since(self._usage_before, self._usage)

    @contextlib.contextmanager
    def _pending_jobs(self) -> Generator[None, None, None]:
        """Have remote jobs recorded in the index; forget them once all contexts are stored."""
        jobs: list[tuple[Resumable, PendingJobs]] = []
        for contextualizer in self._router.contextualizers:
            if isinstance(contextualizer, Resumable):
                jobs.append((contextualizer, PendingJobs(self._store, contextualizer.fingerprint)))
        for resumable, recorded in jobs:
            resumable.resume(recorded)
        try:
            yield
            for _, recorded in jobs:
                recorded.clear()
        finally:
            for resumable, _ in jobs:
                resumable.resume(None)

    def _notes(self) -> tuple[str, ...]:
        """Return the notice, the contextualizer's remarks, and folders with an unused prompt."""
        general = self._router.general
        notes: tuple[str, ...] = (self._notice,) if self._notice else ()
        notes += general.notes if isinstance(general, Annotated) else ()
        uris = [row.uri for row in self._store.documents()]
        return notes + tuple(
            f"{folder}: no document lies in it; its prompt was not used"
            for folder in self._router.unused(uris)
        )

    def _survey(self) -> list[PendingDocument]:
        """Link contexts that are stored already; return the rest, the neediest documents first."""
        pending = []
        n_bytes = 0
        for row in self._store.documents():
            document, rows = load_document(self._store, row)
            chunks = [to_chunk(each) for each in rows]
            origin = self._router.origin_for(row.uri)
            cached = find(self._store, document, chunks, origin=origin)
            for each, known in zip(rows, cached, strict=True):
                if known is not None:
                    self._link(each, known.key, known.context)
                    self._archive_context(document, each, known.key, known.context)
            missing = tuple(i for i, known in enumerate(cached) if self._is_missing(known))
            kept = (each for each in cached if each and not self._is_missing(each))
            self._kept.update(each.context.outcome for each in kept)
            if missing:
                need = estimate_need([chunk.text for chunk in chunks])
                pending.append(PendingDocument(row, missing, need))
                n_bytes += text_bytes(document.text)
        self._announce(pending, n_bytes)
        self._report(total=sum(len(document.missing) for document in pending))
        return sorted(pending, key=lambda each: (-each.need, each.row.uri))

    def _is_missing(self, known: CachedContext | None) -> bool:
        is_rejected = known is not None and known.context.status == "rejected"
        return known is None or (is_rejected and self._retry_rejected)

    def _announce(self, pending: Sequence[PendingDocument], n_bytes: int) -> None:
        """Announce what will be sent off this machine, before the first request."""
        if not pending:
            return
        chunks = sum(len(document.missing) for document in pending)
        what = {"document": len(pending), "chunk": chunks}
        receiver = self._workers if isinstance(self._workers, Remote) else self._router.general
        self._notice = sending_notice(receiver, what, n_bytes=n_bytes)
        if self._notice:
            self._on_notice(self._notice)

    def _contextualize(self, pending: Sequence[PendingDocument]) -> None:
        """Make and store the contexts that documents lack."""
        situated = self._situate_here(pending)
        if self._workers is not None:
            situated = self._workers.situate(map(self._task, pending))
        with contextlib.closing(situated) as contexts:
            for request, nth, context in contexts:
                ordinal = request.missing[nth]
                self._store_context(request, ordinal, refuse_controls(context))
                check_deadline()

    def _request(self, pending: PendingDocument) -> _ContextRequest:
        document, rows = load_document(self._store, pending.row)
        chunks = [to_chunk(row) for row in rows]
        keys = context_keys(document, chunks, origin=self._router.origin_for(document.uri))
        return _ContextRequest(document, rows, keys, pending.missing)

    def _task(self, pending: PendingDocument) -> tuple[_ContextRequest, DocumentTask]:
        """Return what is asked for a document, and the form of it that a worker is given."""
        request = self._request(pending)
        chunks = dict(enumerate(request.chunks))
        at = self._router.position(request.document.uri)
        return request, DocumentTask(request.document, chunks, at)

    def _situate_here(
        self, pending: Sequence[PendingDocument]
    ) -> Generator[tuple[_ContextRequest, int, Context], None, None]:
        """Yield (request, position among its missing chunks, context), as they come."""
        size = GROUP_CHUNKS if isinstance(self._router.general, BatchContextualizer) else 1
        for group in group_documents(pending, size):
            yield from self._situate([self._request(member) for member in group])

    def _situate(
        self, requests: Sequence[_ContextRequest]
    ) -> Generator[tuple[_ContextRequest, int, Context], None, None]:
        """Yield (request, position among its missing chunks, context) of a group of documents.

        Documents of one contextualizer are given to it together if it takes several.
        """
        routed: dict[int, list[_ContextRequest]] = {}
        for request in requests:
            contextualizer = self._router.contextualizer_for(request.document.uri)
            routed.setdefault(id(contextualizer), []).append(request)
        for alike in routed.values():
            contextualizer = self._router.contextualizer_for(alike[0].document.uri)
            if isinstance(contextualizer, BatchContextualizer):
                asked = [(request.document, request.chunks) for request in alike]
                for i, nth, context in contextualizer.situate_many(asked):
                    yield alike[i], nth, context
                continue
            for request in alike:
                contexts = contextualizer.situate(request.document, request.chunks)
                for nth, context in enumerate(contexts):
                    yield request, nth, context

    def _store_context(self, request: _ContextRequest, ordinal: int, context: Context) -> None:
        """Make the context of a chunk durable; publish what is new from time to time."""
        row = request.rows[ordinal]
        generator = self._router.origin_for(row.uri).fingerprint
        key = store_context(
            self._store, request.keys[ordinal], generator=generator, context=context
        )
        self._link(row, key, context)
        self._archive_context(request.document, row, key, context)
        self._made[context.outcome] = self._made.get(context.outcome, 0) + 1
        elapsed = max(time.monotonic() - self._begun, 1e-9)
        done = self._progress.done + 1
        self._report(
            done=done,
            per_second=done / elapsed,
            seconds_left=elapsed / done * (self._progress.total - done),
            tokens_reused=_tokens_reused(self._usage),
            uri=row.uri,
            usage=self._service_usage,
        )
        if done == self._trial_chunks and not _has_remote_jobs(self._router):
            self._refuse_unfit_model()
        publish_after_s = min(PUBLISH_SECONDS, _PUBLISH_SHARE * seconds_left())
        if time.monotonic() - self._published > publish_after_s:
            self._publish()

    def _archive_context(
        self, document: Document, row: _native.ChunkRow, key: bytes, context: Context
    ) -> None:
        """Append a context that is stored to the archive."""
        if self._archive is None:
            return
        origin = self._router.origin_for(document.uri)
        record = Record(
            document=document.uri,
            start=row.start,
            end=row.end,
            context=context.text,
            generator=origin.fingerprint,
            named_by=name_kind(document),
            sha256=hash_of(row.text),
        )
        self._archive.add(ArchivedContext(record, key, context.outcome, origin.refresh))

    @property
    def _trial_chunks(self) -> int:
        """The contexts of this run after which it is judged, with those of a killed run."""
        reused = sum(self._kept.values())
        return _TRIAL_CHUNKS - reused if reused < _TRIAL_CHUNKS else _TRIAL_CHUNKS

    def _refuse_unfit_model(self) -> None:
        """Raise `ModelError` if most contexts so far were rejected, those of earlier runs included.

        Batches are exempt: all of their answers are paid for.
        """
        outcomes = OutcomeCounts.from_made(self._kept + Counter(self._made))
        if outcomes.count("rejected") > self._max_rejected * outcomes.total:
            raise ModelError(
                f"{self._router.general.fingerprint.split()[0]}: this model is not up to the task: "
                f"{outcomes.describe_rejected()}; use a larger instruct model, or the outline alone"
            )

    def _link(self, row: _native.ChunkRow, key: bytes, context: Context) -> None:
        """Give a chunk a context; one without text does not replace one that has text."""
        if context.text or not row.context:
            link_context(self._store, row, key, context, embedder=self._embedder)

    def _publish(self) -> None:
        """Embed the chunks with new contexts and bring both search legs up to date."""
        self._indexer.embed()
        self._on_commit()
        if self._archive is not None:
            self._archive.sync()
        self._published = time.monotonic()

    def _report(self, **now: float | str | ServiceUsage | None) -> None:
        self._progress = replace(self._progress, **now)  # type: ignore[arg-type]
        if self._on_progress is not None:
            self._on_progress(self._progress)


def _has_remote_jobs(router: ContextRouter) -> bool:
    return any(isinstance(c, Resumable) and c.has_remote_jobs for c in router.contextualizers)


def _tokens_reused(usage: ComputeUsage | ServiceUsage | None) -> int | None:
    """Return the prompt tokens that were neither computed nor paid again, None if not counted."""
    match usage:
        case ComputeUsage() as used:
            return used.reused
        case ServiceUsage() as used:
            return used.read
    return None


def _usage(contextualizer: Contextualizer) -> ComputeUsage | ServiceUsage | None:
    return contextualizer.usage if isinstance(contextualizer, Metered) else None


def _usage_since(before: object, now: object) -> ServiceUsage | None:
    """Return what a service counted in between; an earlier run may have used it, too."""
    if isinstance(before, ServiceUsage) and isinstance(now, ServiceUsage):
        return now - before
    return None
