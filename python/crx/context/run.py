"""Which step comes next when an index gets its contexts: survey, situate, commit, embed.

The index stays searchable. Each finished chunk is one durable step, so a run that is killed loses
the chunks in flight, and the same run goes on with what is left.
"""

from __future__ import annotations

import contextlib
import math
import re
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import orjson

from crx import _native
from crx.context.cache import context_keys, find, keep
from crx.context.compute_usage import ComputeUsage
from crx.context.contextualize import ContextSources
from crx.context.routing import ContextRouter
from crx.errors import BudgetSpent, ModelError, UsageError
from crx.ingest.embed import Situated, embedding_prefix
from crx.ingest.indexer import Indexer, vector_key
from crx.protocols import (
    Annotated,
    BatchContextualizer,
    Contextualizer,
    Embedder,
    Metered,
    Resumable,
)
from crx.remote.metering import ServiceUsage, parse_dollars
from crx.remote.pending_jobs import PendingJobs
from crx.types import Chunk, Context, Document, Mark

# Seconds after which new contexts are embedded and seen while a run goes on.
SECONDS_UNSEEN = 20.0
# Chunks given at once to a contextualizer that takes several documents.
WAVE_CHUNKS = 4000

# Words that a chunk opens with when what it speaks of was named before it.
_REFERS = re.compile(
    r"""\W*(?:(?:it|its|they|their|them|this|these|those|such|he|she|his|her|said|the\ (?:said|same
    |former|latter|foregoing|above)|as\ (?:above|noted|described|mentioned)|however|therefore|thus
    |moreover|otherwise|also|in\ addition|il|elle|ils|elles|ce|cette|ces|cela|celui-ci|celle-ci
    |ledit|ladite|lesdits|toutefois|cependant|er|sie|es|diese|dieser|dieses|nó|họ|điều\ này
    |những)\b|[它他她]们?|[这該该此其]|これ|それ|この|その|同)""",
    re.VERBOSE | re.IGNORECASE,
)
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0}
_TIME = re.compile(r"(?:\d+(?:\.\d+)?[hms])+")


@dataclass(frozen=True, slots=True)
class Budget:
    """Where a run stops: after so many seconds, before so many dollars are exceeded."""

    seconds: float = math.inf
    dollars: float = math.inf


@dataclass(frozen=True, slots=True)
class ContextProgress:
    """How far a run is: chunks done of those without a context, how fast, and the rest of it.

    `usage` is as in `ContextReport`, so far.
    """

    done: int = 0
    total: int = 0
    per_second: float = 0.0
    seconds_left: float | None = None
    tokens_reused: int | None = None
    embedded: int = 0
    uri: str = ""
    usage: ServiceUsage | None = None


@dataclass(frozen=True, slots=True)
class ContextReport:
    """What a run did: contexts made, by outcome; those kept from before; what the index has now.

    `coverage` is the share of the index's chunks with a context; `stopped` says why the run ended
    before its end, "" where it did not. `usage` is what a service that counts tokens was sent and
    said, None for all others; `notes` are what else should be known, a line each.
    """

    made: Mapping[str, int]
    reused: int
    embedded: int
    coverage: float
    chunks: int
    seconds: float
    stopped: str = ""
    usage: ServiceUsage | None = None
    notes: tuple[str, ...] = ()

    def require(self, coverage: float) -> None:
        """Raise `ModelError` where less of the index is covered."""
        if self.coverage < coverage:
            raise ModelError(
                f"{self.coverage:.1%} of the chunks have a context, less than {coverage:.1%}; "
                f"the same command tries again those that failed"
            )


def parse_budget(text: str) -> Budget:
    """Return the budget of `20m`, `90s`, `1h30m` or `$2`; `UsageError` for others and for none."""
    if text.startswith("$"):
        return Budget(dollars=parse_dollars(text))
    if not _TIME.fullmatch(text):
        raise UsageError(f"\"{text}\": not a budget; write a time like 20m, or dollars like '$2'")
    seconds = sum(float(n) * _UNITS[unit] for n, unit in re.findall(r"([\d.]+)([hms])", text))
    if seconds == 0:
        raise UsageError(f"{text}: a budget must be above 0")
    return Budget(seconds=seconds)


def coverage(counts: Mapping[str, int]) -> float:
    """Return the share of an index's chunks that have a context, from its counts."""
    covered = sum(counts.get(f"outcome:{outcome}", 0) for outcome in ("ok", "retried"))
    return covered / counts["chunks"] if counts["chunks"] else 1.0


def need(texts: Sequence[str]) -> float:
    """Return how much a document's chunks gain by contexts: what to do first is larger.

    The share of chunks that open with a reference to something named before them, plus a half,
    times the logarithm of how many there are: in a long document, more lies out of sight.
    """
    referring = sum(bool(_REFERS.match(text)) for text in texts)
    return (0.5 + referring / max(1, len(texts))) * math.log2(1 + len(texts))


