"""One configuration on one question set: index, ask every question, count."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from crx.build import Progress
from crx.contextualize import parse_rungs
from crx.errors import UsageError
from crx.evaluate.metrics import ranks_found, recall_at_k, reciprocal_rank
from crx.evaluate.sets import Place, Query, QuestionSet
from crx.index import Index
from crx.index import open as open_index
from crx.search import LEGS, Leg, Ranking, fuse
from crx.types import Document

DEPTHS = (1, 5, 10, 20)
# Characters of a chunk cut here; a Han or kana character says about as much as two Latin ones.
CHUNK_CHARS = 800
DENSE_SCRIPTS = frozenset({"zh", "ja"})


@dataclass(frozen=True, slots=True)
class LegFigures:
    """What one leg, or their fusion, finds: means over queries; tokens held by the top 20."""

    recall: Mapping[int, float]
    mrr: float
    tokens: float
    ms_per_query: float

    @property
    def failure_rate(self) -> float:
        """1 - recall@20."""
        return 1 - self.recall[20]


@dataclass(frozen=True, slots=True)
class RunFigures:
    """One configuration on one set."""

    set: str
    contexts: str
    documents: int
    chunks: int
    queries: int
    index_seconds: float
    embedded: int
    windowed: int
    legs: Mapping[str, LegFigures]


def run(
    questions: QuestionSet,
    *,
    contexts: str = "outline",
    index: Path | None = None,
    chunk_chars: int | None = None,
    settings: Mapping[str, object] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> RunFigures:
    """Index a set (into `index`, else a temporary folder) and ask all of its questions."""
    documents = with_spans(questions.documents, contexts)
    chars = chunk_chars or _chunk_chars(documents)
    given = {**(settings or {}), "chunk_chars": chars}
    with ExitStack() as stack:
        place = (
            index or Path(stack.enter_context(TemporaryDirectory(prefix="crx-eval-"))) / "eval.crx"
        )
        opened = stack.enter_context(open_index(place, settings=given))
        _refuse_others(opened, documents)
        started = time.perf_counter()
        report = opened.add_documents(documents, contexts=contexts, on_progress=on_progress)
        seconds = time.perf_counter() - started
        legs = _ask(opened, questions.queries)
        chunks = opened.store.stats()["chunks"]
    return RunFigures(
        set=questions.name,
        contexts=contexts,
        documents=len(documents),
        chunks=chunks,
        queries=len(questions.queries),
        index_seconds=seconds,
        embedded=report.embedded,
        windowed=report.windowed,
        legs=legs,
    )


def with_spans(documents: Sequence[Document], contexts: str) -> list[Document]:
    """Return the documents, cut where a contexts file was made for such spans."""
    from crx.backends.file import FileContexts

    maker = parse_rungs(contexts).contextualizer
    if not isinstance(maker, FileContexts):
        return list(documents)
    return [replace(d, chunks=maker.spans(d.uri) or d.chunks) for d in documents]


def _refuse_others(index: Index, documents: Sequence[Document]) -> None:
    others = {row.uri for row in index.store.documents()} - {each.uri for each in documents}
    if others:
        raise UsageError(f"{index.path}: holds {min(others)}, which is not of this set")


def _chunk_chars(documents: Sequence[Document]) -> int:
    from crx import _native

    langs = [_native.detect_lang(document.text[:4000]) for document in documents]
    dense = sum(lang in DENSE_SCRIPTS for lang in langs)
    return CHUNK_CHARS // 2 if 2 * dense > len(langs) else CHUNK_CHARS


def _ask(index: Index, queries: Sequence[Query]) -> dict[str, LegFigures]:
    tallies = {name: _Tally() for name in (*LEGS, "hybrid")}
    weights = index.weights()
    searcher, embedder = index.searcher(), index.embedder
    for query in queries:
        rankings: dict[Leg, Ranking] = {}
        elapsed: dict[Leg, float] = {}
        for leg in LEGS:
            started = time.perf_counter()
            rankings |= searcher.retrieve(
                query.text, weights=weights, legs=(leg,), embedder=embedder
            )
            elapsed[leg] = time.perf_counter() - started
            tallies[leg].add(index, query, fuse({leg: rankings[leg]}, weights=weights, k=20))
            tallies[leg].seconds += elapsed[leg]
        started = time.perf_counter()
        fused = fuse(rankings, weights=weights, k=20)
        tallies["hybrid"].seconds += time.perf_counter() - started + max(elapsed.values())
        tallies["hybrid"].add(index, query, fused)
    return {name: tally.figures(len(queries)) for name, tally in tallies.items()}


class _Tally:
    """Sums over queries."""

    def __init__(self) -> None:
        self.recall = dict.fromkeys(DEPTHS, 0.0)
        self.mrr = self.seconds = 0.0
        self.tokens = 0

    def add(self, index: Index, query: Query, ranking: Ranking) -> None:
        rows = index.store.chunks(ranking.keys)
        ranks = ranks_found([Place(r.uri, r.start, r.end) for r in rows], query.gold)
        for k in DEPTHS:
            self.recall[k] += recall_at_k(ranks, k)
        self.mrr += reciprocal_rank(ranks)
        self.tokens += sum(row.token_end - row.token_start for row in rows)

    def figures(self, queries: int) -> LegFigures:
        return LegFigures(
            recall={k: total / queries for k, total in self.recall.items()},
            mrr=self.mrr / queries,
            tokens=self.tokens / queries,
            ms_per_query=1000 * self.seconds / queries,
        )
