"""Descriptions of folders in the documents below them: in metadata, and by it in outlines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import orjson

from crx import _native
from crx.config._folder_descriptions import FolderDescriptions
from crx.ingest.paths import path_of
from crx.types import FOLDER_DESCRIPTION, Chunk, Document, Mark


def with_description(
    document: Document, path: str, descriptions: FolderDescriptions, *, present: str
) -> Document:
    """Return a document with the description of the folder of its file.

    `path` is the URI of the file, `present` the description that the store has. What a document
    says of its folder itself is dropped.
    """
    wanted = descriptions.of(path_of(path), present=present) if path else ""
    if wanted == document.metadata.get(FOLDER_DESCRIPTION, ""):
        return document
    metadata = {name: v for name, v in document.metadata.items() if name != FOLDER_DESCRIPTION}
    if wanted:
        metadata[FOLDER_DESCRIPTION] = wanted
    return replace(document, metadata=metadata)


def stored_description(row: _native.DocumentRow | None) -> str:
    """Return the description that a stored document has, or ""."""
    if row is None or FOLDER_DESCRIPTION not in row.metadata:
        return ""
    return str(orjson.loads(row.metadata).get(FOLDER_DESCRIPTION, ""))


def redescribed(
    store: _native.Store, descriptions: FolderDescriptions
) -> Iterator[tuple[_native.DocumentRow, Document, list[Chunk]]]:
    """Yield the stored documents that have another description than they should, with the new one.

    Nothing is read but the store, and their chunks stay as they are.
    """
    if not descriptions:
        return
    if not descriptions.by_folder and FOLDER_DESCRIPTION not in store.metadata_fields():
        return  # none to give and none to take away
    for row in store.documents():
        metadata = orjson.loads(row.metadata)
        document = Document(row.uri, "", row.title, row.lang, metadata)
        path, present = str(metadata.get("path", "")), stored_description(row)
        described = with_description(document, path, descriptions, present=present)
        if described is document:
            continue
        yield row, *stored_text(store, row, described)


def stored_text(
    store: _native.Store, row: _native.DocumentRow, document: Document
) -> tuple[Document, list[Chunk]]:
    """Return a stored document with its text and marks, and its chunks."""
    marks = tuple(Mark(**mark) for mark in orjson.loads(store.marks(row.doc)))
    chunks = [
        Chunk(r.ordinal, r.start, r.end, r.token_start, r.token_end, r.section, r.text)
        for r in store.chunks(store.chunk_keys(row.doc))
    ]
    return replace(document, text=store.text(row.doc), marks=marks), chunks
