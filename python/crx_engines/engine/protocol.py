"""The protocol of engines, and the rows that cross it: what a package implements to add an engine.

An engine is a class with the methods of `Engine`, and a class with those of `EngineSnapshot`. An
entry point of the group `crx.engines` opens it: named by a scheme, called with an address of it.
`bm25` counts terms for engines, `filter_tests` tests filters, `sums` adds up statistics, and
`contract.rules` checks what an engine promises. The folder `examples/plugin` of the source
repository has an engine in memory.

A document crosses the protocol whole, with its chunks, contexts and vectors, and an engine puts or
removes it in one transaction, which may be that of other documents, too. BM25 crosses it as sparse
vectors: the coordinate of a chunk at a term is the saturation of its frequency, that of a query is
`q * idf * (k1 + 1)`, and their inner product is the score that the folder gives (see `bm25`). Keys
of chunks are int64 and an engine's own; documents are named by their URIs everywhere. Larger scores
are better; equal scores are in ascending order of key.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
import orjson
from numpy.typing import NDArray

from crx import _native
from crx.types import Ranking

# Conditions on documents, as `Index.search` takes them: field -> value, list or operators.
Conditions: TypeAlias = Mapping[str, object]

# The sparse vector of a query: terms and their weights.
QueryWeights: TypeAlias = Sequence[tuple[str, float]]

# What the names of counts by outcome begin with, in `_native.Store.stats`.
OUTCOME = "outcome:"


def digest_of(*parts: bytes) -> bytes:
    """Return the 32-byte BLAKE3 of parts, each preceded by its length."""
    return _native.digest(*parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Saturation:
    """The parameters of BM25F that are the document's side of the inner product.

    `weights` are those of text, outline and context; a field of weight 0 is ignored.
    """

    k1: float = 1.2
    b: float = 0.75
    weights: tuple[float, float, float] = (1.0, 1.0, 1.0)

    def weigh(self, numbers: Sequence[int]) -> float:
        """Return the weighted sum of a number for each field: frequencies of a term, or lengths."""
        return sum(w * n for w, n in zip(self.weights, numbers, strict=True))

    def norm(self, lengths: Sequence[int], *, mean_length: float) -> float:
        """Return `k1 (1 - b + b len' / mean len')` of a chunk with these lengths of fields."""
        return self.k1 * (1 - self.b + self.b * self.weigh(lengths) / mean_length)


@dataclass(frozen=True, slots=True)
class StoredContext:
    """A context that a model wrote, under the key of what it was made from."""

    key: bytes
    generator: str
    outcome: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StoredChunk:
    """A chunk of a stored document.

    `start`, `end` are code points of the document's text, `token_start`, `token_end` tokens;
    `section` is that of a layout (see `_native.Store.layout`). `vector_key` is the key of the
    vector that it should have, b"" for none; `vector` is that vector, (d,) float16, or None if it
    has not been made yet.
    """

    start: int
    end: int
    token_start: int
    token_end: int
    section: int
    outline: str
    context: StoredContext | None
    vector_key: bytes
    vector: NDArray[np.float16] | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StoredDocument:
    """A document with all that was made of it.

    `metadata` is a JSON object and `marks` a JSON list, both without spaces between tokens.
    """

    uri: str
    title: str
    lang: str
    metadata: str
    source_hash: bytes
    source_size: int
    source_mtime_ns: int
    text: str
    marks: str
    chunks: tuple[StoredChunk, ...]

    @property
    def kind(self) -> Literal["code", "prose", "data"]:
        """What the document is; a function of its path and its text."""
        return _native.document_kind(self.uri, self.text)

    def digest(self) -> bytes:
        """Return the 32-byte BLAKE3 of all fields: equal documents have equal digests."""
        fields = (self.uri, self.title, self.lang, self.metadata, self.text, self.marks)
        numbers = orjson.dumps([self.source_size, self.source_mtime_ns, len(self.chunks)])
        parts = [*(field.encode() for field in fields), self.source_hash, numbers]
        for chunk in self.chunks:
            span = (chunk.start, chunk.end, chunk.token_start, chunk.token_end, chunk.section)
            parts += [orjson.dumps(span), chunk.outline.encode(), chunk.vector_key]
            context = chunk.context
            if context is not None:
                parts += [context.key, context.generator.encode(), context.outcome.encode()]
                parts.append(context.text.encode())
            vector = b"" if chunk.vector is None else chunk.vector.astype("<f2").tobytes()
            parts += [b"" if context is None else b"context", vector]
        return digest_of(*parts)

    def find_chunk(self, ordinal: int, *, key: int, doc: int) -> FoundChunk:
        """Return a chunk as a search reads it from an engine that keeps whole documents."""
        chunk = self.chunks[ordinal]
        return FoundChunk(
            key=key,
            doc=doc,
            uri=self.uri,
            title=self.title,
            lang=self.lang,
            kind=self.kind,
            ordinal=ordinal,
            start=chunk.start,
            end=chunk.end,
            token_start=chunk.token_start,
            token_end=chunk.token_end,
            section=chunk.section,
            text=self.text[chunk.start : chunk.end],
            outline=chunk.outline,
            context=chunk.context.text if chunk.context else "",
            outcome=chunk.context.outcome if chunk.context else "",
        )

    def find_layout(self, ordinal: int, *, each_side: int) -> list[tuple[int, ...]]:
        """Return the rows of `EngineSnapshot.neighbours` around a chunk, without the document."""
        first = max(0, ordinal - each_side)
        chunks = self.chunks[first : ordinal + each_side + 1]
        return [
            (at, c.start, c.end, c.token_start, c.token_end, c.section)
            for at, c in enumerate(chunks, first)
        ]

    def find_document(self, *, doc: int) -> FoundDocument:
        """Return the document as a search reads it."""
        return FoundDocument(
            doc=doc, uri=self.uri, metadata=self.metadata, source_mtime_ns=self.source_mtime_ns
        )

    def find_span(self, start: int, end: int) -> FoundSpan:
        """Return a span as a search reads it from an engine that keeps whole documents."""
        text, first_line = self.text[start:end], 1 + self.text.count("\n", 0, start)
        marks = [m for m in orjson.loads(self.marks) if m["start"] < end and m["end"] > start]
        return FoundSpan(
            text=text,
            lines=lines_of(text, first_line=first_line),
            marks=orjson.dumps(marks).decode(),
            uri=self.uri,
            metadata=self.metadata,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundChunk:
    """A chunk as a search reads it; the fields are those of `_native.ChunkRow`."""

    key: int
    doc: int
    uri: str
    title: str
    lang: str
    kind: str
    ordinal: int
    start: int
    end: int
    token_start: int
    token_end: int
    section: int
    text: str
    outline: str
    context: str
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDocument:
    """A document as a search reads it: without text."""

    doc: int
    uri: str
    metadata: str
    source_mtime_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSpan:
    """A span of a document: its text, lines (from 1) and marks (JSON), as `_native.PassageRow`."""

    text: str
    lines: tuple[int, int]
    marks: str
    uri: str
    metadata: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionStatistics:
    """Exact sums over the documents of one committed state.

    `lengths` are the terms of all chunks by field; `langs` the languages, most frequent first;
    `outcomes` the chunks with each outcome of making a context. `version` changes whenever the
    state does.
    """

    documents: int
    chunks: int
    vectors: int
    pending: int
    tokens: int
    outcomes: Mapping[str, int]
    lengths: tuple[int, int, int]
    langs: tuple[str, ...]
    version: int

    def mean_length(self, saturation: Saturation) -> float:
        """Return the mean weighted length of a chunk."""
        return saturation.weigh(self.lengths) / max(1, self.chunks)


class EngineSnapshot(Protocol):
    """What a search reads: one committed state of an engine.

    Every method may be called from several threads. `where` filters documents; a filter that is
    not valid raises `ValueError`.
    """

    @property
    def missing(self) -> tuple[str, ...]:
        """What is left out of answers because a server is down: a line for each, for the notes."""

    @property
    def exact(self) -> bool:
        """Whether `dense_topk` compares the query with every vector."""

    def stats(self) -> CollectionStatistics:
        """Return the statistics of the state."""

    def doc_freqs(self, terms: Sequence[str], *, saturation: Saturation) -> list[int]:
        """Return how many chunks hold each term in a field of positive weight."""

    def dense_topk(
        self, vector: NDArray[np.float32], *, k: int, where: Conditions | None
    ) -> Ranking:
        """Return the k chunks of largest inner product of the (d,) query and their vectors."""

    def sparse_topk(
        self, weights: QueryWeights, *, k: int, saturation: Saturation, where: Conditions | None
    ) -> Ranking:
        """Return the k chunks of largest inner product of the query's terms and their saturations.

        A chunk without any of the terms is in no ranking.
        """

    def rows(self, keys: Sequence[int]) -> list[FoundChunk]:
        """Return the chunks of these keys, in their order; a key without a chunk is skipped."""

    def documents(self, docs: Sequence[int]) -> list[FoundDocument]:
        """Return the documents of these ids, in any order."""

    def neighbours(
        self, positions: Sequence[tuple[int, int]], *, each_side: int
    ) -> NDArray[np.int64]:
        """Return the layout around (document, ordinal) pairs, as far as there are chunks.

        It is (n, 7): document, ordinal, start, end, token_start, token_end, section, in ascending
        order, without repetitions.
        """

    def spans(self, spans: Sequence[tuple[int, int, int]]) -> list[FoundSpan]:
        """Return the text of each (document, start, end), with its lines and marks."""

    def fields(self) -> set[str]:
        """Return the names of the fields of the documents' metadata."""

    def has_document(self, *, where: Conditions) -> bool:
        """Return whether a document meets a filter."""

    def digests(self, *, where: Conditions | None) -> dict[str, bytes]:
        """Return the digest of each document, by URI, as it was when the document was put."""

    def read(self, uri: str) -> StoredDocument | None:
        """Return a document with all that was made of it, None if there is none."""


