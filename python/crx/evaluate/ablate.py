"""Which step comes next in an evaluation: index each rung, ask it, put the rows together.

One index serves all rungs: vectors are kept by content, so what two rungs have in common is
embedded once. Each question is embedded once, and each pair of question and text reranked once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import orjson

from crx.config import Settings, resolve
from crx.errors import UsageError
from crx.evaluate.asker import KEPT, Asker, QueryVectors, Timed, TimedReranker, ask_all
from crx.evaluate.baselines import Hypothetical, Summaries, SummaryIndex
from crx.evaluate.configuration import (
    SUMMARY,
    Configuration,
    Legs,
    contexts_name,
    ladder,
)
from crx.evaluate.datasets import Query, QuestionSet
from crx.evaluate.results import METRICS, Indexed, Results, Values
from crx.evaluate.score_cache import NAME, StoredScores
from crx.index import Index
from crx.index import open as open_index
from crx.ingest.report import Progress, Report
from crx.protocols import Generator, Reranker
from crx.registry import load_context_sources, parse_contexts
from crx.retrieve.rerank import ScoreCache
from crx.retrieve.search import Reranking
from crx.types import Document

# Characters of a chunk cut here; a Han or kana character says about as much as two Latin ones.
CHUNK_CHARS = 800
DENSE_SCRIPTS = frozenset({"zh", "ja"})
# Scores kept over all rungs: 100 MB at most.
SCORES_KEPT = 1 << 19
BASELINES = (SUMMARY, "hyde", "summary-index")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a set is indexed and asked: where the index is kept (else in a temporary folder),
    characters of a chunk, settings by name, what reranks, what writes the baselines' texts."""

    index: Path | None = None
    chunk_chars: int | None = None
    settings: Mapping[str, object] | None = None
    reranker: Reranker | None = None
    generator: Generator | None = None
    on_rung: Callable[[str], None] | None = None
    on_progress: Callable[[Progress], None] | None = None


def ablate(
    questions: QuestionSet,
    *,
    contexts: Sequence[str],
    baselines: Sequence[str] = (),
    windows: bool = True,
    options: Options | None = None,
) -> Results:
    """Measure every configuration of the rungs of `contexts` and of the `baselines`.

    Raises `UsageError` for a rung that there is none of, and for baselines without a generator.
    """
    options = options or Options()
    for name in baselines:
        if name not in BASELINES:
            raise UsageError(f"{name}: no such baseline; there are {', '.join(BASELINES)}")
    if baselines:
        _require(options.generator)
    if SUMMARY in baselines:
        contexts = [*contexts, SUMMARY]
    legs: list[Legs] = [name for name in ("hyde", "summary-index") if name in baselines]
    rows = ladder(contexts, rerank=options.reranker is not None, windows=windows, baselines=legs)
    return measure(questions, rows, options=options)


def measure(questions: QuestionSet, rows: Sequence[Configuration], *, options: Options) -> Results:
    """Measure configurations; those of one rung stand together in `rows`."""
    rungs = list(dict.fromkeys(row.contexts for row in rows))
    for rung in rungs:
        _check(rung)
    documents = with_spans(questions.documents, rungs[0])
    chars = options.chunk_chars or _chunk_chars(documents)
    given = {**(options.settings or {}), "chunk_chars": chars}
    values: list[Mapping[str, Values]] = []
    indexed: dict[str, Indexed] = {}
    with ExitStack() as stack:
        place = (
            options.index
            or Path(stack.enter_context(TemporaryDirectory(prefix="crx-eval-"))) / "eval.crx"
        )
        index = stack.enter_context(open_index(place, settings=given))
        _refuse_others(index, questions.documents)
        kept = None
        if options.reranker is not None and options.index is not None:
            kept = stack.enter_context(StoredScores(index.path / NAME))
        bench = _Bench(index, options, resolve(given).settings, kept)
        for rung in rungs:
            if options.on_rung is not None:
                options.on_rung(rung)
            documents = with_spans(questions.documents, rung)
            indexed[rung] = bench.build(documents, rung)
            of_rung = [row for row in rows if row.contexts == rung]
            values.append(bench.ask(questions.queries, of_rung, documents))
    return Results(
        set=questions.name,
        documents=len(questions.documents),
        queries=tuple(query.id for query in questions.queries),
        rows=tuple(row for rung in rungs for row in rows if row.contexts == rung),
        indexed=indexed,
        notes=tuple(bench.notes),
        values={name: np.concatenate([each[name] for each in values]) for name in METRICS},
    )


def with_spans(documents: Sequence[Document], contexts: str) -> list[Document]:
    """Return the documents, cut where a contexts file was made for such spans."""
    from crx.context.file_contexts import FileContexts

    maker = None if _is_made(contexts) else load_context_sources(contexts).contextualizer
    if not isinstance(maker, FileContexts):
        return list(documents)
    return [replace(d, chunks=maker.spans(d.uri) or d.chunks) for d in documents]


