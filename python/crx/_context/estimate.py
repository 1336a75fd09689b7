"""Estimate of the time and cost of an index before it is built.

All documents are read and split, as a build would. Then the embedder and each source of contexts
run on a sample for some seconds, and the times are scaled to all documents: by tokens for the
embedder, by prompts and answers for a local model that estimates their time (`TimeEstimator`), by
chunks for other contextualizers. No request is sent to a metered service: its dollars come from the
lengths of the texts and published prices.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from crx import _native
from crx._context.outline import outline
from crx._context.report import ContextProgress, OutcomeCounts
from crx._context.run import ContextRun
from crx._context.sources import ContextRouter, ContextSources
from crx._services.service_usage import Estimate
from crx.errors import InputError, ModelError, NotText
from crx.ingest._worker.isolated_reader import IsolatedReader
from crx.ingest.discover import Root, discover, read_content, require_paths
from crx.ingest.embed import Situated, SituatedEmbedder
from crx.ingest.embed_pending import EMBED_BATCH
from crx.ingest.embedding_prefix import embedding_prefix
from crx.ingest.file_kinds import failure_reason, promises_text
from crx.ingest.indexer import Indexer
from crx.ingest.report import Failure
from crx.ingest.split import split
from crx.ingest.write import chunk_budget
from crx.protocols import Annotated, Contextualizer, CostEstimator, Embedder, TimeEstimator
from crx.types import Chunk, Document

# The first of several documents, alone, may take this many times the seconds of a trial: contexts
# that are written side by side take less time each.
_PATIENCE = 2.0


@dataclass(frozen=True, slots=True)
class _Trial:
    """Result of a trial run: its contexts, by `Context.outcome`, and the seconds they took."""

    made: Mapping[str, int]
    seconds: float

    @property
    def outcomes(self) -> OutcomeCounts:
        """Contexts by status and reason."""
        return OutcomeCounts.from_made(self.made)

    @property
    def done(self) -> int:
        """Chunks that were finished, with a context or without."""
        return self.outcomes.total

    @property
    def requests_per_chunk(self) -> float:
        """Mean number of requests a chunk: a chunk whose first answer is rejected has two."""
        return 1 + self.outcomes.count("retried", "rejected") / max(1, self.done)

    @property
    def failure(self) -> str:
        """The most frequent reason of the failures if every chunk failed, else ""."""
        reasons = self.outcomes.reasons("failed")
        return next(iter(reasons)) if reasons and sum(reasons.values()) == self.done else ""


def _try_contextualizer(
    contextualizer: Contextualizer,
    documents: Sequence[Document],
    *,
    seconds: float,
    embedder: Embedder,
    together: bool,
) -> _Trial:
    """Give the documents contexts for about `seconds` seconds, short documents first.

    A slow model then finishes some answers soon, and a fast one reaches all documents. With
    `together`, the documents after the first are one run to its end, unless the first took
    `_PATIENCE` times `seconds`.
    """
    made: Counter[str] = Counter()
    spent, ended = 0.0, 0.0

    def record_time(_: ContextProgress) -> None:
        nonlocal ended
        ended = time.monotonic()

    with TemporaryDirectory(prefix="crx-plan-") as folder:
        store = _native.Store.open(str(Path(folder) / "plan.crx"), write=True, create=True)
        try:
            router = ContextRouter(contextualizer)
            indexer = Indexer(store, embedder=embedder, situator=ContextSources(outline=True))
            ordered = sorted(documents, key=lambda each: len(each.text))
            groups = (
                [ordered[:1], ordered[1:]] if together else [[document] for document in ordered]
            )
            for group in groups:
                indexer.index_documents(group)
                begun = time.monotonic()
                run = ContextRun(
                    store,
                    embedder=embedder,
                    router=router,
                    seconds=math.inf if together and spent else seconds - spent,
                    max_rejected=1.0,
                    on_progress=record_time,
                )
                made.update(run.run().made)
                spent += ended - begun
                if spent >= (_PATIENCE * seconds if together else seconds):
                    break
        finally:
            store.close()
    return _Trial(dict(made), spent)


# Shares of the probe's seconds; the outline takes the rest.
_SHARE_MODEL = 0.6
_SHARE_EMBEDDER = 0.3
# Documents of the sample, spread evenly, and characters of each.
_SAMPLE_DOCUMENTS = 24
_SAMPLE_CHARS = 6000
# Chunks of a piece of a document, for a model that reads several documents at the same time.
_PIECE_CHUNKS = 2


@dataclass(frozen=True, slots=True)
class CostModel:
    """Means to estimate the time and cost of contexts from `source`.

    `contextualizer` is run on a sample for its time, or None when it cannot be. `pricing` derives
    tokens and dollars of the service `priced` from the lengths of the texts; None without one.
    """

    source: str
    contextualizer: Contextualizer | None
    priced: str
    pricing: CostEstimator | None


@dataclass(frozen=True, slots=True)
class _SourceTime:
    """A source of contexts and its seconds for all chunks, embedding not included."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Plan:
    """Estimate of an index: its size, the seconds of each step, the dollars of a service.

    `embedding_seconds` is for every chunk once: an index with contexts by a model is embedded
    twice, before and after. `rungs` are the sources of contexts. `priced` names the model of
    `estimate`. `service_seconds` is the time of a service at the given rate of requests, None
    without one: the limits of an account are not known. `trial` counts the contexts of the trial by
    `Context.outcome`. `notes` are remarks, one line each.
    """

    documents: int
    chunks: int
    tokens: int
    reading_seconds: float
    embedding_seconds: float
    rungs: tuple[_SourceTime, ...]
    priced: str
    estimate: Estimate | None
    service_seconds: float | None
    failures: tuple[Failure, ...]
    notes: tuple[str, ...]
    trial: Mapping[str, int] = field(default_factory=dict)


