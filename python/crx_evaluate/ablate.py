"""Ablation: index a question set with each source of contexts and measure every configuration.

All sources share one index, which keeps vectors by content, so a text is embedded once. A question
is embedded once, and a pair of question and text is reranked once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

import numpy as np

from crx import _native
from crx._context.records import FileContexts
from crx.config import Value, resolve, setting_values
from crx.context_registry import load_context_sources, parse_contexts
from crx.errors import UsageError
from crx.ingest.split import split
from crx.retrieve.search import MEASURED
from crx.sending import sending_notice, text_bytes
from crx.types import Document
from crx_evaluate.baselines import (
    SUMMARY_CHARS,
)
from crx_evaluate.datasets import QuestionSet
from crx_evaluate.experiment import Options, is_generated, open_experiment, require_generator
from crx_evaluate.pipeline_config import (
    SUMMARY,
    Legs,
    PipelineConfig,
    build_grid,
)
from crx_evaluate.results import METRICS, IndexingStats, Results, Values

# The first and the end of some characters of a text, in code points.
Span = tuple[int, int]

# Characters of a chunk; a Han or kana character carries about as much as two Latin letters.
CHUNK_CHARS = 800
DENSE_SCRIPT_LANGS = frozenset({"zh", "ja"})
BASELINES = (SUMMARY, "hyde", "summary-index")


def ablate(
    questions: QuestionSet,
    *,
    contexts: Sequence[str],
    baselines: Sequence[str] = (),
    windows: bool = True,
    rules: bool = False,
    options: Options | None = None,
) -> Results:
    """Measure every configuration of each source of `contexts`, and the `baselines`.

    With `rules`, each rule of the order is also left out, one at a time.

    Raises `UsageError` for an unknown source or baseline, and for baselines without a generator.
    """
    options = options or Options()
    for name in baselines:
        if name not in BASELINES:
            raise UsageError(f"{name}: no such baseline; use {', '.join(BASELINES)}")
    if baselines:
        require_generator(options.generator)
    if SUMMARY in baselines:
        contexts = [*contexts, SUMMARY]
    legs: list[Legs] = [name for name in ("hyde", "summary-index") if name in baselines]
    rows = build_grid(
        contexts,
        rerank=options.reranker is not None,
        windows=windows,
        baselines=legs,
        rules=MEASURED if rules else (),
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
    langs = tuple(query.lang for query in questions.queries)
    kinds = tuple(query.kind for query in questions.queries)
    groups = [[row for row in rows if row.contexts == source] for source in sources]
    values: list[Mapping[str, Values]] = []
    indexed: dict[str, IndexingStats] = {}
    _announce_baselines(questions, rows, options)
    with ExitStack() as stack:
        experiment = open_experiment(questions.documents, options, settings, stack)
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
        notes=(*questions.notes, *experiment.notes),
        langs=langs if any(langs) else (),
        kinds=kinds if any(kinds) else (),
        settings=_settings_in_effect(settings, options),
        failed_at=options.failed_at,
        failures=experiment.failures,
        values={name: np.concatenate([value[name] for value in values]) for name in METRICS},
    )


def _settings_in_effect(given: Mapping[str, object], options: Options) -> dict[str, Value]:
    """Return the settings of a run; its rows name the contexts."""
    settings = setting_values(resolve(given).settings)
    del settings["contexts"]
    reranker = options.reranker
    return {**settings, "reranker": reranker.fingerprint if reranker is not None else ""}


def apply_file_spans(documents: Sequence[Document], contexts: str) -> list[Document]:
    """Return the documents, with the chunks of a contexts file if `contexts` names one.

    What the file has no context for, such as a chunk whose context was rejected, remains a chunk.
    """
    source = None if is_generated(contexts) else load_context_sources(contexts).contextualizer
    if not isinstance(source, FileContexts):
        return list(documents)
    return [
        replace(document, chunks=add_other_spans(document, spans)) if spans else document
        for document in documents
        for spans in [source.spans(document.uri)]
    ]


def add_other_spans(document: Document, spans: Sequence[Span]) -> tuple[Span, ...]:
    """Return spans of a document, and chunks of the text outside of them, in order.

    These are the document's own chunks, as far as they are outside; of a document without chunks,
    new ones that are not longer than the longest span.
    """
    longest = max(end - start for start, end in spans)
    none = np.empty(0, dtype=np.uint32)
    own = split(document, token_starts=none, budget=longest, in_chars=True)
    outside = (part for chunk in own for part in _subtract((chunk.start, chunk.end), spans))
    texts = [(start, end) for start, end in outside if document.text[start:end].strip()]
    return tuple(sorted([*spans, *texts]))


def _subtract(span: Span, others: Sequence[Span]) -> Iterator[Span]:
    """Yield the parts of a span that are in none of the others, which are in order."""
    start, end = span
    for first, last in others:
        if first >= end:
            break
        if last > start:
            if first > start:
                yield start, first
            start = last
    if start < end:
        yield start, end


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
    openings = (
        [document.text[:SUMMARY_CHARS] for document in questions.documents] if summarised else []
    )
    asked = [query.text for query in questions.queries] if "hyde" in legs else []
    what = {"document": len(openings), "question": len(asked)}
    n_bytes = sum(map(text_bytes, openings + asked))
    notice = sending_notice(options.generator, what, n_bytes=n_bytes)
    if notice and n_bytes:
        options.on_notice(notice)


def _check_source(contexts: str) -> None:
    if not is_generated(contexts):
        load_context_sources(contexts)


def _default_chunk_chars(documents: Sequence[Document]) -> int:
    langs = [_native.detect_lang(document.text[:4000]) for document in documents]
    dense = sum(lang in DENSE_SCRIPT_LANGS for lang in langs)
    return CHUNK_CHARS // 2 if 2 * dense > len(langs) else CHUNK_CHARS