@dataclass(frozen=True, slots=True)
class _Work:
    """A document and the ordinals of its chunks that need a context."""

    row: _native.DocumentRow
    missing: tuple[int, ...]
    need: float


class ContextRun:
    """One run that gives the chunks of a store contexts; the writer's lock is the caller's.

    Raises `UsageError` for a time together with what goes on until it has ended.
    """

    def __init__(
        self,
        store: _native.Store,
        *,
        embedder: Embedder,
        makers: ContextRouter,
        seconds: float = math.inf,
        on_progress: Callable[[ContextProgress], None] | None = None,
        on_commit: Callable[[], None] | None = None,
    ) -> None:
        goes_on = any(isinstance(each, Resumable) and each.has_remote_jobs for each in makers.all)
        if goes_on and seconds < math.inf:
            raise UsageError("a batch cannot be stopped after a time; give dollars, such as '$2'")
        self._store = store
        self._embedder = embedder
        self._makers = makers
        self._used_before = _used(makers.general)
        self._notes: tuple[str, ...] = ()
        self._ledgers: list[PendingJobs] = []
        self._budget = seconds
        self._on_progress = on_progress
        self._on_commit = on_commit or (lambda: None)
        self._advance = ContextProgress()
        self._made: dict[str, int] = {}
        self._reused = 0
        self._indexer = Indexer(
            store,
            embedder=embedder,
            situator=ContextSources(outline=False),
            on_progress=lambda now: self._tell(embedded=now.embedded),
            on_commit=on_commit,
        )

    def run(self) -> ContextReport:
        """Make what is missing, most needed documents first; what a budget cut off is reported.

        Raises `ModelError` where the model cannot go on, after all that was made is searchable.
        """
        started = time.monotonic()
        works = self._survey()
        self._begun = self._seen = time.monotonic()
        stopped = ""
        self._resume(on=True)
        try:
            for wave in _waves(works, WAVE_CHUNKS if self._takes_many else 1):
                self._make(wave)
            for ledger in self._ledgers:
                ledger.clear()  # all that came of it is committed now
        except BudgetSpent as spent:
            stopped = str(spent)
        except ModelError:
            self._show()
            raise
        finally:
            self._resume(on=False)
        self._show()
        counts = self._store.stats()
        return ContextReport(
            made=dict(self._made),
            reused=self._reused,
            embedded=self._indexer.report.embedded,
            coverage=coverage(counts),
            chunks=counts["chunks"],
            seconds=time.monotonic() - started,
            stopped=stopped,
            usage=self._used,
            notes=self._notes,
        )

    @property
    def _takes_many(self) -> bool:
        return isinstance(self._makers.general, BatchContextualizer)

    @property
    def _used(self) -> ServiceUsage | None:
        return _since(self._used_before, _used(self._makers.general))

    def _resume(self, *, on: bool) -> None:
        """Give makers whose work goes on elsewhere a ledger each, or take it away."""
        self._ledgers = []
        for maker in self._makers.all:
            if isinstance(maker, Resumable):
                ledger = PendingJobs(self._store, maker.fingerprint)
                self._ledgers += [ledger] * on
                maker.resume(ledger if on else None)

    def _survey(self) -> list[_Work]:
        """Give chunks the contexts that are kept already; return the rest, most needed first."""
        works = []
        stored = self._store.documents()
        general = self._makers.general
        notes = general.notes if isinstance(general, Annotated) else ()
        self._notes = notes + tuple(
            f"{folder}: no document lies in it; its prompt was not used"
            for folder in self._makers.unused(row.uri for row in stored)
        )
        for row in stored:
            document, rows = opened(self._store, row)
            chunks = [chunk_of(each) for each in rows]
            kept = find(self._store, document, chunks, origin=self._makers.origin(row.uri))
            for each, known in zip(rows, kept, strict=True):
                if known is not None:
                    self._link(each, known.key, known.context)
            self._reused += sum(known is not None for known in kept)
            missing = tuple(i for i, known in enumerate(kept) if known is None)
            if missing:
                works.append(_Work(row, missing, need([chunk.text for chunk in chunks])))
        self._tell(total=sum(len(work.missing) for work in works))
        return sorted(works, key=lambda work: (-work.need, work.row.uri))

    def _make(self, wave: Sequence[_Work]) -> None:
        """Make and commit the contexts that a wave of documents lacks."""
        documents = [opened(self._store, work.row) for work in wave]
        keys, asked = [], []
        for work, (document, rows) in zip(wave, documents, strict=True):
            chunks = [chunk_of(each) for each in rows]
            origin = self._makers.origin(work.row.uri)
            keys.append(context_keys(document, chunks, origin=origin))
            asked.append((document, [chunks[i] for i in work.missing]))
        with contextlib.closing(self._situated(asked)) as made:
            for at, nth, context in made:
                ordinal = wave[at].missing[nth]
                self._commit(documents[at][1][ordinal], keys[at][ordinal], context)
                if time.monotonic() - self._begun > self._budget:
                    raise BudgetSpent(f"the budget of {self._budget:g} s is spent")

    def _situated(
        self, asked: Sequence[tuple[Document, Sequence[Chunk]]]
    ) -> Generator[tuple[int, int, Context], None, None]:
        """Ask the maker of each document, those of one maker together if it takes many."""
        by_maker: dict[int, list[int]] = {}
        for at, (document, _) in enumerate(asked):
            by_maker.setdefault(id(self._makers.of(document.uri)), []).append(at)
        for places in by_maker.values():
            maker = self._makers.of(asked[places[0]][0].uri)
            if isinstance(maker, BatchContextualizer):
                for i, nth, context in maker.situate_many([asked[at] for at in places]):
                    yield places[i], nth, context
                continue
            for at in places:
                for nth, context in enumerate(maker.situate(*asked[at])):
                    yield at, nth, context

    def _commit(self, row: _native.ChunkRow, key: bytes, context: Context) -> None:
        """Make a finished chunk durable; from time to time, make what is new searchable."""
        generator = self._makers.origin(row.uri).fingerprint
        key = keep(self._store, key, generator=generator, context=context)
        self._link(row, key, context)
        self._made[context.outcome] = self._made.get(context.outcome, 0) + 1
        elapsed = max(time.monotonic() - self._begun, 1e-9)
        done = self._advance.done + 1
        self._tell(
            done=done,
            per_second=done / elapsed,
            seconds_left=elapsed / done * (self._advance.total - done),
            tokens_reused=_reused(self._makers.general),
            uri=row.uri,
            usage=self._used,
        )
        if time.monotonic() - self._seen > SECONDS_UNSEEN:
            self._show()

    def _link(self, row: _native.ChunkRow, key: bytes, context: Context) -> None:
        """Give a chunk a context; one without text does not displace that of a lower rung."""
        if not context.text and row.context:
            return
        link(self._store, row, key, context, embedder=self._embedder)

    def _show(self) -> None:
        """Embed what is new and let both legs know it."""
        self._indexer.embed()
        self._on_commit()
        self._seen = time.monotonic()

    def _tell(self, **now: float | str | ServiceUsage | None) -> None:
        self._advance = replace(self._advance, **now)  # type: ignore[arg-type]
        if self._on_progress is not None:
            self._on_progress(self._advance)