def plan(
    paths: Sequence[Path],
    *,
    embedder: Embedder,
    scratch_embedder: Embedder,
    costs: CostModel,
    seconds: float = 10.0,
    requests_per_minute: float = 0.0,
    chunk_tokens: int = 0,
    chunk_chars: int = 0,
    chunk_overlap: int = 0,
    exclude: Sequence[str] = (),
    max_file_mb: int = 64,
) -> Plan:
    """Return the estimate of an index of the paths, from a probe of `seconds` seconds.

    The contextualizer of `costs` runs on a sample, in a temporary index with the vectors of
    `scratch_embedder`. Raises `UsageError` for a path that does not exist, `ModelError` if every
    trial fails.
    """
    contextualizer = costs.contextualizer
    started = time.monotonic()
    budget = chunk_budget(
        embedder, chunk_tokens=chunk_tokens, chunk_chars=chunk_chars, overlap=chunk_overlap
    )

    def cut(document: Document) -> list[Chunk]:
        starts = embedder.token_starts(document.text)
        return split(
            document,
            token_starts=starts,
            budget=budget.size,
            overlap=budget.overlap,
            in_chars=budget.in_chars,
        )

    texts, failures = _read(paths, cut, exclude, max_file_mb)
    reading = time.monotonic() - started
    sample = _sample(texts)
    rungs = [_SourceTime("outline", _outline_seconds(sample, texts))]
    made: Mapping[str, int] = {}
    if contextualizer is not None:
        width = contextualizer.width if isinstance(contextualizer, TimeEstimator) else 1
        trial = _try_contextualizer(
            contextualizer,
            _pieces(texts, width + 1) if width > 1 else [document for document, _ in sample],
            seconds=seconds * _SHARE_MODEL,
            embedder=scratch_embedder,
            together=width > 1,
        )
        made = trial.made
        took = _model_seconds(costs.source, contextualizer, trial, texts)
        rungs.append(_SourceTime(costs.source, took))
    estimate = costs.pricing.estimate_cost(texts) if costs.pricing else None
    asked = estimate.usage.requests if estimate else 0
    return Plan(
        documents=len(texts),
        chunks=sum(len(chunks) for _, chunks in texts),
        tokens=_tokens(texts),
        reading_seconds=reading,
        embedding_seconds=_embedding_seconds(embedder, sample, texts, seconds * _SHARE_EMBEDDER),
        rungs=tuple(rungs),
        priced=costs.priced,
        estimate=estimate,
        service_seconds=asked / requests_per_minute * 60 if requests_per_minute else None,
        failures=tuple(failures),
        notes=contextualizer.notes if isinstance(contextualizer, Annotated) else (),
        trial=made,
    )


_Texts = Sequence[tuple[Document, Sequence[Chunk]]]


