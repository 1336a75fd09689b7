"""Stored documents as the values that contextualizers take, their order, and tasks of a run."""

from __future__ import annotations

import math
import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import orjson

from crx import _native
from crx._services.compute_usage import ComputeUsage
from crx.ingest.embedding_prefix import embedding_prefix, vector_key
from crx.protocols import Embedder
from crx.types import Chunk, Context, Document, Mark


def load_document(
    store: _native.Store, row: _native.DocumentRow
) -> tuple[Document, list[_native.ChunkRow]]:
    """Return a stored document and the rows of its chunks, in order."""
    document = Document(
        uri=row.uri,
        text=store.text(row.doc),
        title=row.title,
        lang=row.lang,
        metadata=orjson.loads(row.metadata),
        marks=tuple(Mark(**mark) for mark in orjson.loads(store.marks(row.doc))),
    )
    return document, store.chunks(store.chunk_keys(row.doc))


def to_chunk(row: _native.ChunkRow) -> Chunk:
    """Return a stored chunk as a `Chunk`."""
    return Chunk(
        row.ordinal, row.start, row.end, row.token_start, row.token_end, row.section, row.text
    )


def link_context(
    store: _native.Store, row: _native.ChunkRow, key: bytes, context: Context, *, embedder: Embedder
) -> None:
    """Link a chunk to the stored context under `key`, and to the vector of both together."""
    prefix = embedding_prefix(row.outline, context.text)
    store.link_context(row.key, key, vector_key(embedder, prefix, row.text))


# Words at the start of a chunk that refer to something named before it.
_REFERENCE = re.compile(
    r"""\W*(?:(?:it|its|they|their|them|this|these|those|such|he|she|his|her|said|the\ (?:said|same
    |former|latter|foregoing|above)|as\ (?:above|noted|described|mentioned)|however|therefore|thus
    |moreover|otherwise|also|in\ addition|il|elle|ils|elles|ce|cette|ces|cela|celui-ci|celle-ci
    |ledit|ladite|lesdits|toutefois|cependant|er|sie|es|diese|dieser|dieses|nó|họ|điều\ này
    |những)\b|[它他她]们?|[这該该此其]|これ|それ|この|その|同)""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class PendingDocument:
    """A stored document, the ordinals of its chunks without a context, and its `estimate_need`."""

    row: _native.DocumentRow
    missing: tuple[int, ...]
    need: float


def estimate_need(texts: Sequence[str]) -> float:
    """Return how much the chunks of a document gain by contexts; larger is more.

    The share of chunks that open with a reference to something named before them, plus a half,
    times the logarithm of the number of chunks: in a long document more of it is out of sight.
    """
    referring = sum(bool(_REFERENCE.match(text)) for text in texts)
    return (0.5 + referring / max(1, len(texts))) * math.log2(1 + len(texts))


def group_documents(
    pending: Iterable[PendingDocument], chunks: int
) -> Iterator[list[PendingDocument]]:
    """Yield documents in groups that each lack at least `chunks` contexts; the last may lack fewer.

    A document is never split, so a group of documents may lack many more than `chunks`.
    """
    group: list[PendingDocument] = []
    lacking = 0
    for document in pending:
        group.append(document)
        lacking += len(document.missing)
        if lacking >= chunks:
            yield group
            group, lacking = [], 0
    if group:
        yield group


Request = TypeVar("Request")


@dataclass(frozen=True, slots=True)
class DocumentTask:
    """A document and its chunks that lack a context, each by its position among these.

    `contextualizer` is the position of the document's contextualizer in `ContextRouter`.
    """

    document: Document
    chunks: Mapping[int, Chunk]
    contextualizer: int = 0

    @property
    def chars(self) -> int:
        """Characters of the document."""
        return len(self.document.text)


class ContextPool(Protocol):
    """Writes the contexts of several documents at once in other processes."""

    @property
    def usage(self) -> ComputeUsage | None:
        """The computation of all processes so far, None if their contextualizer counts none."""

    def situate(
        self, asked: Iterable[tuple[Request, DocumentTask]]
    ) -> Generator[tuple[Request, int, Context], None, None]:
        """Yield (request, position of the chunk, context) as they come, one for each chunk.

        What is asked is taken in its order, as soon as there is room for it. Raises `ModelError`
        if the model cannot continue. The processes end with the generator.
        """