def opened(
    store: _native.Store, row: _native.DocumentRow
) -> tuple[Document, list[_native.ChunkRow]]:
    """Return a stored document and its chunks."""
    document = Document(
        uri=row.uri,
        text=store.text(row.doc),
        title=row.title,
        lang=row.lang,
        metadata=orjson.loads(row.metadata),
        marks=tuple(Mark(**mark) for mark in orjson.loads(store.marks(row.doc))),
    )
    return document, store.chunks(store.chunk_keys(row.doc))


def chunk_of(row: _native.ChunkRow) -> Chunk:
    """Return a stored chunk as the value that the steps take."""
    return Chunk(
        row.ordinal, row.start, row.end, row.token_start, row.token_end, row.section, row.text
    )


def link(
    store: _native.Store,
    row: _native.ChunkRow,
    key: bytes,
    context: Context,
    *,
    embedder: Embedder,
) -> None:
    """Give a chunk the context kept under a key, and the vector that it then wants."""
    situated = Situated(embedding_prefix(row.outline, context.text), row.text)
    store.link_context(row.key, key, vector_key(embedder, situated))


def _waves(works: Iterable[_Work], chunks: int) -> Iterator[list[_Work]]:
    """Yield documents together until they have so many chunks to make."""
    wave: list[_Work] = []
    for work in works:
        wave.append(work)
        if sum(len(each.missing) for each in wave) >= chunks:
            yield wave
            wave = []
    if wave:
        yield wave


def _reused(contextualizer: Contextualizer) -> int | None:
    """Return the tokens of prompts that were not computed or paid anew, where that is told."""
    match _used(contextualizer):
        case ComputeUsage() as used:
            return used.reused
        case ServiceUsage() as used:
            return used.read
    return None


def _used(contextualizer: Contextualizer) -> ComputeUsage | ServiceUsage | None:
    return contextualizer.usage if isinstance(contextualizer, Metered) else None


def _since(before: object, now: object) -> ServiceUsage | None:
    """Return what a service counted in between; another run may have used it before."""
    if isinstance(before, ServiceUsage) and isinstance(now, ServiceUsage):
        return now - before
    return None