def _read(
    paths: Sequence[Path],
    cut: Callable[[Document], list[Chunk]],
    exclude: Sequence[str],
    max_file_mb: int,
) -> tuple[list[tuple[Document, list[Chunk]]], list[Failure]]:
    texts: list[tuple[Document, list[Chunk]]] = []
    failures: list[Failure] = []
    require_paths(paths)
    discovery = discover([Root.at(path, exclude=exclude) for path in paths])
    failures += discovery.unreachable
    max_bytes = max_file_mb * 1_000_000
    with IsolatedReader() as reader:
        for found in discovery.files:
            try:
                data = read_content(found, max_file_mb=max_file_mb)
                for document in reader.read(data, name=found.uri, max_bytes=max_bytes):
                    texts.append((document, cut(document)))
            except NotText as error:
                if promises_text(found, data):
                    failures.append(Failure(found.uri, str(error)))
            except (InputError, OSError) as error:
                failures.append(Failure(found.uri, failure_reason(error)))
    return texts, failures


def _sample(texts: _Texts) -> list[tuple[Document, list[Chunk]]]:
    """Return the beginnings of some documents, spread evenly, cut at the end of a chunk."""
    step = max(1, len(texts) // _SAMPLE_DOCUMENTS)
    sample = []
    for document, chunks in texts[::step]:
        within = [chunk for chunk in chunks if chunk.end <= _SAMPLE_CHARS] or list(chunks[:1])
        if within:
            end = max(chunk.end for chunk in within)
            spans = tuple((chunk.start, chunk.end) for chunk in within)
            sample.append((replace(document, text=document.text[:end], chunks=spans), within))
    return sample


def _pieces(texts: _Texts, n: int) -> list[Document]:
    """Return documents of a few chunks each, from `n` positions that are spread evenly."""
    positions = [(document, chunks, at) for document, chunks in texts for at in range(len(chunks))]
    pieces = []
    for nth in range(min(n, len(positions))):
        document, chunks, at = positions[(2 * nth + 1) * len(positions) // (2 * n)]
        taken = chunks[at : at + _PIECE_CHUNKS]
        start, end = taken[0].start, max(chunk.end for chunk in taken)
        spans = tuple((chunk.start - start, chunk.end - start) for chunk in taken)
        uri, text = f"{nth}/{document.uri}", document.text[start:end]
        pieces.append(replace(document, uri=uri, text=text, marks=(), chunks=spans))
    return pieces


def _outline_seconds(sample: _Texts, texts: _Texts) -> float:
    started = time.monotonic()
    for document, chunks in sample:
        outline(document, chunks)
    return (time.monotonic() - started) * _share(_chars(texts), _chars(sample))


def _embedding_seconds(embedder: Embedder, sample: _Texts, texts: _Texts, seconds: float) -> float:
    """Return the seconds of all chunks, by tokens, from as much of the sample as time allows."""
    situated = [
        (Situated(embedding_prefix(head, ""), chunk.text), chunk)
        for document, chunks in sample
        for head, chunk in zip(outline(document, chunks), chunks, strict=True)
    ]
    if not situated or not embedder.dimensions:
        return 0.0
    embedded = SituatedEmbedder(embedder)
    embedded.embed([situated[0][0]])  # the first call pays for loading
    # A batch takes chunks at equal steps, so that each batch is like the whole sample.
    batches = -(-len(situated) // EMBED_BATCH)
    started, tokens, at = time.monotonic(), 0, 0
    while at < batches and (at == 0 or time.monotonic() - started < seconds):
        batch = sorted(situated[at::batches], key=lambda each: len(each[0].text))
        embedded.embed([item for item, _ in batch])
        tokens += sum(chunk.token_end - chunk.token_start for _, chunk in batch)
        at += 1
    return (time.monotonic() - started) * _share(_tokens(texts), tokens)


def _model_seconds(
    source: str, contextualizer: Contextualizer, trial: _Trial, texts: _Texts
) -> float:
    """Return the seconds of the contexts of all chunks, from a trial on the sample."""
    chunks = sum(len(chunks) for _, chunks in texts)
    if not trial.done:
        return 0.0
    if trial.failure:
        raise ModelError(f"{source}: none of {trial.done} trials has an answer: {trial.failure}")
    if not isinstance(contextualizer, TimeEstimator):
        return trial.seconds / trial.done * chunks
    overhead = max(0.0, trial.seconds - contextualizer.usage.seconds) / trial.done
    computing = contextualizer.estimate_seconds(texts, asks=trial.requests_per_chunk)
    return computing + overhead * chunks


def _tokens(texts: _Texts) -> int:
    return sum(c.token_end - c.token_start for _, chunks in texts for c in chunks)


def _chars(texts: _Texts) -> int:
    return sum(len(document.text) for document, _ in texts)


def _share(whole: float, part: float) -> float:
    return whole / part if part else 0.0
