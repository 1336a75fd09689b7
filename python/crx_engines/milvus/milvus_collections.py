"""The collections of an index in Milvus, and what their fields may hold.

An index is five collections: `state` (settings, commits, tombstones, flags of writers), `document`,
`piece` (texts and marks, which may be longer than a field), `chunk` (layout, contexts, terms, BM25
as sparse vectors) and `freq` (document frequencies); and `vector`, from the first vector on.
"""

from __future__ import annotations

from typing import Any

from crx.errors import UsageError
from crx_engines.milvus.milvus_connection import MilvusConnection

STATE, DOCUMENT, PIECE, CHUNK, FREQ, VECTOR = (
    "state",
    "document",
    "piece",
    "chunk",
    "freq",
    "vector",
)
# All that carry the number of their commit in `born`.
NUMBERED = (DOCUMENT, PIECE, CHUNK, FREQ, VECTOR)

# Bytes of the longest text in a field, and elements of the longest array.
MOST_BYTES = 65_535
_MOST_TOKENS = 4_096
_TOKEN_BYTES = 32
# A collection must have a vector: where none is searched, it is this.
NO_VECTOR = {"unused": [0.0, 0.0]}

# The indexes of dense vectors, and the parameters of a search in each.
FLAT, HNSW = "FLAT", "HNSW"
_HNSW_BUILD = {"M": 16, "efConstruction": 200}


def create_collections(connection: MilvusConnection) -> None:
    """Make the collections that are missing, except that of vectors."""
    for kind, fields in _INTEGERS.items():
        if kind != VECTOR:
            _create(connection, kind, fields)


def create_vectors(connection: MilvusConnection, *, dimensions: int) -> None:
    """Make the collection of vectors, if it is missing."""
    _create(connection, VECTOR, _INTEGERS[VECTOR], dimensions=dimensions)


def replace_dense_index(connection: MilvusConnection, index: str) -> None:
    """Replace the index of the dense vectors by one of `FLAT` and `HNSW`, if it is another."""
    if connection.index_type(VECTOR, "dense") != index:
        connection.replace_index(VECTOR, "dense", _dense_index(index))


# The fields of each collection that are integers, primary key first, and those that are texts.
_INTEGERS = {
    STATE: ("key", "number", "at", "doc"),
    DOCUMENT: (
        *("doc", "born", "first_chunk", "chunks", "mark_pieces", "source_mtime_ns", "source_size"),
    ),
    PIECE: ("piece", "born", "doc", "lines"),
    CHUNK: (
        *("chunk", "born", "doc", "ordinal", "start", "end", "token_start", "token_end"),
        *("section", "text_length", "outline_length", "context_length"),
    ),
    FREQ: ("row", "born", "bucket"),
    VECTOR: ("chunk", "born", "doc"),
}
_TEXTS = {
    STATE: ("kind", "body"),
    DOCUMENT: (
        *("uri", "uri_token", "title", "lang", "kind", "metadata", "source_hash", "digest", "sums"),
    ),
    PIECE: ("body",),
    CHUNK: ("outline", "context", "vector_key", "terms"),
    FREQ: ("body",),
    VECTOR: (),
}


def _create(
    connection: MilvusConnection, kind: str, integers: tuple[str, ...], *, dimensions: int = 0
) -> None:
    from pymilvus import DataType, MilvusClient

    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    for at, field in enumerate(integers):
        schema.add_field(field, DataType.INT64, is_primary=at == 0)
    for field in _TEXTS[kind]:
        schema.add_field(field, DataType.VARCHAR, max_length=MOST_BYTES)
    indexes = MilvusClient.prepare_index_params()
    if kind in (DOCUMENT, CHUNK, VECTOR):
        schema.add_field(
            "tokens",
            DataType.ARRAY,
            element_type=DataType.VARCHAR,
            max_capacity=_MOST_TOKENS,
            max_length=_TOKEN_BYTES,
        )
        schema.add_field("ranges", DataType.JSON)
    if kind == VECTOR:
        schema.add_field("dense", DataType.FLOAT_VECTOR, dim=dimensions)
        indexes = _dense_index(FLAT)
    elif kind == CHUNK:
        schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
        indexes.add_index(
            "sparse",
            index_type="SPARSE_INVERTED_INDEX",
            index_name="sparse",
            metric_type="IP",
        )
    else:
        schema.add_field("unused", DataType.FLOAT_VECTOR, dim=2)
        indexes.add_index("unused", index_type=FLAT, index_name="unused", metric_type="L2")
    connection.create_collection(kind, schema=schema, indexes=indexes)


def _dense_index(index: str) -> Any:
    from pymilvus import MilvusClient

    indexes = MilvusClient.prepare_index_params()
    build = _HNSW_BUILD if index == HNSW else {}
    indexes.add_index("dense", index_type=index, index_name="dense", metric_type="IP", params=build)
    return indexes


def fitting(text: str, *, what: str, uri: str) -> str:
    """Return a text that fits into a field; raises `UsageError` for a longer one."""
    if len(text.encode()) > MOST_BYTES:
        raise UsageError(
            f"{uri[:200]}: {what} has more than the {MOST_BYTES:,} bytes that Milvus stores in a "
            "field; shorten it, or keep this index in a folder or in PostgreSQL"
        )
    return text
