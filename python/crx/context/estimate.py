"""Estimate of the time and cost of an index before it is built.

Everything is read and cut, as a build would. Then each rung of the context ladder is tried for
some seconds on a sample, and what that took is carried over to the whole: by tokens for the
embedder, by prompts and answers for a model on this machine that can tell what they take, by
chunks for others. A service that charges is not asked: its dollars come from the lengths of the
texts and its published prices.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from crx import _native
from crx.context.contextualize import ContextSources
from crx.context.outline import outline
from crx.context.report import ContextProgress
from crx.context.routing import ContextRouter
from crx.context.run import ContextRun
from crx.errors import InputError, ModelError, NotText, UsageError
from crx.ingest.discover import discover
from crx.ingest.embed import Situated, embed_situated, embedding_prefix
from crx.ingest.embed_pending import EMBED_BATCH
from crx.ingest.indexer import Indexer
from crx.ingest.read import failure_reason, promises_text, read_bytes, refuse_large
from crx.ingest.report import Failure
from crx.ingest.split import split
from crx.ingest.write import chunk_budget
from crx.protocols import (
    Annotated,
    Contextualizer,
    CostEstimator,
    Embedder,
    TimeEstimator,
)
from crx.remote.metering import Estimate
from crx.types import Chunk, Document, parse_outcome

# Seconds of the probe that a model gets; the embedder and the outline share the rest.
SHARE_MODEL = 0.6
SHARE_EMBEDDER = 0.3
# A sample: documents, spread evenly, and how much of each.
SAMPLE_DOCUMENTS = 24
SAMPLE_CHARS = 6000


@dataclass(frozen=True, slots=True)
class CostModel:
    """How to estimate what contexts from `source` take.

    `contextualizer` is run on a sample for its time, or None when it cannot be. `pricing` derives
    tokens and dollars of the service `priced` from the lengths of the texts.
    """

    source: str
    contextualizer: Contextualizer | None
    priced: str
    pricing: CostEstimator


@dataclass(frozen=True, slots=True)
class Rung:
    """One rung of the ladder and the seconds it takes for all chunks, embedding not included."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Plan:
    """What there is, and what each step takes: seconds here, dollars elsewhere.

    `embedding_seconds` is for every chunk once: an index whose contexts a model writes pays it
    once before and once after. `priced` names the model that `estimate` is for.
    `service_seconds` is what a service takes at the rate of requests that was given, None where
    none was: it rests on the limits of an account, which nobody here knows. `notes` are what else
    should be known of the model, a line each.
    """

    documents: int
    chunks: int
    tokens: int
    reading_seconds: float
    embedding_seconds: float
    rungs: tuple[Rung, ...]
    priced: str
    estimate: Estimate | None
    service_seconds: float | None
    failures: tuple[Failure, ...]
    notes: tuple[str, ...]


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
    """Return what an index of the paths takes, from a probe of `seconds` seconds.

    The contextualizer of `costs` is run on a sample, in an index that is thrown away and whose
    vectors are those of `scratch_embedder`. Raises `UsageError` for a path that does not exist,
    `ModelError` if no trial succeeds.
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
    rungs = [Rung("outline", _outline_seconds(sample, texts))]
    if contextualizer is not None:
        took = _model_seconds(
            costs.source,
            contextualizer,
            sample,
            texts,
            seconds=seconds * SHARE_MODEL,
            scratch_embedder=scratch_embedder,
        )
        rungs.append(Rung(costs.source, took))
    estimate = costs.pricing.estimate_cost(texts)
    asked = estimate.usage.requests
    return Plan(
        documents=len(texts),
        chunks=sum(len(chunks) for _, chunks in texts),
        tokens=_tokens(texts),
        reading_seconds=reading,
        embedding_seconds=_embedding_seconds(embedder, sample, texts, seconds * SHARE_EMBEDDER),
        rungs=tuple(rungs),
        priced=costs.priced,
        estimate=estimate,
        service_seconds=asked / requests_per_minute * 60 if requests_per_minute else None,
        failures=tuple(failures),
        notes=contextualizer.notes if isinstance(contextualizer, Annotated) else (),
    )


Texts = Sequence[tuple[Document, Sequence[Chunk]]]


def _read(
    paths: Sequence[Path],
    cut: Callable[[Document], list[Chunk]],
    exclude: Sequence[str],
    max_file_mb: int,
) -> tuple[list[tuple[Document, list[Chunk]]], list[Failure]]:
    texts: list[tuple[Document, list[Chunk]]] = []
    failures: list[Failure] = []
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path}: no such file or folder")
    for found in discover(paths, exclude=exclude):
        try:
            refuse_large(found, max_file_mb)
            data = found.path.read_bytes()
            for document in read_bytes(data, name=found.uri):
                texts.append((document, cut(document)))
        except NotText as error:
            if promises_text(found, data):
                failures.append(Failure(found.uri, str(error)))
        except (InputError, OSError) as error:
            failures.append(Failure(found.uri, failure_reason(error)))
    return texts, failures


def _sample(texts: Texts) -> list[tuple[Document, list[Chunk]]]:
    """Return the beginnings of some documents, spread evenly, cut where their chunks are."""
    step = max(1, len(texts) // SAMPLE_DOCUMENTS)
    sample = []
    for document, chunks in texts[::step]:
        within = [chunk for chunk in chunks if chunk.end <= SAMPLE_CHARS] or list(chunks[:1])
        if within:
            end = max(chunk.end for chunk in within)
            spans = tuple((chunk.start, chunk.end) for chunk in within)
            sample.append((replace(document, text=document.text[:end], chunks=spans), within))
    return sample


def _outline_seconds(sample: Texts, texts: Texts) -> float:
    started = time.monotonic()
    for document, chunks in sample:
        outline(document, chunks)
    return (time.monotonic() - started) * _share(_chars(texts), _chars(sample))


def _embedding_seconds(embedder: Embedder, sample: Texts, texts: Texts, seconds: float) -> float:
    """Return how long all chunks take, by tokens, from as many of the sample as time allows."""
    situated = [
        (Situated(embedding_prefix(head, ""), chunk.text), chunk)
        for document, chunks in sample
        for head, chunk in zip(outline(document, chunks), chunks, strict=True)
    ]
    if not situated:
        return 0.0
    embed_situated(embedder, [situated[0][0]])  # the first call pays for loading
    # Every so-manieth chunk in a batch, so that each batch is like the whole.
    batches = -(-len(situated) // EMBED_BATCH)
    started, tokens, at = time.monotonic(), 0, 0
    while at < batches and (at == 0 or time.monotonic() - started < seconds):
        batch = sorted(situated[at::batches], key=lambda each: len(each[0].text))
        embed_situated(embedder, [each for each, _ in batch])
        tokens += sum(chunk.token_end - chunk.token_start for _, chunk in batch)
        at += 1
    return (time.monotonic() - started) * _share(_tokens(texts), tokens)


def _model_seconds(
    source: str,
    maker: Contextualizer,
    sample: Texts,
    texts: Texts,
    *,
    seconds: float,
    scratch_embedder: Embedder,
) -> float:
    """Return how long the contexts of all chunks take, from a real run on the sample."""
    trial = _try(maker, [document for document, _ in sample], seconds, scratch_embedder)
    chunks = sum(len(chunks) for _, chunks in texts)
    if not trial.done:
        return 0.0
    if trial.failed:
        raise ModelError(f"{source}: none of {trial.done} trials came to an answer: {trial.failed}")
    if not isinstance(maker, TimeEstimator):
        return trial.seconds / trial.done * chunks
    beside = max(0.0, trial.seconds - maker.usage.seconds) / trial.done
    return maker.estimate_seconds(texts, asks=trial.asks) + beside * chunks


@dataclass(frozen=True, slots=True)
class _Trial:
    """What a trial run did: chunks, in how many seconds, each asked for so often on average.

    `failed` says why, where all of them did.
    """

    done: int
    seconds: float
    asks: float
    failed: str = ""


def _try(
    maker: Contextualizer, documents: Sequence[Document], seconds: float, embedder: Embedder
) -> _Trial:
    """Give the documents contexts in an index that is thrown away, short ones first.

    A slow model then has some answers soon, and a fast one comes to all of them.
    """
    made: Counter[str] = Counter()
    spent, ended = 0.0, 0.0

    def note(_: ContextProgress) -> None:
        nonlocal ended
        ended = time.monotonic()

    with TemporaryDirectory(prefix="crx-plan-") as folder:
        store = _native.Store.open(str(Path(folder) / "plan.crx"), write=True, create=True)
        try:
            router = ContextRouter(maker)
            indexer = Indexer(store, embedder=embedder, situator=ContextSources(outline=True))
            for document in sorted(documents, key=lambda each: len(each.text)):
                indexer.index_documents([document])
                begun = time.monotonic()
                upgrade = ContextRun(
                    store,
                    embedder=embedder,
                    router=router,
                    seconds=seconds - spent,
                    on_progress=note,
                )
                made.update(upgrade.run().made)
                spent += ended - begun
                if spent >= seconds:
                    break
        finally:
            store.close()
    done = sum(made.values())
    if not done:
        return _Trial(0, 0.0, 1.0)
    outcomes = [(*parse_outcome(outcome), n) for outcome, n in made.items()]
    twice = sum(n for status, _, n in outcomes if status in ("retried", "rejected"))
    failed = [reason for status, reason, _ in outcomes if status == "failed"]
    all_failed = len(failed) == len(made)
    return _Trial(done, spent, 1 + twice / done, failed[0] if all_failed else "")


def _tokens(texts: Texts) -> int:
    return sum(c.token_end - c.token_start for _, chunks in texts for c in chunks)


def _chars(texts: Texts) -> int:
    return sum(len(document.text) for document, _ in texts)


def _share(whole: float, part: float) -> float:
    return whole / part if part else 0.0
