"""Index of an evaluation that is built with one source of contexts after another."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson

from crx import _native
from crx._index.handle import Index
from crx._index.handle import open as open_index
from crx.config import Settings, resolve
from crx.context_registry import parse_contexts
from crx.errors import UsageError
from crx.ingest.report import Progress
from crx.protocols import Generator, Reranker
from crx.retrieve.rules.rerank import Rerank
from crx.retrieve.score_cache import ScoreCache
from crx.types import Document
from crx_evaluate.baselines import (
    HypotheticalAnswers,
    Summaries,
    SummaryIndex,
)
from crx_evaluate.datasets import Query
from crx_evaluate.failures import FailedQuery, FailureLog
from crx_evaluate.pipeline_config import (
    SUMMARY,
    Legs,
    PipelineConfig,
    contexts_name,
)
from crx_evaluate.query_runner import (
    RANKING_DEPTH,
    QueryRunner,
    TimedRanking,
    run_queries,
)
from crx_evaluate.results import MAX_K, IndexingStats, Values
from crx_evaluate.score_file import SCORES_FILE, ScoreFile
from crx_evaluate.timed_models import QueryVectors, TimedReranker


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of an evaluation.

    `index` is the folder of the index, None for a temporary one. `chunk_chars` is the length of a
    chunk in characters, None for the default of the language. `settings` are settings by name.
    A question has failed when a gold item is not found at `failed_at`, 1 to 20.
    `reranker` adds reranked rows; `generator` writes the texts of the baselines. `on_contexts` is
    called with each source of contexts before it is indexed, `on_notice` with the host and the size
    before texts are sent to another machine.
    """

    index: Path | None = None
    chunk_chars: int | None = None
    settings: Mapping[str, object] | None = None
    reranker: Reranker | None = None
    generator: Generator | None = None
    failed_at: int = MAX_K
    on_contexts: Callable[[str], None] | None = None
    on_notice: Callable[[str], None] | None = None
    on_progress: Callable[[Progress], None] | None = None


class Experiment:
    """An index that is built with one source of contexts after another, and shared caches."""

    def __init__(
        self,
        index: Index,
        options: Options,
        settings: Settings,
        stored_scores: ScoreFile | None,
    ) -> None:
        self._index = index
        self._options = options
        self._vectors = QueryVectors(index.embedder)
        self._rerank = _rerank_rule(options.reranker, settings, stored_scores)
        self._summaries = Summaries(options.generator) if options.generator else None
        self.notes: list[str] = []
        self.failures: dict[PipelineConfig, tuple[FailedQuery, ...]] = {}

    def build_index(self, documents: Sequence[Document], contexts: str) -> IndexingStats:
        """Index the documents with a source of contexts."""
        started = time.perf_counter()
        spec = parse_contexts(contexts)
        generated = is_generated(contexts)
        before_generating = "outline" if spec.outline else "none"
        report = self._index.add_documents(
            documents,
            contexts=before_generating if generated else contexts,
            keep_contexts=False,
            on_progress=self._options.on_progress,
        )
        if generated:
            self._index.contextualize(
                self._load_summaries() if spec.source == SUMMARY else spec.source,
                on_notice=self._options.on_notice,
            )
        return IndexingStats(
            chunks=self._index.store.stats()["chunks"],
            seconds=time.perf_counter() - started,
            embedded=report.embedded,
            windowed=report.windowed,
        )

    def measure(
        self,
        queries: Sequence[Query],
        rows: Sequence[PipelineConfig],
        documents: Sequence[Document],
    ) -> dict[str, Values]:
        """Return each metric of rows whose source of contexts was indexed last.

        The questions that failed are added to `failures`.
        """
        texts = {document.uri: document.text for document in documents}
        failures = FailureLog(texts, at=self._options.failed_at)
        legs = {row.legs for row in rows}
        with self._index.searcher() as searcher:
            runner = QueryRunner(
                searcher,
                models=self._index.search_models,
                vectors=self._vectors,
                rerank=self._rerank,
                failures=failures,
            )
            baselines = self._rank_baselines(queries, legs, documents, runner, searcher.store)
            values = run_queries(runner, queries, rows, baselines=baselines)
        self.failures |= {row: tuple(found) for row, found in failures.found.items()}
        self.notes += [
            f"{contexts_name(rows[0].contexts)}: {count} x {note}"
            for note, count in runner.notes.items()
        ]
        if reranked := runner.describe_reranking():
            self.notes.append(f"{contexts_name(rows[0].contexts)}: {reranked}")
        return values

    def _rank_baselines(
        self,
        queries: Sequence[Query],
        legs: set[Legs],
        documents: Sequence[Document],
        runner: QueryRunner,
        store: _native.Store,
    ) -> list[dict[str, TimedRanking]]:
        """Return the rankings of the baselines among the legs, for each query."""
        found: list[dict[str, TimedRanking]] = [{} for _ in queries]
        embedder, vectors = self._index.embedder, self._vectors
        if "summary-index" in legs:
            summary_index = SummaryIndex(
                store,
                documents,
                summaries=self._load_summaries(),
                embedder=embedder,
                vectors=vectors,
            )
            for query, rankings in zip(queries, found, strict=True):
                rankings["summary-index"] = summary_index.search(query, k=RANKING_DEPTH)
        if "hyde" in legs:
            generator = require_generator(self._options.generator)
            hyde = HypotheticalAnswers(generator, embedder=embedder, vectors=vectors)
            for query, rankings in zip(queries, found, strict=True):
                rankings["hyde"] = hyde.search(query, runner)
        return found

    def _load_summaries(self) -> Summaries:
        require_generator(self._options.generator)
        assert self._summaries is not None
        return self._summaries


