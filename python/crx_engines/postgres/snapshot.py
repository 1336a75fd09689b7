"""Reads of one committed state of a collection, in a read-only transaction."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from crx.types import Ranking
from crx_engines.engine.protocol import (
    CollectionStatistics,
    Conditions,
    FoundChunk,
    FoundDocument,
    FoundSpan,
    Saturation,
    StoredDocument,
)
from crx_engines.engine.sums import make_statistics
from crx_engines.postgres.conditions import SqlCondition
from crx_engines.postgres.connection import Connection, Row, as_json, numbers
from crx_engines.postgres.read_rows import (
    CHUNK_COLUMNS,
    found_chunk,
    found_span,
    ranking,
    stored_chunk,
)

# Candidates of the graph for each result, which are scored exactly.
_OVERSAMPLE = 4
_LEAST_CANDIDATES = 200
# Terms in more than this share of the chunks are looked up only in the chunks that other terms
# find, as far as that leaves the result the same.
_FREQUENT = 0.05
# A score that was rounded to a `real` is at least this much of what it was.
_ROUNDED = 1 - 1e-6
# Postings of a term that are read in the time in which one is looked up.
_LOOKUP_ROWS = 10
# The scores of candidates over optional terms, too: by looking each of them up, or by reading the
# postings of the terms.
_OPTIONAL = (
    "unnest(CAST(:optional AS integer[]), CAST(:optional_weights AS float8[])) "
    "AS query(term, weight)"
)
_LOOK_UP = f"""
  SELECT candidate.chunk, candidate.score + coalesce((
    SELECT sum(query.weight * ({{share}})) FROM {_OPTIONAL}
    JOIN posting ON posting.term = query.term AND posting.chunk = candidate.chunk), 0) AS score
  FROM candidate
"""
_READ = f"""
  SELECT chunk, sum(score) AS score FROM (
    SELECT chunk, score FROM candidate UNION ALL
    SELECT posting.chunk, query.weight * ({{share}}) FROM {_OPTIONAL}
    JOIN posting ON posting.term = query.term
    WHERE posting.chunk IN (SELECT chunk FROM candidate)) AS part
  GROUP BY chunk
