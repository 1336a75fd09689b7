"""Reads of one committed state of an index in Milvus."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import orjson
from numpy.typing import NDArray

from crx.errors import SystemFailure
from crx.types import Ranking
from crx_engines.engine.filter_tests import elements_of
from crx_engines.engine.protocol import (
    CollectionStatistics,
    Conditions,
    FoundChunk,
    FoundDocument,
    FoundSpan,
    Saturation,
    StoredDocument,
    lines_of,
)
from crx_engines.engine.sums import make_statistics
from crx_engines.milvus.committed_state import IndexState, counted_rows, read_state
from crx_engines.milvus.document_rows import (
    PIECE_CHARS,
    mark_piece,
    text_piece,
)
from crx_engines.milvus.milvus_collections import CHUNK, DOCUMENT, FREQ, HNSW, PIECE, VECTOR
from crx_engines.milvus.milvus_condition import MilvusCondition, token
from crx_engines.milvus.milvus_connection import MOST_RESULTS, MilvusConnection, StoredRow
from crx_engines.milvus.milvus_writer import GRACE_S
from crx_engines.milvus.read_rows import found_chunk, found_document, stored_chunk
from crx_engines.milvus.term_rows import (
    BUCKETS,
    TermSums,
    decode_counts,
    dimension,
    doc_freq,
    hash_term,
    most_increase,
)
from crx_engines.rankings import best_ranking

# Candidates of the sparse vectors for each result, at first.
_OVERSAMPLE = 4
_LEAST_CANDIDATES = 100
# What 32-bit floats and another order of adding up may change of a score.
_ROUNDING = 1 + 1e-5
# Hits beyond k in which Milvus may have put equals of the last one.
_TIES = 16
_HNSW_CANDIDATES = 600

_CHUNK_FIELDS = (
    *("chunk", "born", "doc", "ordinal", "start", "end", "token_start", "token_end", "section"),
    *("outline", "context", "vector_key"),
)
_LAYOUT_FIELDS = ("doc", "ordinal", "start", "end", "token_start", "token_end", "section")
_DOCUMENT_FIELDS = (
    *("doc", "uri", "title", "lang", "kind", "metadata", "source_hash", "source_size"),
    *("source_mtime_ns", "first_chunk", "chunks", "mark_pieces"),
)


class MilvusSnapshot:
    """One committed state. Rows of documents are kept for as long as it is used."""

    def __init__(
        self, connection: MilvusConnection, state: IndexState, *, dense_index: str
    ) -> None:
        self._connection = connection
        self._state = state
        self._dense_index = dense_index
        self._checked_at = time.monotonic()
        self._lock = threading.Lock()
        self._documents: dict[int, StoredRow] = {}
        self._docs: dict[str, int] = {}
        self._freqs: dict[int, TermSums] = {}

    @property
    def missing(self) -> tuple[str, ...]:
        """No part of an index in Milvus is missing."""
        return ()

    @property
    def exact(self) -> bool:
        """Whether `dense_topk` compares the query with every vector."""
        return self._dense_index != HNSW

    def stats(self) -> CollectionStatistics:
        """Return the statistics of the state."""
        commit = self._state.commit
        return make_statistics(commit.totals, version=commit.number)

    def doc_freqs(self, terms: Sequence[str], *, saturation: Saturation) -> list[int]:
        """Return how many chunks hold each term in a field of positive weight."""
        hashes = [hash_term(term) for term in terms]
        freqs = self._read_freqs({each % BUCKETS for each in hashes})
        return [doc_freq(freqs[each % BUCKETS], each, saturation) for each in hashes]

    def _read_freqs(self, buckets: set[int]) -> dict[int, TermSums]:
        with self._lock:
            if missing := sorted(buckets - self._freqs.keys()):
                self._check()
                where = f"{counted_rows(self._state.commit)} and bucket in {missing}"
                sums = {bucket: TermSums() for bucket in missing}
                for row in self._connection.query(FREQ, where, fields=["bucket", "body"]):
                    sums[row["bucket"]].add_encoded(row["body"])
                self._freqs.update(sums)
            return {bucket: self._freqs[bucket] for bucket in buckets}

    def dense_topk(
        self, vector: NDArray[np.float32], *, k: int, where: Conditions | None
    ) -> Ranking:
        """Return the k chunks of largest inner product with a vector."""
        self._check()
        if not self._state.commit.dimensions:
            return best_ranking(np.empty(0, np.int64), np.empty(0, np.float32), k=k)
        expression = self._expression(where)
        k = min(k, MOST_RESULTS)
        limit = min(k + _TIES, MOST_RESULTS)
        while True:
            parameters = {} if self.exact else {"ef": max(_HNSW_CANDIDATES, limit)}
            found = self._connection.search(
                VECTOR,
                field="dense",
                vector=vector.astype(np.float32).tolist(),
                where=expression,
                limit=limit,
                key="chunk",
                parameters=parameters,
            )
            is_tied = len(found.keys) == limit and found.scores[-1] >= found.scores[k - 1]
            if not is_tied or limit == MOST_RESULTS:
                return best_ranking(found.keys, found.scores, k=k)
            limit = min(4 * limit, MOST_RESULTS)

    def sparse_topk(
        self,
        weights: Sequence[tuple[str, float]],
        *,
        k: int,
        saturation: Saturation,
        where: Conditions | None,
    ) -> Ranking:
        """Return the k chunks of largest inner product of the query and their saturations.

        Milvus finds candidates by the stored saturations, which are of another mean length. They
        are scored exactly; if one that was not found could be among the best k, more are asked for.
        """
        self._check()
        query: dict[int, float] = {}
        for term, weight in weights:
            query[hash_term(term)] = query.get(hash_term(term), 0.0) + weight
        vector: dict[int, float] = {}
        for term_hash, weight in query.items():
            at = dimension(term_hash)
            vector[at] = vector.get(at, 0.0) + weight
        if not vector or not self._state.commit.mean_length:
            return best_ranking(np.empty(0, np.int64), np.empty(0, np.float32), k=k)
        mean = self.stats().mean_length(saturation) or 1.0
        increase = most_increase(
            saturation, mean_length=mean, stored_mean=self._state.commit.mean_length
        )
        expression = self._expression(where)
        scored: dict[int, float] = {}
        limit = min(max(_OVERSAMPLE * k, _LEAST_CANDIDATES), MOST_RESULTS)
        while True:
            found = self._connection.search(
                CHUNK,
                field="sparse",
                vector=vector,
                where=expression,
                limit=limit,
                key="chunk",
                parameters={},
            )
            new = [key for key in found.keys.tolist() if key not in scored]
            scored.update(self._score(new, query, saturation=saturation, mean_length=mean))
            scores = np.array([scored.get(key, 0.0) for key in found.keys.tolist()], np.float32)
            best = best_ranking(found.keys[scores > 0], scores[scores > 0], k=k)
            if len(found.keys) < limit or limit == MOST_RESULTS:
                return best
            least = best.scores[k - 1] if len(best.keys) >= k else 0.0
            if least > found.scores[-1] * increase * _ROUNDING:
                return best
            limit = min(4 * limit, MOST_RESULTS)

    def _score(
        self,
        keys: Sequence[int],
        query: Mapping[int, float],
        *,
        saturation: Saturation,
        mean_length: float,
    ) -> dict[int, float]:
        """Return the exact score of each of the chunks."""
        hashes = np.array(list(query), np.uint64)
        shares = np.array(list(query.values()))
        fields = ["chunk", "terms", "text_length", "outline_length", "context_length"]
        scores = {}
        for row in self._connection.get(CHUNK, "chunk", keys, fields=fields):
            terms, counts = decode_counts(row["terms"])
            at = np.minimum(np.searchsorted(terms, hashes), max(0, len(terms) - 1))
            held = terms[at] == hashes if len(terms) else np.zeros(len(hashes), bool)
            frequencies = counts[at[held]] @ np.array(saturation.weights)
            lengths = [row["text_length"], row["outline_length"], row["context_length"]]
            norm = saturation.norm(lengths, mean_length=mean_length)
            positive = frequencies > 0
            saturations = frequencies[positive] / (frequencies[positive] + norm)
            scores[row["chunk"]] = float(shares[held][positive] @ saturations)
        return scores

    def rows(self, keys: Sequence[int]) -> list[FoundChunk]:
        """Return the chunks of these keys, in their order; a key without a chunk is skipped."""
        self._check()
        found = {
            row["chunk"]: row
            for row in self._connection.get(CHUNK, "chunk", keys, fields=_CHUNK_FIELDS)
            if row["born"] <= self._state.commit.number
        }
        wanted = [found[key] for key in map(int, keys) if key in found]
        documents = self._read_documents({row["doc"] for row in wanted})
        texts = self._texts([(row["doc"], row["start"], row["end"]) for row in wanted])
        return [
            found_chunk(row, documents[row["doc"]], text)
            for row, (text, _) in zip(wanted, texts, strict=True)
            if row["doc"] in documents
        ]

    def documents(self, docs: Sequence[int]) -> list[FoundDocument]:
        """Return the documents of these ids, in any order."""
        self._check()
        return [found_document(row) for row in self._read_documents(set(docs)).values()]

    def neighbours(
        self, positions: Sequence[tuple[int, int]], *, each_side: int
    ) -> NDArray[np.int64]:
        """Return the layout around (document, ordinal) pairs, (n, 7), in ascending order."""
        self._check()
        documents = self._read_documents({doc for doc, _ in positions})
        keys: set[int] = set()
        for doc, ordinal in positions:
            first, count = documents[doc]["first_chunk"], documents[doc]["chunks"]
            ordinals = range(max(0, ordinal - each_side), min(count, ordinal + each_side + 1))
            keys.update(first + each for each in ordinals)
        found = self._connection.get(CHUNK, "chunk", sorted(keys), fields=_LAYOUT_FIELDS)
        rows = sorted(tuple(row[field] for field in _LAYOUT_FIELDS) for row in found)
        return np.array(rows, np.int64).reshape(-1, 7)

    def spans(self, spans: Sequence[tuple[int, int, int]]) -> list[FoundSpan]:
        """Return the text of each (document, start, end), with its lines and marks."""
        self._check()
        docs = {doc for doc, _, _ in spans}
        documents = self._read_documents(docs)
        marks = self._marks(documents)
        return [
            FoundSpan(
                text=text,
                lines=lines_of(text, first_line=line),
                marks=orjson.dumps(
                    [each for each in marks[doc] if each["start"] < end and each["end"] > start]
                ).decode(),
                uri=documents[doc]["uri"],
                metadata=documents[doc]["metadata"],
            )
            for (doc, start, end), (text, line) in zip(spans, self._texts(spans), strict=True)
        ]

    def fields(self) -> set[str]:
        """Return the names of the fields of the documents' metadata; all are read for it."""
        self._check()
        where = " and ".join(self._state.visible())
        rows = self._connection.scan(DOCUMENT, where, fields=["metadata"])
        return {name for row in rows for name in orjson.loads(row["metadata"])}

    def has_document(self, *, where: Conditions) -> bool:
        """Return whether a document meets a filter."""
        self._check()
        return bool(self._scan_documents(MilvusCondition(where), ["doc"]))

    def digests(self, *, where: Conditions | None) -> dict[str, bytes]:
        """Return the digest of each document, by URI, as it was when the document was put."""
        self._check()
        condition = MilvusCondition(where or {})
        rows = self._scan_documents(condition, ["doc", "uri", "digest"])
        self._docs.update((row["uri"], row["doc"]) for row in rows)
        return {row["uri"]: bytes.fromhex(row["digest"]) for row in rows}

    def read(self, uri: str) -> StoredDocument | None:
        """Return a document with all that was made of it, None if there is none."""
        self._check()
        doc = self._find(uri)
        if doc is None:
            return None
        row = self._read_documents({doc})[doc]
        first, count = row["first_chunk"], row["chunks"]
        keys = range(first, first + count)
        chunks = self._connection.get(CHUNK, "chunk", keys, fields=_CHUNK_FIELDS)
        vectors = {}
        if self._state.commit.dimensions:
            found = self._connection.get(VECTOR, "chunk", keys, fields=["chunk", "dense"])
            vectors = {each["chunk"]: np.array(each["dense"], np.float16) for each in found}
        pieces = sorted(
            self._connection.query(PIECE, f"doc == {doc}", fields=["piece", "body"]),
            key=lambda each: int(each["piece"]),
        )
        first_mark = mark_piece(doc, 0)
        document = StoredDocument(
            uri=uri,
            title=row["title"],
            lang=row["lang"],
            metadata=row["metadata"],
            source_hash=bytes.fromhex(row["source_hash"]),
            source_size=row["source_size"],
            source_mtime_ns=row["source_mtime_ns"],
            text="".join(each["body"] for each in pieces if each["piece"] < first_mark),
            marks="".join(each["body"] for each in pieces if each["piece"] >= first_mark),
            chunks=tuple(
                stored_chunk(each, vectors.get(each["chunk"]))
                for each in sorted(chunks, key=lambda each: int(each["ordinal"]))
            ),
        )
        if len(document.chunks) != count:
            raise self._too_old()
        return document

    def _find(self, uri: str) -> int | None:
        if uri not in self._docs:
            where = " and ".join([*self._state.visible(), f'uri_token == "{token("uri", uri)}"'])
            rows = self._connection.query(DOCUMENT, where, fields=["doc"])
            if not rows:
                return None
            self._docs[uri] = int(rows[0]["doc"])
        return self._docs[uri]

    def _expression(self, where: Conditions | None) -> str:
        """Return what selects the rows of the state, and of a filter."""
        condition = MilvusCondition(where or {})
        visible = self._state.visible()
        if condition.is_complete:
            return " and ".join([*visible, *condition.expressions])
        docs = sorted(row["doc"] for row in self._scan_documents(condition, ["doc"]))
        return " and ".join([*visible, f"doc in {docs}" if docs else "born < 0"])

    def _scan_documents(self, condition: MilvusCondition, fields: Iterable[str]) -> list[StoredRow]:
        """Return the documents that a filter selects, in the order in which they were put."""
        where = " and ".join([*self._state.visible(), *condition.expressions])
        columns = ["uri", "title", "lang", "kind", "metadata"]
        read = [*fields, *([] if condition.is_complete else columns)]
        rows = self._connection.scan(DOCUMENT, where, fields=sorted(set(read)))
        if not condition.is_complete:
            rows = [
                row
                for row in rows
                if condition.holds(elements_of(*(row[column] for column in columns)))
            ]
        return sorted(rows, key=lambda row: int(row["doc"]))

    def _read_documents(self, docs: set[int]) -> dict[int, StoredRow]:
        with self._lock:
            if missing := sorted(docs - self._documents.keys()):
                rows = self._connection.get(DOCUMENT, "doc", missing, fields=_DOCUMENT_FIELDS)
                self._documents.update((row["doc"], row) for row in rows)
            return {doc: self._documents[doc] for doc in docs if doc in self._documents}

    def _texts(self, spans: Sequence[tuple[int, int, int]]) -> list[tuple[str, int]]:
        """Return the text of each (document, start, end), and the line in which it begins."""
        keys = {
            text_piece(doc, at) for doc, start, end in spans for at in _piece_numbers(start, end)
        }
        rows = self._connection.get(PIECE, "piece", sorted(keys), fields=["piece", "lines", "body"])
        pieces = {row["piece"]: row for row in rows}
        texts = []
        for doc, start, end in spans:
            parts = [pieces.get(text_piece(doc, at)) for at in _piece_numbers(start, end)]
            if None in parts:
                raise self._too_old()
            held = [part for part in parts if part is not None]
            text = "".join(part["body"] for part in held)
            skipped = start % PIECE_CHARS
            line = 1 + (held[0]["lines"] + text[:skipped].count("\n") if held else 0)
            texts.append((text[skipped : skipped + end - start], line))
        return texts

    def _marks(self, documents: Mapping[int, StoredRow]) -> dict[int, list[dict[str, int]]]:
        """Return the marks of each document."""
        keys = {
            doc: [mark_piece(doc, at) for at in range(row["mark_pieces"])]
            for doc, row in documents.items()
        }
        rows = self._connection.get(
            PIECE,
            "piece",
            [key for each in keys.values() for key in each],
            fields=["piece", "body"],
        )
        bodies = {row["piece"]: row["body"] for row in rows}
        if len(bodies) < sum(map(len, keys.values())):
            raise self._too_old()
        return {
            doc: orjson.loads("".join(bodies[key] for key in each)) for doc, each in keys.items()
        }

    def _check(self) -> None:
        """Raise `SystemFailure` if rows of the state may have been removed since it was taken."""
        if time.monotonic() - self._checked_at < GRACE_S / 4:
            return
        now = read_state(self._connection)
        if now is None or now.commit.cleaned > self._state.commit.number:
            raise self._too_old()
        self._checked_at = time.monotonic()

    def _too_old(self) -> SystemFailure:
        return SystemFailure(
            f"{self._connection.address.name}: what was being read has been replaced and removed "
            "meanwhile; run the command again"
        )


def _piece_numbers(start: int, end: int) -> range:
    return range(start // PIECE_CHARS, (max(start, end - 1)) // PIECE_CHARS + 1)
