"""A document as rows of the collections."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import orjson

from crx.errors import UsageError
from crx_engines.document_writer import IndexedDocument
from crx_engines.engine.filter_tests import elements_of
from crx_engines.engine.protocol import StoredContext
from crx_engines.milvus.milvus_collections import NO_VECTOR, fitting
from crx_engines.milvus.milvus_condition import ranges_of, token, tokens_of
from crx_engines.milvus.milvus_connection import StoredRow
from crx_engines.milvus.term_rows import encode_counts, sparse_vector

# Code points of a piece: at most 4 bytes each in UTF-8.
PIECE_CHARS = 8_000
# Keys of pieces: those of a document's text, then those of its marks.
_PIECES = 1 << 24
_MARKS = 1 << 23
_MOST_TOKENS = 4_096


def text_piece(doc: int, at: int) -> int:
    """Return the key of a piece of a document's text."""
    return doc * _PIECES + at


def mark_piece(doc: int, at: int) -> int:
    """Return the key of a piece of a document's marks."""
    return doc * _PIECES + _MARKS + at


@dataclass(frozen=True)
class DocumentRows(IndexedDocument):
    """A document to be put: its digest, terms and sums, and its rows once it has keys."""

    @cached_property
    def counts(self) -> list[str]:
        """The terms of each chunk as text."""
        return [encode_counts(each, uri=self.document.uri) for each in self.terms]

    @cached_property
    def _filtered(self) -> StoredRow:
        """The fields by which rows are filtered."""
        document = self.document
        uri, title = self._fit(document.uri, "its URI"), self._fit(document.title, "its title")
        fields = elements_of(uri, title, document.lang, document.kind, document.metadata)
        tokens, ranges = tokens_of(fields), ranges_of(fields)
        if len(tokens) > _MOST_TOKENS:
            raise UsageError(
                f"{document.uri[:200]}: more than {_MOST_TOKENS:,} values of metadata, and Milvus "
                "stores no more; give it fewer"
            )
        self._fit(orjson.dumps(ranges).decode(), "its metadata")
        return {"tokens": tokens, "ranges": ranges}

    def _fit(self, text: str, what: str) -> str:
        return fitting(text, what=what, uri=self.document.uri)

    def document_row(self, *, doc: int, first_chunk: int, born: int) -> StoredRow:
        """Return the row of the collection of documents."""
        document = self.document
        return {
            **NO_VECTOR,
            **self._filtered,
            "doc": doc,
            "born": born,
            "first_chunk": first_chunk,
            "chunks": len(document.chunks),
            "mark_pieces": len(_pieces(document.marks)),
            "source_mtime_ns": document.source_mtime_ns,
            "source_size": document.source_size,
            "uri": document.uri,
            "uri_token": token("uri", document.uri),
            "title": document.title,
            "lang": document.lang,
            "kind": document.kind,
            "metadata": self._fit(document.metadata, "its metadata"),
            "source_hash": document.source_hash.hex(),
            "digest": self.digest.hex(),
            "sums": orjson.dumps(self.sums).decode(),
        }

    def piece_rows(self, *, doc: int, born: int) -> list[StoredRow]:
        """Return the text and the marks in pieces, each with the line breaks before it."""
        rows = []
        lines = 0
        for at, piece in enumerate(_pieces(self.document.text)):
            rows.append((text_piece(doc, at), lines, piece))
            lines += piece.count("\n")
        rows += [
            (mark_piece(doc, at), 0, each) for at, each in enumerate(_pieces(self.document.marks))
        ]
        return [
            {**NO_VECTOR, "piece": key, "born": born, "doc": doc, "lines": before, "body": body}
            for key, before, body in rows
        ]

    def chunk_rows(
        self, *, doc: int, first_chunk: int, born: int, mean_length: float
    ) -> list[StoredRow]:
        """Return the rows of the collection of chunks."""
        return [
            {
                **self._filtered,
                "chunk": first_chunk + ordinal,
                "born": born,
                "doc": doc,
                "ordinal": ordinal,
                "start": chunk.start,
                "end": chunk.end,
                "token_start": chunk.token_start,
                "token_end": chunk.token_end,
                "section": chunk.section,
                "text_length": terms.lengths[0],
                "outline_length": terms.lengths[1],
                "context_length": terms.lengths[2],
                "outline": self._fit(chunk.outline, "an outline"),
                "context": self._fit(encode_context(chunk.context), "a context"),
                "vector_key": chunk.vector_key.hex(),
                "terms": counts,
                "sparse": sparse_vector(terms, mean_length=mean_length),
            }
            for ordinal, (chunk, terms, counts) in enumerate(
                zip(self.document.chunks, self.terms, self.counts, strict=True)
            )
        ]

    def vector_rows(self, *, doc: int, first_chunk: int, born: int) -> list[StoredRow]:
        """Return the rows of the collection of vectors."""
        return [
            {
                **self._filtered,
                "chunk": first_chunk + ordinal,
                "born": born,
                "doc": doc,
                "dense": chunk.vector.astype("<f4").tolist(),
            }
            for ordinal, chunk in enumerate(self.document.chunks)
            if chunk.vector is not None
        ]


def encode_context(context: StoredContext | None) -> str:
    """Return a context as JSON, "" for none."""
    if context is None:
        return ""
    parts = [context.key.hex(), context.generator, context.outcome, context.text]
    return orjson.dumps(parts).decode()


def decode_context(written: str) -> StoredContext | None:
    """Return the context that `encode_context` wrote."""
    if not written:
        return None
    key, generator, outcome, text = orjson.loads(written)
    return StoredContext(bytes.fromhex(key), generator, outcome, text)


def _pieces(text: str) -> list[str]:
    return [text[at : at + PIECE_CHARS] for at in range(0, len(text), PIECE_CHARS)]
