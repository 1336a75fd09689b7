"""Puts and removals of documents: one transaction each, beside other writers and readers.

Writers of one document wait for each other by an advisory lock on its URI. No row is shared by the
transactions of different documents: the sums that BM25 needs, such as the frequencies of terms, are
kept as rows of differences, which each transaction appends and a search adds up. They are exact in
every committed state. Once a writer has put `DOCUMENTS_BETWEEN_FOLDS` documents, and at the end of
its run, it folds the rows of each term into one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import orjson

from crx import _native
from crx.engine.bm25 import TermCounts, count_terms
from crx.engine.postgres.connection import Connection, as_json, numbers
from crx.engine.protocol import OUTCOME, StoredDocument
from crx.errors import UsageError

DOCUMENTS_BETWEEN_FOLDS = 256
# Ids of terms that a writer remembers.
_KNOWN_TERMS = 500_000

_FIELDS = ("text", "outline", "context")


@dataclass(frozen=True, slots=True)
class _IndexedChunk:
    """A chunk's row, and its terms by id."""

    row: dict[str, object]
    terms: TermCounts
    vector: str


class DocumentTables:
    """The tables of documents, for writing."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._term_ids: dict[str, int] = {}
        self._unfolded = 0

    def put(self, document: StoredDocument) -> bool:
        """Put a document; return whether it was not there already."""
        digest = document.digest()
        chunks = _index_chunks(document)
        self._learn_terms({term for chunk in chunks for term in chunk.terms.counts})
        run = self._connection.run
        with self._connection.transaction():
            self._lock(document.uri)
            known = run("SELECT digest FROM document WHERE uri = :uri", uri=document.uri)
            if known and bytes(known[0][0]) == digest:
                return False
            self._remove_rows(document.uri)
            self._insert(document, digest, chunks)
        self._count_unfolded()
        return True

    def remove(self, uri: str) -> bool:
        """Remove a document; return whether there was one."""
        with self._connection.transaction():
            self._lock(uri)
            removed = self._remove_rows(uri)
        self._count_unfolded()
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

    def _count_unfolded(self) -> None:
        self._unfolded += 1
        if self._unfolded >= DOCUMENTS_BETWEEN_FOLDS:
            self.fold()

    def _lock(self, uri: str) -> None:
        key = _lock_key(self._connection.address.schema, uri)
        self._connection.run("SELECT pg_advisory_xact_lock(:key)", key=key)

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

    def _remove_rows(self, uri: str) -> bool:
        """Remove a document and what it added to the sums; return whether there was one."""
        run = self._connection.run
        found = run("SELECT doc, sums::text FROM document WHERE uri = :uri", uri=uri)
        if not found:
            return False
        doc, sums = found[0]
        gone = run(
            "WITH old AS (SELECT chunk, unnest(terms) AS term FROM chunk WHERE doc = :doc) "
            "DELETE FROM posting USING old WHERE posting.term = old.term "
            "AND posting.chunk = old.chunk "
            "RETURNING posting.term, in_text, in_outline, in_context",
            doc=doc,
        )
        freqs = Counter((term, _mask(counts)) for term, *counts in gone)
        run("DELETE FROM document WHERE doc = :doc", doc=doc)
        self._add_sums(orjson.loads(sums), freqs, sign=-1)
        return True

    def _insert(
        self, document: StoredDocument, digest: bytes, chunks: Sequence[_IndexedChunk]
    ) -> None:
        run = self._connection.run
        sums = _sums_of(document, chunks)
        head = document.text[: document.chunks[0].start] if chunks else document.text
        ((doc,),) = run(
            "INSERT INTO document (uri, title, lang, metadata, fields, source_hash, source_size, "
            "source_mtime_ns, head, digest, sums) VALUES (:uri, :title, :lang, "
            "CAST(:metadata AS text), CAST(:metadata AS jsonb), :source_hash, :source_size, "
            ":source_mtime_ns, :head, :digest, CAST(:sums AS jsonb)) RETURNING doc",
            uri=document.uri,
            title=document.title,
            lang=document.lang,
            metadata=document.metadata,
            source_hash=document.source_hash,
            source_size=document.source_size,
            source_mtime_ns=document.source_mtime_ns,
            head=head,
            digest=digest,
            sums=as_json(sums),
        )
        marks = orjson.loads(document.marks)
        if marks:
            run(
                'INSERT INTO mark SELECT :doc, ordinal, start, "end", mark FROM json_to_recordset('
                'CAST(:marks AS json)) AS new(ordinal integer, start integer, "end" integer, '
                "mark text)",
                doc=doc,
                marks=as_json(
                    [
                        {"ordinal": at, "start": m["start"], "end": m["end"], "mark": as_json(m)}
                        for at, m in enumerate(marks)
                    ]
                ),
            )
        if not chunks:
            self._add_sums(sums, Counter(), sign=1)
            return
        self._insert_contexts(document)
        keys = self._insert_chunks(doc, chunks)
        self._insert_postings(keys, chunks)
        embedded = [(key, chunk.vector) for key, chunk in zip(keys, chunks, strict=True)]
        embedded = [(key, vector) for key, vector in embedded if vector]
        if embedded:
            run(
                "INSERT INTO embedding SELECT chunk, :doc, vector::halfvec FROM json_to_recordset("
                "CAST(:rows AS json)) AS new(chunk bigint, vector text)",
                doc=doc,
                rows=as_json([{"chunk": key, "vector": vector} for key, vector in embedded]),
            )
        freqs = Counter(
            (self._term_ids[term], _mask(counts))
            for chunk in chunks
            for term, counts in chunk.terms.counts.items()
        )
        self._add_sums(sums, freqs, sign=1)

    def _insert_contexts(self, document: StoredDocument) -> None:
        contexts = {chunk.context.key: chunk.context for chunk in document.chunks if chunk.context}
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

    def _insert_chunks(self, doc: int, chunks: Sequence[_IndexedChunk]) -> list[int]:
        run = self._connection.run
        rows = run(
            "SELECT nextval('chunk_key') FROM generate_series(1, CAST(:n AS integer))",
            n=len(chunks),
        )
        keys = sorted(int(row[0]) for row in rows)
        new = [
            {**chunk.row, "chunk": key, "terms": numbers(self._ids(chunk.terms))}
            for key, chunk in zip(keys, chunks, strict=True)
        ]
        run(
            'INSERT INTO chunk SELECT chunk, :doc, ordinal, start, "end", token_start, token_end, '
            "section, lines, text, outline, decode(context_key, 'hex'), decode(vector_key, 'hex'), "
            "terms::integer[] FROM json_to_recordset(CAST(:rows AS json)) AS new(chunk bigint, "
            'ordinal integer, start integer, "end" integer, token_start integer, '
            "token_end integer, section integer, lines integer, text text, outline text, "
            "context_key text, vector_key text, terms text)",
            doc=doc,
            rows=as_json(new),
        )
        return keys

    def _insert_postings(self, keys: Sequence[int], chunks: Sequence[_IndexedChunk]) -> None:
        rows = [
            (key, self._term_ids[term], *counts, *chunk.terms.lengths)
            for key, chunk in zip(keys, chunks, strict=True)
            for term, counts in chunk.terms.counts.items()
        ]
        if not rows:
            return
        columns = [list(column) for column in zip(*rows, strict=True)]
        arrays = {f"column_{at}": numbers(column) for at, column in enumerate(columns)}
        types = ("bigint", *["integer"] * 7)
        unnested = ", ".join(
            f"CAST(:{name} AS {kind}[])" for name, kind in zip(arrays, types, strict=True)
        )
        self._connection.run(f"INSERT INTO posting SELECT * FROM unnest({unnested})", **arrays)

    def _ids(self, terms: TermCounts) -> list[int]:
        return [self._term_ids[term] for term in terms.counts]

    def _add_sums(
        self, sums: Mapping[str, int], freqs: Counter[tuple[int, int]], *, sign: int
    ) -> None:
        """Append what a document adds to the sums, or what its removal takes away."""
        self._connection.run(
            "INSERT INTO total SELECT key, :sign * value::bigint "
            "FROM json_each_text(CAST(:sums AS json))",
            sign=sign,
            sums=as_json(sums),
        )
        if freqs:
            self._connection.run(
                "INSERT INTO doc_freq SELECT * FROM unnest(CAST(:terms AS integer[]), "
                "CAST(:fields AS smallint[]), CAST(:chunks AS bigint[]))",
                terms=numbers([term for term, _ in freqs]),
                fields=numbers([mask for _, mask in freqs]),
                chunks=numbers([sign * count for count in freqs.values()]),
            )


def _index_chunks(document: StoredDocument) -> list[_IndexedChunk]:
    """Return the rows of a document's chunks; a text goes up to the start of the next chunk."""
    if "\0" in document.text:
        raise UsageError(f"{document.uri}: holds a NUL character, which PostgreSQL cannot store")
    chunks = document.chunks
    ends = [*(chunk.start for chunk in chunks[1:]), len(document.text)]
    indexed = []
    lines = document.text.count("\n", 0, chunks[0].start) if chunks else 0
    for ordinal, (chunk, until) in enumerate(zip(chunks, ends, strict=True)):
        text = document.text[chunk.start : until]
        context = chunk.context
        fields = (
            document.text[chunk.start : chunk.end],
            chunk.outline,
            context.text if context else "",
        )
        row: dict[str, object] = {
            "ordinal": ordinal,
            "start": chunk.start,
            "end": chunk.end,
            "token_start": chunk.token_start,
            "token_end": chunk.token_end,
            "section": chunk.section,
            "lines": lines,
            "text": text,
            "outline": chunk.outline,
            "context_key": context.key.hex() if context else None,
            "vector_key": chunk.vector_key.hex(),
        }
        vector = "" if chunk.vector is None else as_json(chunk.vector.tolist())
        indexed.append(_IndexedChunk(row, count_terms(fields, lang=document.lang), vector))
        lines += text.count("\n")
    return indexed


