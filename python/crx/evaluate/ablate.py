"""Ablation: index a question set with each source of contexts and measure every configuration.

All sources share one index, which keeps vectors by content, so a text is embedded once. A question
is embedded once, and a pair of question and text is reranked once.
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
from crx.evaluate.baselines import (
    SUMMARY_CHARS,
    HypotheticalAnswers,
    Summaries,
    SummaryIndex,
)
from crx.evaluate.datasets import Query, QuestionSet
from crx.evaluate.pipeline_config import (
    SUMMARY,
    Legs,
    PipelineConfig,
    build_grid,
    contexts_name,
)
from crx.evaluate.query_runner import (
    RANKING_DEPTH,
    QueryRunner,
    QueryVectors,
    TimedRanking,
    TimedReranker,
    run_queries,
)
from crx.evaluate.results import METRICS, IndexingStats, Results, Values
from crx.evaluate.score_file import SCORES_FILE, ScoreFile
from crx.index import Index
from crx.index import open as open_index
from crx.ingest.report import Progress
from crx.protocols import Generator, Reranker
from crx.registry import load_context_sources, parse_contexts
from crx.remote.destination import sending_notice, text_bytes
from crx.retrieve.rerank import ScoreCache
from crx.retrieve.search import Reranking
from crx.types import Document

# Characters of a chunk; a Han or kana character carries about as much as two Latin letters.
CHUNK_CHARS = 800
DENSE_SCRIPT_LANGS = frozenset({"zh", "ja"})
# 100 MB at most.
MAX_CACHED_SCORES = 1 << 19
BASELINES = (SUMMARY, "hyde", "summary-index")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of an evaluation.

    `index` is the folder of the index, None for a temporary one. `chunk_chars` is the length of a
    chunk in characters, None for the default of the language. `settings` are settings by name.
    `reranker` adds reranked rows; `generator` writes the texts of the baselines. `on_contexts` is
    called with each source of contexts before it is indexed, `on_notice` with the host and the size
    before texts are sent to another machine.
    """

    index: Path | None = None
    chunk_chars: int | None = None
    settings: Mapping[str, object] | None = None
    reranker: Reranker | None = None
    generator: Generator | None = None
    on_contexts: Callable[[str], None] | None = None
    on_notice: Callable[[str], None] | None = None
    on_progress: Callable[[Progress], None] | None = None


def ablate(
    questions: QuestionSet,
    *,
    contexts: Sequence[str],
    baselines: Sequence[str] = (),
    windows: bool = True,
    options: Options | None = None,
) -> Results:
    """Measure every configuration of each source of `contexts`, and the `baselines`.

    Raises `UsageError` for an unknown source or baseline, and for baselines without a generator.
    """
    options = options or Options()
    for name in baselines:
        if name not in BASELINES:
            raise UsageError(f"{name}: no such baseline; use {', '.join(BASELINES)}")
    if baselines:
        _require_generator(options.generator)
    if SUMMARY in baselines:
        contexts = [*contexts, SUMMARY]
    legs: list[Legs] = [name for name in ("hyde", "summary-index") if name in baselines]
    rows = build_grid(
        contexts, rerank=options.reranker is not None, windows=windows, baselines=legs
    )
    return measure(questions, rows, options=options)


def measure(questions: QuestionSet, rows: Sequence[PipelineConfig], *, options: Options) -> Results:
    """Measure configurations; the results are grouped by their source of contexts."""
    sources = list(dict.fromkeys(row.contexts for row in rows))
    for source in sources:
        _check_source(source)
    documents = apply_file_spans(questions.documents, sources[0])
    chunk_chars = options.chunk_chars or _default_chunk_chars(documents)
    settings = {**(options.settings or {}), "chunk_chars": chunk_chars}
    groups = [[row for row in rows if row.contexts == source] for source in sources]
    values: list[Mapping[str, Values]] = []
    indexed: dict[str, IndexingStats] = {}
    _announce_baselines(questions, rows, options)
    with ExitStack() as stack:
        experiment = _open_experiment(questions.documents, options, settings, stack)
        for source, group in zip(sources, groups, strict=True):
            if options.on_contexts is not None:
                options.on_contexts(source)
            documents = apply_file_spans(questions.documents, source)
            indexed[source] = experiment.build_index(documents, source)
            values.append(experiment.measure(questions.queries, group, documents))
    return Results(
        set=questions.name,
        documents=len(questions.documents),
        queries=tuple(query.id for query in questions.queries),
        rows=tuple(row for group in groups for row in group),
        indexed=indexed,
        notes=tuple(experiment.notes),
        values={name: np.concatenate([each[name] for each in values]) for name in METRICS},
    )


def apply_file_spans(documents: Sequence[Document], contexts: str) -> list[Document]:
    """Return the documents, with the chunks of a contexts file if `contexts` names one."""
    from crx.context.file_contexts import FileContexts

    source = None if _is_generated(contexts) else load_context_sources(contexts).contextualizer
    if not isinstance(source, FileContexts):
        return list(documents)
    return [replace(d, chunks=source.spans(d.uri) or d.chunks) for d in documents]


