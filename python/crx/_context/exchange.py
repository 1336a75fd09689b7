"""Export of an index's contexts to records, and import of records into an index.

A document is named by its path below a folder (the current one by default), so that a file of
contexts from one copy of the documents fits another copy; a document that is not a file is named by
its URI. A record whose span is not a chunk of the index, or whose chunk has another text, is
reported, never moved to a near chunk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from crx import _native
from crx._context.cache import Origin, context_keys, find_best, store_context
from crx._context.documents import link_context, load_document, to_chunk
from crx._context.records import Record, hash_of, id_of, match, name_kind, path_below
from crx._context.sources import ContextSources
from crx.ingest.indexer import Indexer
from crx.protocols import Embedder
from crx.types import Context


@dataclass(frozen=True, slots=True)
class Imported:
    """Result of an import: contexts linked to a chunk, and records without one.

    `differing` are records whose chunk has another text; `unchecked` counts the linked records that
    have no hash.
    """

    linked: int
    unknown_documents: tuple[str, ...]
    unmatched_spans: tuple[Record, ...]
    differing: tuple[Record, ...] = ()
    unchecked: int = 0

    @property
    def whole(self) -> bool:
        """Whether every record was linked to a chunk."""
        return not (self.unknown_documents or self.unmatched_spans or self.differing)


def export_contexts(
    store: _native.Store, *, origins: Sequence[Origin], folder: Path
) -> Iterator[Record]:
    """Yield the record of each context, by document and position."""
    for row in store.documents():
        document, rows = load_document(store, row)
        cached = find_best(store, document, [to_chunk(each) for each in rows], origins=origins)
        for each, known in zip(rows, cached, strict=True):
            if each.context:
                same = known is not None and known.context.text == each.context
                yield Record(
                    document=_below(row.uri, folder),
                    start=each.start,
                    end=each.end,
                    context=each.context,
                    generator=known.generator if known is not None and same else "",
                    named_by=name_kind(document),
                    sha256=hash_of(each.text),
                )


def import_contexts(
    store: _native.Store,
    records: Sequence[Record],
    *,
    embedder: Embedder,
    origin: Origin,
    folder: Path,
) -> Imported:
    """Link each record to its chunk, durably, and embed these chunks with their contexts."""
    rows = {row.uri: row for row in store.documents()}
    uris = _UriIndex(list(rows), folder)
    named = [replace(record, document=uris.find(record.document)) for record in records]
    asked = sorted({record.document for record in named} & rows.keys())
    spans = {
        uri: [(int(start), int(end)) for start, end in store.layout(rows[uri].doc)[:, :2]]
        for uri in asked
    }
    matched = match(named, spans)
    by_document: dict[str, list[tuple[Record, int]]] = {}
    for record, at in matched.found:
        by_document.setdefault(record.document, []).append((record, at))
    linked: list[Record] = []
    differing: list[Record] = []
    for uri, found in by_document.items():
        document, chunk_rows = load_document(store, rows[uri])
        keys = context_keys(document, [to_chunk(each) for each in chunk_rows], origin=origin)
        for record, at in found:
            if record.differs(chunk_rows[at].text):
                differing.append(record)
                continue
            linked.append(record)
            context = Context(record.context)
            generator = record.generator or origin.fingerprint
            key = store_context(store, keys[at], generator=generator, context=context)
            link_context(store, chunk_rows[at], key, context, embedder=embedder)
    Indexer(store, embedder=embedder, situator=ContextSources(outline=False)).embed()
    return Imported(
        linked=len(linked),
        unknown_documents=matched.unknown_documents,
        unmatched_spans=matched.unmatched_spans,
        differing=tuple(differing),
        unchecked=sum(not record.sha256 for record in linked),
    )


class _UriIndex:
    """Lookup of the documents of an index by the names in a file of contexts."""

    def __init__(self, uris: Sequence[str], folder: Path) -> None:
        self._uris = set(uris)
        self._folder = folder
        self._by_id: dict[str, list[str]] = {}
        for uri in uris:
            if name := id_of(uri):
                self._by_id.setdefault(name, []).append(uri)

    def find(self, name: str) -> str:
        """Return the URI: the name itself, a path below the folder, or the one `...#name`."""
        path = path_below(self._folder, name)
        alike = self._by_id.get(name, [])
        candidates = [name, path, *(alike if len(alike) == 1 else [])]
        return next((candidate for candidate in candidates if candidate in self._uris), name)


def _below(uri: str, folder: Path) -> str:
    """Return the name of a document below a folder, else its URI."""
    return uri.removeprefix(f"{folder.as_posix().rstrip('/')}/")
