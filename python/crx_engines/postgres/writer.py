"""Puts and removals of documents in transactions, beside other writers and readers.

Writers of one document wait for each other by an advisory lock on its URI, taken in one order. No
row is shared by the transactions of different documents: the sums that BM25 needs, such as the
frequencies of terms, are kept as rows of differences, which each transaction appends and a search
adds up. They are exact in every committed state. Once a writer has appended `ROWS_BETWEEN_FOLDS` of
them, and at the end of its run, it folds the rows of each term into one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import orjson
from numpy.typing import NDArray

from crx.errors import UsageError
from crx_engines.document_writer import IndexedDocument, select_changed
from crx_engines.engine.bm25 import TermCounts
from crx_engines.engine.protocol import StoredChunk, StoredDocument, digest_of
from crx_engines.postgres.binary_rows import (
    encode_bigint,
    encode_half_vector,
    encode_integer,
    encode_integers,
    rows_of_fields,
    rows_of_numbers,
)
from crx_engines.postgres.connection import Connection, as_json, numbers

# Between folds a search adds up several rows for a frequent term; each fold reads all of them.
ROWS_BETWEEN_FOLDS = 250_000
# Ids of terms that a writer remembers.
_KNOWN_TERMS = 500_000


@dataclass(frozen=True, slots=True)
class _IndexedChunk:
    """A chunk, its text up to the start of the next one, and its terms."""

    chunk: StoredChunk
    text: str
    lines: int
    terms: TermCounts


class _IndexedDocument(IndexedDocument):
    """A document to be put, with its chunks as the tables keep them."""

    @cached_property
    def chunks(self) -> list[_IndexedChunk]:
        """The chunks; the text of each goes up to the start of the next."""
        document = self.document
        chunks = document.chunks
        ends = [*(chunk.start for chunk in chunks[1:]), len(document.text)]
        indexed = []
        lines = _head(document).count("\n")
        for chunk, until, terms in zip(chunks, ends, self.terms, strict=True):
            text = document.text[chunk.start : until]
            indexed.append(_IndexedChunk(chunk, text, lines, terms))
            lines += text.count("\n")
        return indexed


class DocumentTables:
    """The tables of documents, for writing."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._term_ids: dict[str, int] = {}
        self._unfolded = 0

    def put(self, documents: Sequence[StoredDocument]) -> int:
        """Put documents in one transaction; return how many were not there already."""
        if not documents:
            return 0
        wanted = {document.uri: _index_document(document) for document in documents}
        self._learn_terms(
            {term for each in wanted.values() for c in each.chunks for term in c.terms.counts}
        )
        with self._connection.transaction():
            self._lock(wanted)
            known = self._read_digests(wanted)
            new = select_changed(wanted, known)
            self._remove_rows([each.document.uri for each in new if each.document.uri in known])
            if new:
                self._insert(new)
        self._fold_if_many()
        return len(new)

    def remove(self, uris: Sequence[str]) -> int:
        """Remove documents in one transaction; return how many there were."""
        with self._connection.transaction():
            self._lock(uris)
            removed = self._remove_rows(uris)
        self._fold_if_many()
        return removed

    def fold(self) -> None:
        """Fold the rows of differences of each term, and of each sum, into one.

        One writer at a time does it; another leaves it to that one.
        """
        self._unfolded = 0
        run = self._connection.run
        with self._connection.transaction():
            key = _lock_key(self._connection.address.schema, "fold")
            if not run("SELECT pg_try_advisory_xact_lock(:key)", key=key)[0][0]:
                return
            run(
                "WITH gone AS (DELETE FROM doc_freq USING (SELECT term, fields FROM doc_freq "
                "GROUP BY term, fields HAVING count(*) > 1) AS several "
                "WHERE doc_freq.term = several.term AND doc_freq.fields = several.fields "
                "RETURNING doc_freq.term, doc_freq.fields, doc_freq.chunks) "
                "INSERT INTO doc_freq SELECT term, fields, sum(chunks) FROM gone "
                "GROUP BY term, fields HAVING sum(chunks) <> 0"
            )
            run(
                "WITH gone AS (DELETE FROM total RETURNING name, value) "
                "INSERT INTO total SELECT name, sum(value) FROM gone GROUP BY name "
                "HAVING sum(value) <> 0"
            )

    def vacuum(self) -> None:
        """Gather what the planner needs to know, and reclaim space."""
        for table in ("document", "chunk", "embedding", "term", "posting", "doc_freq"):
            self._connection.run_script(f"VACUUM (ANALYZE) {table}")

    def _fold_if_many(self) -> None:
        if self._unfolded >= ROWS_BETWEEN_FOLDS:
            self.fold()

    def _lock(self, uris: Iterable[str]) -> None:
        """Wait for the writers of these documents; in one order, so that none waits for another."""
        schema = self._connection.address.schema
        keys = sorted(_lock_key(schema, uri) for uri in uris)
        self._connection.run(
            "SELECT count(pg_advisory_xact_lock(key)) FROM unnest(CAST(:keys AS bigint[])) AS key",
            keys=numbers(keys),
        )

    def _read_digests(self, uris: Iterable[str]) -> dict[str, bytes]:
        rows = self._connection.run(
            "SELECT uri, digest FROM document "
            "JOIN json_array_elements_text(CAST(:uris AS json)) AS wanted(uri) USING (uri)",
            uris=as_json(list(uris)),
        )
        return {str(uri): bytes(digest) for uri, digest in rows}

    def _learn_terms(self, terms: Iterable[str]) -> None:
        """Make ids for new terms, in a transaction of its own: an unused term is harmless."""
        if len(self._term_ids) > _KNOWN_TERMS:
            self._term_ids.clear()
        missing = sorted(term for term in terms if term not in self._term_ids)
        if not missing:
            return
        # In one order, so that two writers cannot wait for each other.
        self._connection.run(
            "INSERT INTO term (term) SELECT wanted.term "
            "FROM json_array_elements_text(CAST(:terms AS json)) AS wanted(term) "
            "WHERE NOT EXISTS (SELECT 1 FROM term WHERE term.term = wanted.term) "
            "ON CONFLICT DO NOTHING",
            terms=as_json(missing),
        )
        rows = self._connection.run(
            "SELECT term.term, term.id FROM term "
            "JOIN json_array_elements_text(CAST(:terms AS json)) AS wanted(term) USING (term)",
            terms=as_json(missing),
        )
        self._term_ids.update((str(term), int(key)) for term, key in rows)

    def _remove_rows(self, uris: Sequence[str]) -> int:
        """Remove documents and what they added to the sums; return how many there were."""
        if not uris:
            return 0
        run = self._connection.run
        found = run(
            "SELECT doc, sums::text FROM document "
            "JOIN json_array_elements_text(CAST(:uris AS json)) AS wanted(uri) USING (uri)",
            uris=as_json(list(uris)),
        )
        docs = numbers([doc for doc, _ in found])
        gone = run(
            "WITH old AS (SELECT chunk, unnest(terms) AS term FROM chunk "
            "WHERE doc = ANY(CAST(:docs AS bigint[]))), "
            "gone AS (DELETE FROM posting USING old WHERE posting.term = old.term "
            "AND posting.chunk = old.chunk RETURNING posting.term, "
            "CAST(in_text > 0 AS integer) + 2 * CAST(in_outline > 0 AS integer) "
            "+ 4 * CAST(in_context > 0 AS integer)) "
            "SELECT *, count(*) FROM gone AS held(term, fields) GROUP BY term, fields",
            docs=docs,
        )
        run("DELETE FROM document WHERE doc = ANY(CAST(:docs AS bigint[]))", docs=docs)
        sums: Counter[str] = Counter()
        for _, added in found:
            sums.update(orjson.loads(added))
        freqs = {(term, fields): count for term, fields, count in gone}
        self._add_sums(sums, freqs, sign=-1)
        return len(found)

    def _insert(self, documents: Sequence[_IndexedDocument]) -> None:
        self._insert_contexts(documents)
        docs = self._insert_documents(documents)
        chunks = [
            (doc, at, c)
            for doc, d in zip(docs, documents, strict=True)
            for at, c in enumerate(d.chunks)
        ]
        keys = self._new_keys(len(chunks))
        self._copy_marks(docs, documents)
        self._copy_chunks(keys, chunks)
        self._copy_embeddings(keys, chunks)
        freqs = self._copy_postings(keys, [chunk.terms for _, _, chunk in chunks])
        sums: Counter[str] = Counter()
        for each in documents:
            sums.update(each.sums)
        self._add_sums(sums, freqs, sign=1)

    def _insert_documents(self, documents: Sequence[_IndexedDocument]) -> list[int]:
        """Insert the rows of documents, and return their ids."""
        rows = [
            {
                "uri": each.document.uri,
                "title": each.document.title,
                "lang": each.document.lang,
                "kind": each.document.kind,
                "metadata": each.document.metadata,
                "source_hash": each.document.source_hash.hex(),
                "source_size": each.document.source_size,
                "source_mtime_ns": each.document.source_mtime_ns,
                "head": _head(each.document),
                "digest": each.digest.hex(),
                "sums": as_json(each.sums),
            }
            for each in documents
        ]
        inserted = self._connection.run(
            "INSERT INTO document (uri, title, lang, kind, metadata, fields, source_hash, "
            "source_size, source_mtime_ns, head, digest, sums) SELECT uri, title, lang, kind, "
            "metadata, metadata::jsonb, decode(source_hash, 'hex'), source_size, source_mtime_ns, "
            "head, decode(digest, 'hex'), sums::jsonb "
            "FROM json_to_recordset(CAST(:rows AS json)) AS "
            "new(uri text, title text, lang text, kind text, metadata text, source_hash text, "
            "source_size bigint, source_mtime_ns bigint, head text, digest text, sums text) "
            "RETURNING uri, doc",
            rows=as_json(rows),
        )
        ids = {str(uri): int(doc) for uri, doc in inserted}
        return [ids[each.document.uri] for each in documents]

    def _insert_contexts(self, documents: Sequence[_IndexedDocument]) -> None:
        contexts = {
            chunk.context.key: chunk.context
            for each in documents
            for chunk in each.document.chunks
            if chunk.context
        }
        if contexts:
            self._connection.run(
                "INSERT INTO context SELECT decode(key, 'hex'), generator, outcome, text "
                "FROM json_to_recordset(CAST(:rows AS json)) "
                "AS new(key text, generator text, outcome text, text text) ON CONFLICT DO NOTHING",
                rows=as_json(
                    [
                        {
                            "key": each.key.hex(),
                            "generator": each.generator,
                            "outcome": each.outcome,
                            "text": each.text,
                        }
                        for _, each in sorted(contexts.items())
                    ]
                ),
            )

    def _new_keys(self, count: int) -> list[int]:
        rows = self._connection.run(
            "SELECT nextval('chunk_key') FROM generate_series(1, CAST(:n AS integer))", n=count
        )
        return sorted(int(row[0]) for row in rows)

    def _copy_marks(self, docs: Sequence[int], documents: Sequence[_IndexedDocument]) -> None:
        rows = [
            (
                encode_bigint(doc),
                encode_integer(ordinal),
                encode_integer(mark["start"]),
                encode_integer(mark["end"]),
                orjson.dumps(mark),
            )
            for doc, each in zip(docs, documents, strict=True)
            for ordinal, mark in enumerate(orjson.loads(each.document.marks))
        ]
        if rows:
            self._connection.copy_rows("mark", rows_of_fields(rows))

    def _copy_chunks(
        self, keys: Sequence[int], chunks: Sequence[tuple[int, int, _IndexedChunk]]
    ) -> None:
        rows = []
        for key, (doc, ordinal, indexed) in zip(keys, chunks, strict=True):
            chunk = indexed.chunk
            spans = (ordinal, chunk.start, chunk.end, chunk.token_start, chunk.token_end)
            ids = [self._term_ids[term] for term in indexed.terms.counts]
            rows.append(
                (
                    encode_bigint(key),
                    encode_bigint(doc),
                    *map(encode_integer, (*spans, chunk.section, indexed.lines)),
                    indexed.text.encode(),
                    chunk.outline.encode(),
                    chunk.context.key if chunk.context else None,
                    chunk.vector_key,
                    encode_integers(ids),
                )
            )
        if rows:
            self._connection.copy_rows("chunk", rows_of_fields(rows))

    def _copy_embeddings(
        self, keys: Sequence[int], chunks: Sequence[tuple[int, int, _IndexedChunk]]
    ) -> None:
        rows = [
            (encode_bigint(key), encode_bigint(doc), encode_half_vector(indexed.chunk.vector))
            for key, (doc, _, indexed) in zip(keys, chunks, strict=True)
            if indexed.chunk.vector is not None
        ]
        if rows:
            self._connection.copy_rows("embedding", rows_of_fields(rows))

    def _copy_postings(
        self, keys: Sequence[int], chunks: Sequence[TermCounts]
    ) -> dict[tuple[int, int], int]:
        """Append postings; return how many chunks hold each term in each set of fields."""
        known = self._term_ids
        sizes = [len(chunk.counts) for chunk in chunks]
        if not sum(sizes):
            return {}
        terms = np.array([known[term] for chunk in chunks for term in chunk.counts], np.int32)
        counts = np.array([each for chunk in chunks for each in chunk.counts.values()], np.int32)
        lengths = np.repeat(np.array([chunk.lengths for chunk in chunks], np.int32), sizes, axis=0)
        owners = np.repeat(np.array(keys, np.int64), sizes)
        # In the order of the primary key: its pages are then written one after the other.
        order = np.lexsort((owners, terms))
        columns: list[NDArray[np.signedinteger]] = [
            owners[order],
            terms[order],
            counts[order, 0],
            *counts[order, 1:].astype(np.int16).T,
            *lengths[order].T,
        ]
        self._connection.copy_rows("posting", rows_of_numbers(columns))
        fields = (counts > 0) @ np.array([1, 2, 4])
        pairs, held = np.unique(terms.astype(np.int64) << 3 | fields, return_counts=True)
        both = zip((pairs >> 3).tolist(), (pairs & 7).tolist(), strict=True)
        return dict(zip(both, held.tolist(), strict=True))

    def _add_sums(
        self, sums: Mapping[str, int], freqs: Mapping[tuple[int, int], int], *, sign: int
    ) -> None:
        """Append what documents add to the sums, or what their removal takes away."""
        self._connection.run(
            "INSERT INTO total SELECT key, :sign * value::bigint "
            "FROM json_each_text(CAST(:sums AS json))",
            sign=sign,
            sums=as_json(sums),
        )
        if freqs:
            terms, fields = np.array(list(freqs)).T
            columns = [
                terms.astype(np.int32),
                fields.astype(np.int16),
                sign * np.array(list(freqs.values()), np.int64),
            ]
            self._connection.copy_rows("doc_freq", rows_of_numbers(columns))
            self._unfolded += len(freqs)


def _index_document(document: StoredDocument) -> _IndexedDocument:
    if "\0" in document.text:
        raise UsageError(f"{document.uri}: holds a NUL character, which PostgreSQL cannot store")
    return _IndexedDocument(document)


def _head(document: StoredDocument) -> str:
    """Return the text before the first chunk."""
    return document.text[: document.chunks[0].start] if document.chunks else document.text


def _lock_key(schema: str, name: str) -> int:
    """Return the number of an advisory lock."""
    digest = digest_of(b"crx", schema.encode(), name.encode())
    return int.from_bytes(digest[:8], "little", signed=True)
