"""Searcher over the snapshot of an engine; it meets the ports of retrieval.

Fusion, reranking and widening are the same code for a folder and for a database.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crx import _native
from crx.errors import UsageError
from crx.retrieve.ports import Found, Legs, Matching, Spread
from crx_engines.engine.bm25 import query_weights
from crx_engines.engine.protocol import (
    OUTCOME,
    Conditions,
    EngineSnapshot,
    FoundChunk,
    FoundDocument,
    Saturation,
)

# Chunks that are read at first on each side of a hit; more if those are not enough.
_EACH_SIDE = 8
# How far neighbours of a hit matter to the selection of passages: `REACH_TOKENS` of rust/passages.
_REACH_TOKENS = 512


@dataclass(frozen=True, slots=True)
class EngineSearcher:
    """One committed state of an engine.

    `langs` are the languages of the documents, most frequent first.
    """

    snapshot: EngineSnapshot
    langs: Sequence[str]

    @property
    def documents(self) -> EngineDocuments:
        """The rows of the index."""
        return EngineDocuments(self.snapshot)

    @property
    def terms(self) -> EngineLexical:
        """The terms of the index."""
        return EngineLexical(self.snapshot)

    @property
    def has_vectors(self) -> bool:
        """True: an index is copied with its vectors."""
        return True

    @property
    def exact(self) -> bool:
        """Whether a search compares the query with every vector."""
        return self.snapshot.exact

    @property
    def lag(self) -> int:
        """0: what is committed can be found at once."""
        return 0

    def counts(self) -> Mapping[str, int]:
        """Return counts as `_native.Store.stats` does, without those of files and failures."""
        stats = self.snapshot.stats()
        return {
            "documents": stats.documents,
            "chunks": stats.chunks,
            "tokens": stats.tokens,
            "vectors": stats.vectors,
            "pending": stats.pending,
            **{f"{OUTCOME}{name}": count for name, count in sorted(stats.outcomes.items())},
        }

    def failures(self) -> Sequence[tuple[str, str]]:
        """Return no failures: inputs are read where the index is built."""
        return ()

    def legs(self, where: Conditions | None) -> Legs:
        """Return the legs among the documents that meet a filter, which the engine applies."""
        return Legs(EngineLexical(self.snapshot, where), EngineDense(self.snapshot, where))

    def has_document(self, where: Conditions) -> bool:
        """Return whether a document meets a filter."""
        return self.snapshot.has_document(where=where)

    def matching(self, pattern: _native.Pattern, *, k: int, where: Conditions | None) -> Matching:
        """Raise `UsageError`: a database has no search for patterns."""
        raise UsageError(
            "a pattern is searched for in an index folder; this index is in a database"
        )

    def without_vector(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return none: an engine does not tell which chunks have no vector."""
        return np.empty(0, np.int64)

    def chunks(self, keys: Iterable[int]) -> list[FoundChunk]:
        """Return the chunks that a leg found."""
        return self.snapshot.rows(list(keys))


def make_searcher(snapshot: EngineSnapshot) -> EngineSearcher:
    """Return a searcher over a snapshot."""
    return EngineSearcher(snapshot, snapshot.stats().langs)


