"""Query pipeline: both legs are searched, fused and reranked; hits become passages."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from crx import _native
from crx.errors import Damaged, Unavailable
from crx.ingest.embedding_prefix import embedding_prefix
from crx.ingest.source_code import is_source_code
from crx.ingest.split import labels_around
from crx.protocols import Embedder, Reranker
from crx.retrieve.canaries import require_found
from crx.retrieve.dense_languages import weigh_by_language
from crx.retrieve.dense_leg import search_dense
from crx.retrieve.document_name import (
    BEST_CHUNKS,
    NAMED_OUTLINE_FACTOR,
    DocumentName,
    find_document_name,
    most_common_document,
)
from crx.retrieve.exact import EXACT_DEPTH, find_phrases, inner_words, promote_exact
from crx.retrieve.fusion import WeightedRanking, fuse
from crx.retrieve.location import anchor_around, locate_passage
from crx.retrieve.query_language import declared_langs, undeclared_langs
from crx.retrieve.recency import (
    RECENCY_DEPTH,
    BoostedRanking,
    Recency,
    boost_recent,
    document_time,
)
from crx.retrieve.rerank import RerankResult, ScoreCache, rerank
from crx.retrieve.spelling import Correction, correct_spelling
from crx.retrieve.stage_timer import StageTimer
from crx.types import LEGS as LEGS
from crx.types import Hit, Mark, Passage, Stage
from crx.types import Leg as Leg
from crx.types import Ranking as Ranking
from crx.types import Result as Result
from crx.types import Window as Window

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

STAGES = (*LEGS, "recency", "rerank")
# How much more the dense leg weighs in the fusion if most of the best chunks are source code with
# outlines: their vectors hold the names of what they define. From 1.25 to 2.3, three sets of
# questions about source files gained 0 to 4 points at 20. Without outlines 1.5 gained nothing.
CODE_DENSE_FACTOR = 1.5
EMPTY = Ranking(np.empty(0, np.int64), np.empty(0, np.float32))


class RankingWeights(NamedTuple):
    """Parameters of BM25, of the two legs and of their fusion; see `config.Settings`."""

    bm25_depth: int
    dense_depth: int
    bm25_weight: float
    dense_weight: float
    score_share: float
    rrf_k: float
    k1: float
    b: float
    outline_weight: float
    context_weight: float


class Reranking(NamedTuple):
    """A reranker and its parameters; see `config.Settings`.

    `asked` tells whether this search asked for it: then a query that is not reranked, or not
    within the time, is noted.
    """

    reranker: Reranker
    depth: int
    weight: float
    ms: float
    min_relevance: float
    cache: ScoreCache
    asked: bool = True


class NamedRanking(NamedTuple):
    """The ranking of BM25, and the part of the query that names a document, if there is one."""

    ranking: Ranking
    name: DocumentName | None


class ChunkReader:
    """Reader of the store that reads each chunk once; one search has one."""

    def __init__(self, store: _native.Store, *, complete: bool) -> None:
        """With `complete` the store has every chunk that a leg finds, or is damaged."""
        self._store = store
        self._complete = complete
        self._rows: dict[int, _native.ChunkRow] = {}

    def read(self, keys: Iterable[int]) -> dict[int, _native.ChunkRow]:
        """Return the chunks of these keys, without those that were removed from the store since.

        Raises `Damaged` if one is missing that cannot have been removed.
        """
        wanted = list(keys)
        unread = [key for key in wanted if key not in self._rows]
        if unread:
            found = self._store.chunks(np.array(unread, dtype=np.int64))
            self._rows.update((row.key, row) for row in found)
            if self._complete and (lacking := set(unread) - self._rows.keys()):
                what = f"chunk {min(lacking)} is missing"
                raise Damaged(f"{self._store.path}: {what}; `crx verify` lists every fault")
        return {key: self._rows[key] for key in wanted if key in self._rows}


class Found(NamedTuple):
    """The hits of one search, best first."""

    hits: tuple[Hit, ...]
    notes: tuple[str, ...]


class Searcher:
    """Both legs of an index as of one sequence number, and the steps from rankings to passages."""

    def __init__(
        self,
        store: _native.Store,
        lexical: _native.Lexical,
        dense: _native.Dense,
        *,
        seq: int,
        langs: list[str] | None = None,
        complete: bool = False,
    ) -> None:
        """The legs hold the changes of the store up to sequence number `seq`.

        `langs` are the languages of the documents, most frequent first; by default the store is
        asked. With `complete` the store has every chunk that a leg finds, or is damaged.
        """
        self._store = store
        self._lexical = lexical
        self._dense = dense
        self._seq = seq
        self._known_faults = len(dense.faults)
        # The languages of the index, as of a sequence number of the store.
        self._cached_langs = None if langs is None else (seq, langs)
        self._complete = complete

    @property
    def store(self) -> _native.Store:
        """The store that hits and passages are read from."""
        return self._store

    def check_canaries(self, *, dimensions: int) -> None:
        """Look up the first chunk of the first, middle and last document in both legs.

        `dimensions` are 0 if not every chunk has a vector. Raises `Damaged` if one is not found.
        """
        docs = sorted(row.doc for row in self._store.documents())
        chosen = {docs[at] for at in (0, len(docs) // 2, -1)} if docs else set()
        require_found(
            self._store, chosen, lexical=self._lexical, dense=self._dense, dimensions=dimensions
        )

    @property
    def lexical(self) -> _native.Lexical:
        """The BM25 leg."""
        return self._lexical

    @property
    def dense(self) -> _native.Dense:
        """The dense leg."""
        return self._dense

    @property
    def seq(self) -> int:
        """The sequence number of the store whose changes the legs hold."""
        return self._seq

    @property
    def exact(self) -> bool:
        """Whether the dense leg compares the query with every vector."""
        return self._dense.exact

    def retrieve(
        self,
        query: str,
        *,
        weights: RankingWeights,
        embedder: Embedder | None,
        legs: Sequence[Leg] = LEGS,
        only: _native.Filter | None = None,
        timer: StageTimer | None = None,
        chunks: ChunkReader | None = None,
    ) -> dict[Leg, Ranking]:
        """Return the ranking of each leg; the legs are searched in parallel.

        If the best chunks of BM25 show that a part of the query names a document, its words weigh
        less in both legs (see `document_name`).
        """
        timer = timer or StageTimer()
        chunks = chunks or self._chunk_reader()
        rankings: dict[Leg, Ranking] = {}
        search_bm25 = partial(
            self._bm25_and_name, query, weights=weights, only=only, timer=timer, chunks=chunks
        )
        is_bm25 = "bm25" in legs and weights.bm25_depth > 0
        if "dense" in legs and weights.dense_depth and embedder is not None:
            named = _bm25_threads().submit(search_bm25) if is_bm25 else None
            with timer.stage("embed"):
                vector = embedder.embed([query], query=True)[0]
                if named and (name := named.result().name):
                    vector = _unit(vector + embedder.embed([name.rest], query=True)[0])
            with timer.stage("dense"):
                rankings["dense"] = search_dense(
                    self._dense, self._store, vector, k=weights.dense_depth, only=only
                )
            if named:
                rankings["bm25"] = named.result().ranking
        elif is_bm25:
            rankings["bm25"] = search_bm25().ranking
        return rankings

    def _bm25_and_name(
        self,
        query: str,
        *,
        weights: RankingWeights,
        only: _native.Filter | None,
        timer: StageTimer,
        chunks: ChunkReader,
    ) -> NamedRanking:
        with timer.stage("bm25"):
            ranking = self._bm25(query, weights=weights, only=only)
            rows = chunks.read(ranking.keys[:BEST_CHUNKS].tolist()).values()
            name = self._find_document_name(query, rows)
            if name:
                outline_weight = NAMED_OUTLINE_FACTOR * weights.outline_weight
                weights = weights._replace(outline_weight=outline_weight)
                ranking = self._bm25(query, weights=weights, only=only, name=name.name)
        return NamedRanking(ranking, name)

    def _find_document_name(
        self, query: str, rows: Collection[_native.ChunkRow]
    ) -> DocumentName | None:
        # Most queries name no document, which is seen before any text is.
        if most_common_document(row.doc for row in rows) is None:
            return None
        # The name of a definition is in its own source code, where repeating it is a good sign.
        prose = [(row.doc, row.outline) for row in rows if not is_source_code(row.text)]
        return find_document_name(query, prose, lexical=self._lexical, langs=self._langs())

    def _bm25(
        self, query: str, *, weights: RankingWeights, only: _native.Filter | None, name: str = ""
    ) -> Ranking:
        """Return the ranking of BM25; the terms of `name` have half their weight."""
        found = self._lexical.search(
            query,
            k=weights.bm25_depth,
            name=name,
            langs=self._langs(),
            k1=weights.k1,
            b=weights.b,
            weights=(1.0, weights.outline_weight, weights.context_weight),
            only=only,
        )
        return Ranking(*found)

    def _langs(self) -> list[str]:
        """Return the languages of the index, most frequent first."""
        seq = self._store.seq
        if self._cached_langs is None or self._cached_langs[0] != seq:
            self._cached_langs = seq, self._store.langs()
        return self._cached_langs[1]

    def correct_spelling(self, query: str) -> Correction | None:
        """Return the query with the words that no document has replaced; None if there are none."""
        return correct_spelling(
            query, lexical=self._lexical, store=self._store, langs=self._langs()
        )

    def search(
        self,
        query: str,
        *,
        weights: RankingWeights,
        k: int,
        embedder: Embedder | None,
        legs: Sequence[Leg] = LEGS,
        only: _native.Filter | None = None,
        reranking: Reranking | None = None,
        recency: Recency | None = None,
        timer: StageTimer | None = None,
    ) -> Found:
        """Return the k best hits, and notes on the stages, which `timer` times.

        If the embedder's service is down, BM25 is searched alone, and a note says so.
        """
        timer = timer or StageTimer()
        chunks = self._chunk_reader()
        retrieve = partial(
            self.retrieve, query, weights=weights, only=only, timer=timer, chunks=chunks
        )
        left_out: tuple[str, ...] = ()
        with timer.stage("retrieve"):
            try:
                by_leg = retrieve(embedder=embedder, legs=legs)
            except Unavailable as error:
                if "bm25" not in legs:
                    raise
                by_leg, left_out = retrieve(embedder=None, legs=legs), (note_left_out(error),)
        rankings: dict[str, Ranking] = dict(by_leg.items())
        depth = max(k, reranking.depth) if reranking else k
        with timer.stage("fuse"):
            fused, fusion_notes = self.fuse(
                query,
                by_leg,
                weights=weights,
                embedder=embedder,
                k=max(depth, RECENCY_DEPTH) if recency else depth,
                chunks=chunks,
            )
        notes = (*left_out, *self._new_faults(), *fusion_notes)
        if recency:
            with timer.stage("recency"):
                boosted = self.boost_recent(fused, recency=recency, k=depth)
            fused, rankings["recency"] = boosted.ranking, boosted.ages
            notes += boosted.notes
        if reranking:
            with timer.stage("rerank"):
                reranked = self.rerank(query, fused, reranking=reranking, k=k, chunks=chunks)
            fused, rankings["rerank"] = reranked.ranking, reranked.scored
            notes += reranked.notes
            if reranking.asked and reranked.limit:
                notes += (reranked.limit,)
        if phrases := find_phrases(query):
            with timer.stage("exact"):
                fused = self._promote_exact(phrases, fused, by_leg, chunks)
        with timer.stage("hits"):
            hits = self.hits(fused, rankings, chunks=chunks)
        return Found(tuple(hits), notes)

    def _new_faults(self) -> list[str]:
        """Return the damaged files that were found since they were last asked for, a line each."""
        faults = self._dense.faults
        known, self._known_faults = self._known_faults, len(faults)
        return faults[known:]

    def fuse(
        self,
        query: str,
        by_leg: Mapping[Leg, Ranking],
        *,
        weights: RankingWeights,
        embedder: Embedder | None,
        k: int,
        chunks: ChunkReader | None = None,
    ) -> tuple[Ranking, tuple[str, ...]]:
        """Return the best k of the legs' rankings, and notes; a single leg keeps its ranking.

        The dense leg weighs more if most of the best chunks of BM25 are source code with outlines.
        """
        if len(by_leg) < 2:
            (only,) = by_leg.values() or [EMPTY]
            return Ranking(only.keys[:k], only.scores[:k]), ()
        assert embedder is not None, "a dense ranking, and no embedder"
        bm25, dense = by_leg["bm25"], by_leg["dense"]
        by_language, note = weigh_by_language(
            embedder, query, dense.keys, langs=self._langs(), langs_of=self._langs_of
        )
        dense_weight = weights.dense_weight * by_language
        if self._are_outlined_code(bm25.keys[:BEST_CHUNKS], chunks or self._chunk_reader()):
            dense_weight = CODE_DENSE_FACTOR * dense_weight
        weighted = [
            WeightedRanking(bm25, np.full(len(bm25.keys), weights.bm25_weight), 0.0),
            # A cosine has no natural zero: that of the last hit is taken.
            WeightedRanking(dense, dense_weight, float(dense.scores.min(initial=1.0))),
        ]
        fused = fuse(weighted, score_share=weights.score_share, rrf_k=weights.rrf_k, k=k)
        return fused, (note,) if note else ()

    def _are_outlined_code(self, keys: NDArray[np.int64], chunks: ChunkReader) -> bool:
        """Return whether most of some chunks are source code with an outline."""
        rows = chunks.read(keys.tolist()).values()
        return 2 * sum(bool(row.outline) and is_source_code(row.text) for row in rows) > len(rows)

    def boost_recent(self, fused: Ranking, *, recency: Recency, k: int) -> BoostedRanking:
        """Return the best k of a fused ranking after raising the scores of newer documents."""
        rows = self._chunk_reader().read(fused.keys.tolist())
        documents = {doc: self._store.document_by_id(doc) for doc in {r.doc for r in rows.values()}}
        found = {
            key: document_time(document, recency.field)
            for key, row in rows.items()
            if (document := documents[row.doc]) is not None
        }
        times = {key: time for key, time in found.items() if time is not None}
        boosted = boost_recent(fused, times, recency)
        ranking = boosted.ranking
        return boosted._replace(ranking=Ranking(ranking.keys[:k], ranking.scores[:k]))

    def _promote_exact(
        self,
        phrases: Sequence[str],
        fused: Ranking,
        by_leg: Mapping[Leg, Ranking],
        chunks: ChunkReader,
    ) -> Ranking:
        """Return the ranking with the exact matches first."""
        bm25 = by_leg.get("bm25", EMPTY).keys[:EXACT_DEPTH]
        # Most chunks lack a word, which BM25 tells faster than their texts.
        if words := inner_words(phrases):
            bm25 = self._lexical.holding(bm25, words=words, langs=["", *self._langs()])
        candidates = bm25.tolist()
        rows = chunks.read(sorted({*candidates, *fused.keys.tolist()}))
        return promote_exact(phrases, fused, candidates, rows)

    def _chunk_reader(self) -> ChunkReader:
        return ChunkReader(self._store, complete=self._complete)

    def _langs_of(self, keys: NDArray[np.int64]) -> list[str]:
        """Return the language of each chunk, "" for one that was removed from the store since."""
        rows = self._chunk_reader().read(keys.tolist())
        return [rows[key].lang if key in rows else "" for key in keys.tolist()]

    def rerank(
        self,
        query: str,
        fused: Ranking,
        *,
        reranking: Reranking,
        k: int,
        chunks: ChunkReader | None = None,
    ) -> RerankResult:
        """Return the best k of a fused ranking after reranking its first `depth` candidates.

        Source code, and chunks in a language that the reranker does not read, keep their places.
        """
        # A chunk that was removed from the store since the legs were searched is no candidate.
        head, tail = np.split(fused.keys, [reranking.depth])
        rows = (chunks or self._chunk_reader()).read(head.tolist())
        stored = np.array([key in rows for key in head.tolist()], bool)
        stored = np.concatenate([stored, np.ones(len(tail), bool)])
        candidates = [rows[key] for key in head.tolist() if key in rows]
        undeclared = undeclared_langs(declared_langs(reranking.reranker), self._langs())
        unread = np.array([row.lang in undeclared for row in candidates], bool)
        is_code = np.array([is_source_code(row.text) for row in candidates], bool)
        reranked = rerank(
            query,
            Ranking(fused.keys[stored], fused.scores[stored]),
            [situated_text(row) for row in candidates],
            reranker=reranking.reranker,
            weight=reranking.weight,
            k=k,
            ms=reranking.ms,
            min_relevance=reranking.min_relevance,
            langs=self._langs(),
            in_place=unread | is_code,
            cache=reranking.cache,
        )
        if reranked.limit or not unread.any():
            return reranked
        found = {row.lang for row in candidates}
        which = ", ".join(lang for lang in undeclared if lang in found)
        limit = f"not reranked: {unread.sum()} hits in {which}, which the reranker does not read"
        return reranked._replace(limit=limit)

    def hits(
        self,
        fused: Ranking,
        rankings: Mapping[str, Ranking],
        *,
        chunks: ChunkReader | None = None,
    ) -> list[Hit]:
        """Return the hits of a ranking, without chunks that were removed from the store since."""
        keys = set(fused.keys.tolist())
        stages = {name: _stages(rankings[name], keys) for name in STAGES if name in rankings}
        rows = (chunks or self._chunk_reader()).read(fused.keys.tolist())
        return [
            Hit(
                key=key,
                score=score,
                uri=row.uri,
                title=row.title,
                ordinal=row.ordinal,
                start=row.start,
                end=row.end,
                text=row.text,
                outline=row.outline,
                context=row.context,
                stages={name: of[key] for name, of in stages.items() if key in of},
            )
            for key, score in zip(fused.keys.tolist(), fused.scores.tolist(), strict=True)
            if (row := rows.get(key))
        ]

    def widen(
        self,
        hits: Sequence[Hit],
        *,
        window: Window,
        budget_tokens: int,
        window_tokens: int,
        within_section: bool = False,
        order: Literal["score", "document"] = "score",
    ) -> list[Passage]:
        """Return the passages around hits, which are ordered best first.

        `window="auto"` selects the passages that are worth most within `budget_tokens` in total,
        so that a hit may be in none. "grow" expands each hit up to `window_tokens`; a number
        expands it by that many chunks on each side.
        """
        keys = np.array([hit.key for hit in hits], dtype=np.int64)
        scores = np.array([hit.score for hit in hits], dtype=np.float32)
        if window == "auto":
            rows = self._store.select_passages(
                keys,
                scores,
                budget_tokens=budget_tokens,
                within_section=within_section,
                order=order,
            )
        else:
            rows = self._store.expand_passages(
                keys,
                scores,
                budget_tokens=window_tokens if window == "grow" else None,
                window=None if window == "grow" else window,
                within_section=within_section,
                order=order,
            )
        return [_passage(row, hits) for row in rows]


def note_left_out(error: Unavailable) -> str:
    """Return the note on a search without the dense leg."""
    return f"dense leg left out: {error}"


@cache
def _bm25_threads() -> ThreadPoolExecutor:
    """Return the threads that search the BM25 leg beside the dense one, shared by all searches."""
    from concurrent.futures import ThreadPoolExecutor  # a search of one leg has no thread

    return ThreadPoolExecutor(thread_name_prefix="crx-bm25")


if hasattr(os, "register_at_fork"):
    # A child has none of its parent's threads.
    os.register_at_fork(after_in_child=_bm25_threads.cache_clear)


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(vector / (np.linalg.norm(vector) or 1), np.float32)


def situated_text(row: _native.ChunkRow) -> str:
    """Return a chunk after its outline and context, as the embedder and the reranker read it."""
    before = embedding_prefix(row.outline, row.context)
    return f"{before}\n{row.text}" if before else row.text


def read_marks(marks: str) -> list[Mark]:
    """Parse the marks that the store keeps as JSON."""
    return [Mark(**mark) for mark in orjson.loads(marks)]


def pages_around(marks: Sequence[Mark], start: int, end: int) -> tuple[str, str] | None:
    """Return the labels of the first and the last page of a span, if it has pages."""
    pages = [m.label for m in marks if m.kind == "page" and m.start < end and m.end > start]
    return (pages[0], pages[-1]) if pages else None


def _passage(row: _native.PassageRow, hits: Sequence[Hit]) -> Passage:
    best = hits[row.hits[0]]
    marks = read_marks(row.marks)
    passage = Passage(
        uri=best.uri,
        title=best.title,
        start=row.start,
        end=row.end,
        text=row.text,
        score=row.score,
        tokens=row.tokens,
        hits=tuple(hits[i] for i in row.hits),
        headings=labels_around(marks, best.start),
        lines=row.lines,
        pages=pages_around(marks, row.start, row.end),
        anchor=anchor_around(marks, row.start, row.end),
    )
    return locate_passage(passage, uri=row.uri, metadata=orjson.loads(row.metadata))


def _stages(ranking: Ranking, keys: Collection[int]) -> dict[int, Stage]:
    """Return the rank and the score of those of the keys that a ranking has."""
    ranked = zip(ranking.keys.tolist(), ranking.scores.tolist(), strict=True)
    return {
        key: Stage(rank, score) for rank, (key, score) in enumerate(ranked, start=1) if key in keys
    }