class _Bench:
    """An index that one rung after another is built in and asked of, and what they share."""

    def __init__(
        self, index: Index, options: Options, settings: Settings, kept: StoredScores | None
    ) -> None:
        self._index = index
        self._options = options
        self._settings = settings
        self._vectors = QueryVectors(index.embedder)
        self._reranking = _reranking(options.reranker, settings, kept)
        self._summaries = Summaries(options.generator) if options.generator else None
        self.notes: list[str] = []

    def build(self, documents: Sequence[Document], rung: str) -> Indexed:
        """Make the index hold the documents at a rung."""
        started = time.perf_counter()
        spec = parse_contexts(rung)
        made = _is_made(rung)
        at_hand = ("outline" if spec.outline else "none") if made else rung
        report = self._index.add_documents(
            documents,
            contexts=at_hand,
            keep_contexts=False,
            on_progress=self._options.on_progress,
        )
        if made:
            self._contextualize(spec.source)
        return self._indexed(report, time.perf_counter() - started)

    def ask(
        self,
        queries: Sequence[Query],
        rows: Sequence[Configuration],
        documents: Sequence[Document],
    ) -> dict[str, Values]:
        """Return each metric of the rows, which are all of the rung that was built last."""
        asker = Asker(
            self._index,
            vectors=self._vectors,
            reranking=self._reranking,
        )
        others = self._others(queries, {row.legs for row in rows}, documents, asker)
        values = ask_all(asker, queries, rows, others=others)
        self.notes += [
            f"{contexts_name(rows[0].contexts)}: {n} x {t}" for t, n in asker.notes.items()
        ]
        return values

    def _contextualize(self, source: str) -> None:
        if source == SUMMARY:
            self._index.contextualize(self._summarise())
        else:
            self._index.contextualize(source)

    def _others(
        self,
        queries: Sequence[Query],
        legs: set[Legs],
        documents: Sequence[Document],
        asker: Asker,
    ) -> list[dict[str, Timed]]:
        """Return the rankings of the baselines among the legs, for each query."""
        found: list[dict[str, Timed]] = [{} for _ in queries]
        embedder, vectors = self._index.embedder, self._vectors
        if "summary-index" in legs:
            summary_index = SummaryIndex(
                self._index.store,
                documents,
                summaries=self._summarise(),
                embedder=embedder,
                vectors=vectors,
            )
            for query, rankings in zip(queries, found, strict=True):
                rankings["summary-index"] = summary_index.ask(query, k=KEPT)
        if "hyde" in legs:
            generator = _require(self._options.generator)
            hypothetical = Hypothetical(generator, embedder=embedder, vectors=vectors)
            for query, rankings in zip(queries, found, strict=True):
                rankings["hyde"] = hypothetical.ask(query, asker)
        return found

    def _summarise(self) -> Summaries:
        _require(self._options.generator)
        assert self._summaries is not None
        return self._summaries

    def _indexed(self, report: Report, seconds: float) -> Indexed:
        return Indexed(
            chunks=self._index.store.stats()["chunks"],
            seconds=seconds,
            embedded=report.embedded,
            windowed=report.windowed,
        )


def _reranking(
    reranker: Reranker | None, settings: Settings, kept: StoredScores | None
) -> Reranking | None:
    """Return how to rerank: as a search would, but for the time it may take."""
    if reranker is None:
        return None
    return Reranking(
        reranker=TimedReranker(reranker, kept=kept),
        depth=settings.rerank_depth,
        weight=settings.rerank_weight,
        ms=0.0,
        min_relevance=settings.min_relevance,
        cache=ScoreCache(max_entries=SCORES_KEPT),
    )


def _is_made(rung: str) -> bool:
    """Does a model or a generator write the contexts of a rung?"""
    spec = parse_contexts(rung)
    return spec.source == SUMMARY or bool(spec.source and not spec.is_file)


def _check(rung: str) -> None:
    if not _is_made(rung):
        load_context_sources(rung)


def _require(generator: Generator | None) -> Generator:
    if generator is None:
        raise UsageError("summary, hyde and summary-index need what writes them: --with llama:PATH")
    return generator


def _refuse_others(index: Index, documents: Sequence[Document]) -> None:
    held = index.store.documents()
    others = {row.uri for row in held} - {each.uri for each in documents}
    if others:
        raise UsageError(f"{index.path}: holds {min(others)}, which is not of this set")
    for row in held:
        if "path" in orjson.loads(row.metadata):
            raise UsageError(
                f"{index.path}: an index of files, which an evaluation would write over; "
                f"name another folder"
            )


def _chunk_chars(documents: Sequence[Document]) -> int:
    from crx import _native

    langs = [_native.detect_lang(document.text[:4000]) for document in documents]
    dense = sum(lang in DENSE_SCRIPTS for lang in langs)
    return CHUNK_CHARS // 2 if 2 * dense > len(langs) else CHUNK_CHARS