"""

_FIELDS = ("text", "outline", "context")


@dataclass(frozen=True, slots=True)
class _SparseQuery:
    """The terms of a query that the collection knows, with their weights and frequencies."""

    ids: list[int]
    weights: list[float]
    doc_freqs: list[int]

    def split(self, *, frequent_above: float) -> tuple[_SparseQuery, _SparseQuery]:
        """Return the rare terms and the frequent ones; all are rare if none is."""
        frequent = [count > frequent_above for count in self.doc_freqs]
        if all(frequent):
            return self, _SparseQuery([], [], [])
        return self._where([not each for each in frequent]), self._where(frequent)

    def split_below(self, score: float) -> tuple[_SparseQuery, _SparseQuery]:
        """Return the other terms and the most frequent ones whose weights add up to less."""
        optional, left = [False] * len(self.ids), score
        for at in sorted(range(len(self.ids)), key=lambda each: -self.doc_freqs[each]):
            if self.weights[at] < left:
                optional[at] = True
                left -= self.weights[at]
        return self._where([not each for each in optional]), self._where(optional)

    def _where(self, kept: Sequence[bool]) -> _SparseQuery:
        at = [index for index, each in enumerate(kept) if each]
        return _SparseQuery(
            [self.ids[i] for i in at],
            [self.weights[i] for i in at],
            [self.doc_freqs[i] for i in at],
        )


class PostgresSnapshot:
    """One committed state; the connection is in a transaction for as long as it is used."""

    def __init__(self, connection: Connection, *, has_graph: bool) -> None:
        self._connection = connection
        self._has_graph = has_graph
        self._lock = threading.Lock()
        self._totals: dict[str, int] | None = None
        self._version: int | None = None
        # Terms that were looked up: id and frequency under each choice of fields.
        self._terms: dict[tuple[int, str], tuple[int, int]] = {}

    @property
    def missing(self) -> tuple[str, ...]:
        """No part of a collection on one server is missing."""
        return ()

    @property
    def exact(self) -> bool:
        """Whether `dense_topk` compares the query with every vector."""
        return not self._has_graph

    def stats(self) -> CollectionStatistics:
        """Return the statistics of the state."""
        return make_statistics(self.totals(), version=self.version())

    def totals(self) -> dict[str, int]:
        """Return the sums over the collection, by name; they are read once."""
        with self._lock:
            if self._totals is None:
                rows = self._connection.run(
                    "SELECT name, sum(value)::bigint FROM total GROUP BY name"
                )
                self._totals = {str(name): int(value) for name, value in rows}
            return self._totals

    def version(self) -> int:
        """Return a number that changes whenever the state does; it is read once."""
        with self._lock:
            if self._version is None:
                rows = self._connection.run(
                    "SELECT hashtextextended(pg_current_snapshot()::text, 0)"
                )
                self._version = int(rows[0][0])
            return self._version

    def doc_freqs(self, terms: Sequence[str], *, saturation: Saturation) -> list[int]:
        """Return how many chunks hold each term in a field of positive weight."""
        return [count for _, count in self._look_up(terms, saturation)]

    def _look_up(self, terms: Sequence[str], saturation: Saturation) -> list[tuple[int, int]]:
        """Return the id of each term, 0 if it is unknown, and its document frequency."""
        mask = sum(1 << field for field, weight in enumerate(saturation.weights) if weight > 0)
        with self._lock:
            missing = [term for term in dict.fromkeys(terms) if (mask, term) not in self._terms]
            if missing:
                rows = self._connection.run(
                    "SELECT term.term, term.id, coalesce(sum(doc_freq.chunks) "
                    "FILTER (WHERE doc_freq.fields & CAST(:mask AS integer) <> 0), 0)::bigint "
                    # As an array, for which the planner uses the index of the terms.
                    "FROM term LEFT JOIN doc_freq ON doc_freq.term = term.id WHERE term.term = "
                    "ANY(ARRAY(SELECT json_array_elements_text(CAST(:terms AS json)))) "
                    "GROUP BY term.id",
                    mask=mask,
                    terms=as_json(missing),
                )
                found = {term: (int(key), int(count)) for term, key, count in rows}
                for term in missing:
                    self._terms[mask, term] = found.get(term, (0, 0))
            return [self._terms[mask, term] for term in terms]

    def dense_topk(
        self, vector: NDArray[np.float32], *, k: int, where: Conditions | None
    ) -> Ranking:
        """Return the k chunks of largest inner product with a vector.

        With a graph, the candidates that it finds are scored exactly.
        """
        condition = SqlCondition(where or {})
        only = (
            f"WHERE EXISTS (SELECT 1 FROM document WHERE document.doc = embedding.doc "
            f"AND {condition.sql})"
            if where
            else ""
        )
        query = as_json(vector.tolist())  # pgvector writes vectors as JSON does
        score = "-(vector::vector <#> CAST(:query AS vector))"
        table = "embedding"
        parameters: dict[str, object] = {**condition.parameters, "query": query, "k": k}
        if not self.exact:
            dimensions = len(vector)
            candidates = max(_LEAST_CANDIDATES, _OVERSAMPLE * k)
            self._connection.run(f"SET LOCAL hnsw.ef_search = {min(1000, candidates)}")
            self._connection.run("SET LOCAL hnsw.iterative_scan = strict_order")
            nearest = f"vector::halfvec({dimensions}) <#> CAST(:query AS halfvec({dimensions}))"
            table = f"(SELECT * FROM embedding {only} ORDER BY {nearest} LIMIT :candidates) AS near"
            only = ""
            parameters["candidates"] = candidates
        rows = self._connection.run(
            f"SELECT chunk, {score} AS score FROM {table} {only} "
            "ORDER BY score DESC, chunk LIMIT :k",
            **parameters,
        )
        return ranking(rows)

    def sparse_topk(
        self,
        weights: Sequence[tuple[str, float]],
        *,
        k: int,
        saturation: Saturation,
        where: Conditions | None,
        mean_length: float | None = None,
    ) -> Ranking:
        """Return the k chunks of largest inner product of the query and their saturations.

        `mean_length` is that of a chunk of the whole index, if this is a part of one.

        The postings of rare terms are read in full; frequent terms are looked up in the chunks
        that could still be among the best k (MaxScore: Turtle, Flood 1995). If chunks without a
        rare term could be among them, the score of the k-th chunk that was found tells which terms
        cannot bring a chunk among the best k by themselves, and the postings of all others are
        read.
        """
        found = self._look_up([term for term, _ in weights], saturation)
        known = [
            (*each, weight) for each, (_, weight) in zip(found, weights, strict=True) if each[1]
        ]
        if not known:
            return ranking([])
        query = _SparseQuery(
            [key for key, _, _ in known],
            [weight for _, _, weight in known],
            [count for _, count, _ in known],
        )
        rare, frequent = query.split(frequent_above=_FREQUENT * self.stats().chunks)
        mean = mean_length or self.stats().mean_length(saturation) or 1.0
        search = partial(self._sum, k=k, saturation=saturation, mean_length=mean, where=where)
        rows = search(rare, frequent, reached=0.0)
        # A chunk that holds frequent terms alone scores less than their weights together.
        if frequent.ids and (len(rows) < k or rows[-1][1] <= sum(frequent.weights)):
            reached = rows[-1][1] * _ROUNDED if len(rows) == k else 0.0
            rows = search(*query.split_below(reached), reached=reached)
        return ranking(rows)

    def _sum(
        self,
        required: _SparseQuery,
        optional: _SparseQuery,
        *,
        reached: float,
        k: int,
        saturation: Saturation,
        mean_length: float,
        where: Conditions | None,
    ) -> list[Row]:
        """Return the best k chunks that hold a required term, and their scores over all terms.

        The k-th of them is known to score `reached` or more.
        """
        condition = SqlCondition(where or {})
        only = (
            "AND posting.chunk IN (SELECT chunk.chunk FROM chunk JOIN document USING (doc) "
            f"WHERE {condition.sql})"
            if where
            else ""
        )
        k1, b = saturation.k1, saturation.b
        held = [field for field in _FIELDS if self.totals().get(f"{field}_length")] or _FIELDS
        share = _share(held)
        by_required = f"""
            SELECT posting.chunk, sum(query.weight * ({share})) AS score
            FROM unnest(CAST(:required AS integer[]), CAST(:required_weights AS float8[]))
              AS query(term, weight)
            JOIN posting ON posting.term = query.term {only} GROUP BY posting.chunk
        """
        parameters: dict[str, object] = {
            **condition.parameters,
            "required": numbers(required.ids),
            "required_weights": numbers(required.weights),
            "k": k,
            "norm": k1 * (1 - b),
            "norm_of_term": k1 * b / mean_length,
            **{
                f"of_{field}": weight
                for field, weight in zip(_FIELDS, saturation.weights, strict=True)
                if field in held
            },
        }
        # Rounded, so that the order of a sum does not decide between equal chunks.
        best = "SELECT chunk, score::real AS score FROM"
        order = "WHERE score > 0 ORDER BY score::real DESC, chunk LIMIT :k"
        if not optional.ids:
            return self._connection.run(f"{best} ({by_required}) AS summed {order}", **parameters)
        lookups = sum(required.doc_freqs) * len(optional.ids)
        is_short = _LOOKUP_ROWS * lookups < sum(optional.doc_freqs)
        return self._connection.run(
            f"""
            WITH summed AS MATERIALIZED ({by_required}),
            kth AS (SELECT score FROM summed ORDER BY score DESC LIMIT 1 OFFSET :k - 1),
            candidate AS MATERIALIZED (SELECT chunk, score FROM summed
              WHERE score >= greatest((SELECT score FROM kth), CAST(:reached AS float8))
                - CAST(:rest AS float8)),
            completed AS MATERIALIZED (
              {(_LOOK_UP if is_short else _READ).format(share=share)})
            {best} completed {order}
            """,
            optional=numbers(optional.ids),
            optional_weights=numbers(optional.weights),
            rest=sum(optional.weights),
            reached=reached,
            **parameters,
        )

    def rows(self, keys: Sequence[int]) -> list[FoundChunk]:
        """Return the chunks of these keys, in their order; a key without a chunk is skipped."""
        rows = self._connection.run(
            f"SELECT {CHUNK_COLUMNS} FROM unnest(CAST(:keys AS bigint[])) WITH ORDINALITY "
            "AS wanted(chunk, at) JOIN chunk ON chunk.chunk = wanted.chunk "
            "JOIN document USING (doc) LEFT JOIN context ON context.key = chunk.context_key "
            "ORDER BY wanted.at",
            keys=numbers([int(key) for key in keys]),
        )
        return [found_chunk(row) for row in rows]

    def documents(self, docs: Sequence[int]) -> list[FoundDocument]:
        """Return the documents of these ids, in any order."""
        rows = self._connection.run(
            "SELECT doc, uri, metadata, source_mtime_ns FROM document "
            "WHERE doc = ANY(CAST(:docs AS bigint[]))",
            docs=numbers(list(docs)),
        )
        return [
            FoundDocument(doc=doc, uri=uri, metadata=metadata, source_mtime_ns=mtime_ns)
            for doc, uri, metadata, mtime_ns in rows
        ]

    def neighbours(
        self, positions: Sequence[tuple[int, int]], *, each_side: int
    ) -> NDArray[np.int64]:
        """Return the layout around (document, ordinal) pairs, (n, 7), in ascending order."""
        # As one text: hundreds of rows take longer to receive than to find.
        ((layout,),) = self._connection.run(
            "SELECT coalesce(string_agg(concat_ws(' ', doc, ordinal, start, \"end\", token_start, "
            "token_end, section), ' ' ORDER BY doc, ordinal), '') FROM ("
            'SELECT DISTINCT chunk.doc, chunk.ordinal, chunk.start, chunk."end", '
            "chunk.token_start, chunk.token_end, chunk.section "
            "FROM unnest(CAST(:docs AS bigint[]), CAST(:ordinals AS integer[])) "
            "AS hit(doc, ordinal) JOIN chunk ON chunk.doc = hit.doc AND chunk.ordinal BETWEEN "
            "hit.ordinal - CAST(:each AS integer) AND hit.ordinal + CAST(:each AS integer)) "
            "AS near",
            docs=numbers([doc for doc, _ in positions]),
            ordinals=numbers([ordinal for _, ordinal in positions]),
            each=each_side,
        )
        return np.array(layout.split(), np.int64).reshape(-1, 7)

    def spans(self, spans: Sequence[tuple[int, int, int]]) -> list[FoundSpan]:
        """Return the text of each (document, start, end), with its lines and marks.

        A span begins at the start of a chunk, as passages do.
        """
        rows = self._connection.run(
            "SELECT document.uri, document.metadata, min(chunk.lines), "
            "left(string_agg(chunk.text, '' ORDER BY chunk.ordinal), "
            "wanted.until - wanted.start), "
            "(SELECT '[' || coalesce(string_agg(mark, ',' ORDER BY ordinal), '') || ']' FROM mark "
            "WHERE mark.doc = wanted.doc AND mark.start < wanted.until "
            'AND mark."end" > wanted.start) '
            "FROM unnest(CAST(:docs AS bigint[]), CAST(:starts AS integer[]), "
            "CAST(:ends AS integer[])) WITH ORDINALITY AS wanted(doc, start, until, at) "
            "JOIN document ON document.doc = wanted.doc JOIN chunk ON chunk.doc = wanted.doc "
            "AND chunk.start >= wanted.start AND chunk.start < wanted.until "
            "GROUP BY wanted.at, wanted.doc, wanted.start, wanted.until, document.doc "
            "ORDER BY wanted.at",
            docs=numbers([doc for doc, _, _ in spans]),
            starts=numbers([start for _, start, _ in spans]),
            ends=numbers([end for _, _, end in spans]),
        )
        return [found_span(row) for row in rows]

    def fields(self) -> set[str]:
        """Return the names of the fields of the documents' metadata."""
        rows = self._connection.run("SELECT DISTINCT jsonb_object_keys(fields) FROM document")
        return {str(name) for (name,) in rows}

    def has_document(self, *, where: Conditions) -> bool:
        """Return whether a document meets a filter."""
        condition = SqlCondition(where)
        sql = f"SELECT EXISTS (SELECT FROM document WHERE {condition.sql})"
        ((found,),) = self._connection.run(sql, **condition.parameters)
        return bool(found)

    def digests(self, *, where: Conditions | None) -> dict[str, bytes]:
        """Return the digest of each document, by URI, as it was when the document was put."""
        condition = SqlCondition(where or {})
        rows = self._connection.run(
            f"SELECT uri, digest FROM document WHERE {condition.sql} ORDER BY doc",
            **condition.parameters,
        )
        return {str(uri): bytes(digest) for uri, digest in rows}

    def read(self, uri: str) -> StoredDocument | None:
        """Return a document with all that was made of it, None if there is none."""
        found = self._connection.run(
            "SELECT doc, title, lang, metadata, source_hash, source_size, source_mtime_ns, head "
            "FROM document WHERE uri = :uri",
            uri=uri,
        )
        if not found:
            return None
        doc, title, lang, metadata, source_hash, source_size, mtime_ns, head = found[0]
        rows = self._connection.run(
            'SELECT chunk.start, chunk."end", chunk.token_start, chunk.token_end, chunk.section, '
            "chunk.outline, chunk.vector_key, chunk.text, halfvec_send(embedding.vector), "
            "chunk.context_key, context.generator, context.outcome, context.text FROM chunk "
            "LEFT JOIN embedding USING (chunk) "
            "LEFT JOIN context ON context.key = chunk.context_key "
            "WHERE chunk.doc = :doc ORDER BY chunk.ordinal",
            doc=doc,
        )
        marks = self._connection.run(
            "SELECT '[' || coalesce(string_agg(mark, ',' ORDER BY ordinal), '') || ']' FROM mark "
            "WHERE doc = :doc",
            doc=doc,
        )
        return StoredDocument(
            uri=uri,
            title=title,
            lang=lang,
            metadata=metadata,
            source_hash=bytes(source_hash),
            source_size=source_size,
            source_mtime_ns=mtime_ns,
            text=head + "".join(row[7] for row in rows),
            marks=str(marks[0][0]),
            chunks=tuple(stored_chunk(row) for row in rows),
        )


def _share(fields: Sequence[str]) -> str:
    """Return the saturation of a posting, over some fields; the others are empty in all chunks."""
    # Numbers are float8: numeric arithmetic is slow.
    weights = [f"CAST(:of_{field} AS float8)" for field in fields]
    pairs = list(zip(weights, fields, strict=True))
    frequency = " + ".join(f"{weight} * posting.in_{field}" for weight, field in pairs)
    length = " + ".join(f"{weight} * posting.{field}_length" for weight, field in pairs)
    return (
        f"CASE WHEN {frequency} > 0 THEN ({frequency}) / ({frequency} + CAST(:norm AS float8) "
        f"+ CAST(:norm_of_term AS float8) * ({length})) ELSE 0 END"
    )