class _Experiment:
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
        self._reranking = _reranking(options.reranker, settings, stored_scores)
        self._summaries = Summaries(options.generator) if options.generator else None
        self.notes: list[str] = []

    def build_index(self, documents: Sequence[Document], contexts: str) -> IndexingStats:
        """Index the documents with a source of contexts."""
        started = time.perf_counter()
        spec = parse_contexts(contexts)
        generated = _is_generated(contexts)
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
        """Return each metric of rows whose source of contexts was indexed last."""
        runner = QueryRunner(
            self._index,
            vectors=self._vectors,
            reranking=self._reranking,
        )
        baselines = self._rank_baselines(queries, {row.legs for row in rows}, documents, runner)
        values = run_queries(runner, queries, rows, baselines=baselines)
        self.notes += [
            f"{contexts_name(rows[0].contexts)}: {count} x {note}"
            for note, count in runner.notes.items()
        ]
        return values

    def _rank_baselines(
        self,
        queries: Sequence[Query],
        legs: set[Legs],
        documents: Sequence[Document],
        runner: QueryRunner,
    ) -> list[dict[str, TimedRanking]]:
        """Return the rankings of the baselines among the legs, for each query."""
        found: list[dict[str, TimedRanking]] = [{} for _ in queries]
        embedder, vectors = self._index.embedder, self._vectors
        if "summary-index" in legs:
            summary_index = SummaryIndex(
                self._index.store,
                documents,
                summaries=self._load_summaries(),
                embedder=embedder,
                vectors=vectors,
            )
            for query, rankings in zip(queries, found, strict=True):
                rankings["summary-index"] = summary_index.search(query, k=RANKING_DEPTH)
        if "hyde" in legs:
            generator = _require_generator(self._options.generator)
            hyde = HypotheticalAnswers(generator, embedder=embedder, vectors=vectors)
            for query, rankings in zip(queries, found, strict=True):
                rankings["hyde"] = hyde.search(query, runner)
        return found

    def _load_summaries(self) -> Summaries:
        _require_generator(self._options.generator)
        assert self._summaries is not None
        return self._summaries


def _announce_baselines(
    questions: QuestionSet, rows: Sequence[PipelineConfig], options: Options
) -> None:
    """Announce what the baselines send to a generator on another machine."""
    if options.generator is None or options.on_notice is None:
        return
    legs = {row.legs for row in rows}
    summarised = "summary-index" in legs or any(
        parse_contexts(row.contexts).source == SUMMARY for row in rows
    )
    openings = [each.text[:SUMMARY_CHARS] for each in questions.documents] if summarised else []
    asked = [query.text for query in questions.queries] if "hyde" in legs else []
    what = {"document": len(openings), "question": len(asked)}
    n_bytes = sum(map(text_bytes, openings + asked))
    notice = sending_notice(options.generator, what, n_bytes=n_bytes)
    if notice and n_bytes:
        options.on_notice(notice)


def _open_experiment(
    documents: Sequence[Document],
    options: Options,
    settings: Mapping[str, object],
    stack: ExitStack,
) -> _Experiment:
    """Open the index of the options, or one in a temporary folder, and the scores beside it."""
    folder = options.index
    if folder is None:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="crx-eval-"))) / "eval.crx"
    index = stack.enter_context(open_index(folder, settings=settings))
    _refuse_other_documents(index, documents)
    stored_scores = None
    if options.reranker is not None and options.index is not None:
        stored_scores = stack.enter_context(ScoreFile(index.path / SCORES_FILE))
    return _Experiment(index, options, resolve(settings).settings, stored_scores)


def _reranking(
    reranker: Reranker | None, settings: Settings, stored_scores: ScoreFile | None
) -> Reranking | None:
    """Return how to rerank: as a search does, but without a limit of time."""
    if reranker is None:
        return None
    return Reranking(
        reranker=TimedReranker(reranker, stored_scores=stored_scores),
        depth=settings.rerank_depth,
        weight=settings.rerank_weight,
        ms=0.0,
        min_relevance=settings.min_relevance,
        cache=ScoreCache(max_entries=MAX_CACHED_SCORES),
    )


def _is_generated(contexts: str) -> bool:
    """Return whether a model writes the contexts."""
    spec = parse_contexts(contexts)
    return spec.source == SUMMARY or bool(spec.source and not spec.is_file)


def _check_source(contexts: str) -> None:
    if not _is_generated(contexts):
        load_context_sources(contexts)


def _require_generator(generator: Generator | None) -> Generator:
    if generator is None:
        raise UsageError(
            "summary, hyde and summary-index need a generator, such as --with llama:PATH"
        )
    return generator


def _refuse_other_documents(index: Index, documents: Sequence[Document]) -> None:
    held = index.store.documents()
    others = {row.uri for row in held} - {each.uri for each in documents}
    if others:
        raise UsageError(
            f"{index.path}: holds {min(others)}, which is not in this set; name another folder"
        )
    for row in held:
        if "path" in orjson.loads(row.metadata):
            raise UsageError(
                f"{index.path}: an index of files, which an evaluation would overwrite; "
                "name another folder"
            )


def _default_chunk_chars(documents: Sequence[Document]) -> int:
    from crx import _native

    langs = [_native.detect_lang(document.text[:4000]) for document in documents]
    dense = sum(lang in DENSE_SCRIPT_LANGS for lang in langs)
    return CHUNK_CHARS // 2 if 2 * dense > len(langs) else CHUNK_CHARS