@runtime_checkable
class Engine(Protocol):
    """Where an index is kept. Methods raise `CrxError`s that name the engine."""

    @property
    def name(self) -> str:
        """The address, without a password."""

    def settings(self) -> dict[str, str]:
        """Return the settings that the index was built with; empty if there is no index yet."""

    def create(self, settings: Mapping[str, str]) -> None:
        """Make an empty index with these settings where there is none."""

    def upsert(self, documents: Sequence[StoredDocument]) -> int:
        """Put documents, one or a few in each transaction; return how many were not there already.

        A document replaces the one of its URI. Readers see the old document or the new one. Several
        writers may put documents at the same time.
        """

    def delete(self, uris: Sequence[str]) -> int:
        """Remove documents, one or a few in each transaction; return how many there were."""

    def publish(self) -> None:
        """Finish what `upsert` and `delete` leave for the end of a run."""

    def snapshot(self) -> contextlib.AbstractContextManager[EngineSnapshot]:
        """Give the last committed state."""

    def close(self) -> None:
        """Release the connections and files."""


def lines_of(text: str, *, first_line: int) -> tuple[int, int]:
    """Return the first and the last line of a span, of which a line break at the end is part."""
    return first_line, first_line + text[:-1].count("\n")


@runtime_checkable
class SettingsWriter(Protocol):
    """An engine that can change the settings of its index."""

    def set_settings(self, settings: Mapping[str, str]) -> None:
        """Set some settings; all others stay. An empty text removes one."""


@runtime_checkable
class GraphBuilder(Protocol):
    """An engine that can search its vectors by a graph, which is built on request."""

    def build_graph(self) -> None:
        """Build an HNSW graph of the vectors, which searches then use; exact scans end."""


def batches(
    documents: Iterator[StoredDocument], *, most_bytes: int
) -> Iterator[list[StoredDocument]]:
    """Group documents so that the texts of a group are at most so many bytes, or one document."""
    group: list[StoredDocument] = []
    size = 0
    for document in documents:
        if group and size + len(document.text) > most_bytes:
            yield group
            group, size = [], 0
        group.append(document)
        size += len(document.text)
    if group:
        yield group