def open_experiment(
    documents: Sequence[Document],
    options: Options,
    settings: Mapping[str, object],
    stack: ExitStack,
) -> Experiment:
    """Open the index of the options, or one in a temporary folder, and the scores beside it."""
    folder = options.index
    if folder is None:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="crx-eval-"))) / "eval.crx"
    index = stack.enter_context(open_index(folder, settings=settings))
    _refuse_other_documents(index, documents)
    stored_scores = None
    if options.reranker is not None and options.index is not None:
        stored_scores = stack.enter_context(ScoreFile(index.path / SCORES_FILE))
    return Experiment(index, options, resolve(settings).settings, stored_scores)


def is_generated(contexts: str) -> bool:
    """Return whether a model writes the contexts."""
    spec = parse_contexts(contexts)
    return spec.source == SUMMARY or bool(spec.source and not spec.is_file)


def require_generator(generator: Generator | None) -> Generator:
    if generator is None:
        raise UsageError(
            "summary, hyde and summary-index need a generator, such as --with llama:PATH"
        )
    return generator


def _rerank_rule(
    reranker: Reranker | None, settings: Settings, stored_scores: ScoreFile | None
) -> Rerank | None:
    """Return how to rerank: as a search does, by the mean speed of scoring on this machine."""
    if reranker is None:
        return None
    timed = TimedReranker(reranker, stored_scores=stored_scores)
    return Rerank(
        reranker=timed,
        reads=settings.rank_rerank_depth,
        weight=settings.rank_rerank_weight,
        ms=settings.rank_rerank_ms,
        min_relevance=settings.rank_rerank_min_relevance,
        cache=ScoreCache(),
        clock=timed.clock,
    )


def _refuse_other_documents(index: Index, documents: Sequence[Document]) -> None:
    stored = index.store.documents()
    others = {row.uri for row in stored} - {document.uri for document in documents}
    if others:
        raise UsageError(
            f"{index.path}: contains {min(others)}, which is not in this set; name another folder"
        )
    for row in stored:
        if "path" in orjson.loads(row.metadata):
            raise UsageError(
                f"{index.path}: an index of files, which an evaluation would overwrite; "
                "name another folder"
            )