@dataclass(frozen=True, slots=True)
class EngineLexical:
    """The BM25 leg: the query's side of the inner product is made here, the engine sums."""

    snapshot: EngineSnapshot
    where: Conditions | None = None

    def search(
        self,
        query: str,
        *,
        k: int,
        name: str = "",
        langs: Sequence[str] | None = None,
        k1: float = 1.2,
        b: float = 0.75,
        weights: tuple[float, float, float] = (1.0, 1.0, 1.0),
    ) -> Found:
        """Return the best k chunks and their scores, as `_native.Lexical.search`."""
        saturation = Saturation(k1=k1, b=b, weights=weights)
        terms = _native.query_words(query, langs=["en"] if langs is None else langs, name=name)
        weighted = query_weights(terms, snapshot=self.snapshot, saturation=saturation)
        found = self.snapshot.sparse_topk(weighted, k=k, saturation=saturation, where=self.where)
        return found.keys, found.scores

    def query_terms(
        self, texts: Sequence[str], *, langs: Sequence[str]
    ) -> list[list[tuple[str, float]]]:
        """Return the terms of each text, as `_native.Lexical.query_terms`."""
        return _native.query_terms(texts, langs=langs)

    def has_term(self, term: str) -> bool:
        """Return whether any chunk holds a term."""
        return self.snapshot.doc_freqs([term], saturation=Saturation()) != [0]

    def are_known(self, words: Sequence[str], *, langs: Sequence[str]) -> list[bool]:
        """Return whether a chunk holds a term of each word, as `_native.Lexical.are_known`."""
        terms = ((term for lang in langs for term in _native.analyze(word, lang)) for word in words)
        return [any(map(self.has_term, of_word)) for of_word in terms]

    def containing(
        self, keys: NDArray[np.int64], *, words: Sequence[str], langs: Sequence[str]
    ) -> NDArray[np.int64]:
        """Return all chunks, any of which may hold the words: a database tells it by their text."""
        return keys

    def similar_terms(self, word: str, *, k: int) -> list[str]:
        """Return no term: a database has no index of terms by their spelling."""
        return []

    def compounds_of(self, part: str, *, k: int) -> list[str]:
        """Return no term, as `similar_terms`."""
        return []

    def chunks_with(self, term: str, *, k: int) -> NDArray[np.int64]:
        """Return no chunk: it is asked for a term that is spelled like a word."""
        return np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class EngineDense:
    """The dense leg.

    A database may answer from a graph, and limits how much it returns, so it has no `spread`.
    """

    snapshot: EngineSnapshot
    where: Conditions | None = None

    @property
    def faults(self) -> Sequence[str]:
        """No damaged files: a database has its own."""
        return ()

    def search(self, query: NDArray[np.float32], *, k: int) -> Found:
        """Return the k chunks of largest inner product, as `_native.Dense.search`."""
        found = self.snapshot.dense_topk(query, k=k, where=self.where)
        return found.keys, found.scores

    def spread(self, queries: NDArray[np.float32]) -> Spread | None:
        """Return None: not every vector is compared."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class EnginePassage:
    """A stretch of a document; the fields are those of `_native.PassageRow`."""

    doc: int
    start: int
    end: int
    first: int
    last: int
    tokens: int
    score: float
    hits: list[int]
    text: str
    lines: tuple[int, int]
    marks: str
    uri: str
    metadata: str


@dataclass(frozen=True, slots=True)
class EngineDocuments:
    """What a search reads of the documents; the methods are those of `_native.Store`."""

    snapshot: EngineSnapshot

    def metadata_fields(self) -> set[str]:
        """Return the names of the fields in the metadata of all documents."""
        return self.snapshot.fields()

    def document_by_id(self, doc: int) -> FoundDocument | None:
        """Return a document without its text."""
        found = self.snapshot.documents([doc])
        return found[0] if found else None

    def chunks(self, keys: NDArray[np.int64]) -> list[FoundChunk]:
        """Return the chunks of these keys, in their order; a key without a chunk is skipped."""
        return self.snapshot.rows(keys.tolist()) if len(keys) else []

    def select_passages(
        self,
        keys: NDArray[np.int64],
        scores: NDArray[np.float32],
        *,
        budget_tokens: int,
        within_section: bool = False,
        order: Literal["score", "document"] = "score",
    ) -> list[EnginePassage]:
        """Return passages as `_native.Store.select_passages` does."""
        hits, scores, indices = self._place(keys, scores)
        spans = _native.select_spans(
            hits,
            scores,
            self._layouts(hits, reach_tokens=_REACH_TOKENS),
            budget_tokens=budget_tokens,
            within_section=within_section,
            order=order,
        )
        return self._show(spans, indices)

    def expand_passages(
        self,
        keys: NDArray[np.int64],
        scores: NDArray[np.float32],
        *,
        budget_tokens: int | None = None,
        window: int | None = None,
        within_section: bool = False,
        order: Literal["score", "document"] = "score",
    ) -> list[EnginePassage]:
        """Return passages as `_native.Store.expand_passages` does."""
        hits, scores, indices = self._place(keys, scores)
        if budget_tokens is None:
            layouts = self._neighbours(hits, each_side=window or 0)
        else:
            layouts = self._layouts(hits, reach_tokens=budget_tokens)
        spans = _native.expand_spans(
            hits,
            scores,
            layouts,
            budget_tokens=budget_tokens,
            window=window,
            within_section=within_section,
            order=order,
        )
        return self._show(spans, indices)

    def _place(
        self, keys: NDArray[np.int64], scores: NDArray[np.float32]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32], list[int]]:
        """Return document and ordinal of each hit that exists, its score, and its index."""
        rows = {row.key: row for row in self.chunks(keys)}
        kept = [at for at, key in enumerate(keys.tolist()) if key in rows]
        positions = [(rows[key].doc, rows[key].ordinal) for key in keys[kept].tolist()]
        return np.array(positions, np.int64).reshape(-1, 2), scores[kept], kept

    def _neighbours(self, hits: NDArray[np.int64], *, each_side: int) -> NDArray[np.int64]:
        positions = [(doc, ordinal) for doc, ordinal in hits.tolist()]
        if not positions:
            return np.empty((0, 7), np.int64)
        return self.snapshot.neighbours(positions, each_side=each_side)

    def _layouts(self, hits: NDArray[np.int64], *, reach_tokens: int) -> NDArray[np.int64]:
        """Return the layout around hits, as far as so many tokens on each side."""
        each_side = _EACH_SIDE
        while True:
            layouts = self._neighbours(hits, each_side=each_side)
            if _reach(layouts, hits, each_side=each_side) > reach_tokens:
                return layouts
            each_side *= 4

    def _show(
        self, spans: Sequence[_native.PassageSpan], indices: Sequence[int]
    ) -> list[EnginePassage]:
        texts = self.snapshot.spans([(span.doc, span.start, span.end) for span in spans])
        return [
            EnginePassage(
                doc=span.doc,
                start=span.start,
                end=span.end,
                first=span.first,
                last=span.last,
                tokens=span.tokens,
                score=span.score,
                hits=[indices[hit] for hit in span.hits],
                text=text.text,
                lines=text.lines,
                marks=text.marks,
                uri=text.uri,
                metadata=text.metadata,
            )
            for span, text in zip(spans, texts, strict=True)
        ]


def _reach(layouts: NDArray[np.int64], hits: NDArray[np.int64], *, each_side: int) -> float:
    """Return the fewest tokens that a layout holds on a side of a hit, infinite at an end."""
    rows = {(doc, ordinal): (start, end) for doc, ordinal, _, _, start, end, _ in layouts.tolist()}
    least = float("inf")
    for doc, ordinal in hits.tolist():
        start, end = rows[doc, ordinal]
        if after := rows.get((doc, ordinal + each_side)):
            least = min(least, after[1] - end)
        if before := rows.get((doc, ordinal - each_side)):
            least = min(least, start - before[0])
    return least