def _sums_of(document: StoredDocument, chunks: Sequence[_IndexedChunk]) -> dict[str, int]:
    """Return what a document adds to each sum over the collection."""
    embedded = [chunk.vector is not None for chunk in document.chunks]
    wanted = [bool(chunk.vector_key) for chunk in document.chunks]
    sums = Counter(
        {
            "documents": 1,
            "chunks": len(chunks),
            "tokens": max((chunk.token_end for chunk in document.chunks), default=0),
            "vectors": sum(embedded),
            "pending": sum(each and not has for each, has in zip(wanted, embedded, strict=True)),
        }
    )
    for chunk in chunks:
        for field, length in zip(_FIELDS, chunk.terms.lengths, strict=True):
            sums[f"{field}_length"] += length
    sums.update(f"{OUTCOME}{c.context.outcome}" for c in document.chunks if c.context)
    if document.lang:
        sums[f"lang:{document.lang}"] += 1
    return {name: value for name, value in sums.items() if value}


def _mask(counts: Sequence[int]) -> int:
    """Return the fields that hold a term, as bits."""
    in_text, in_outline, in_context = counts
    return (in_text > 0) | (in_outline > 0) << 1 | (in_context > 0) << 2


def _lock_key(schema: str, name: str) -> int:
    """Return the number of an advisory lock."""
    digest = _native.digest(b"crx", schema.encode(), name.encode())
    return int.from_bytes(digest[:8], "little", signed=True)
