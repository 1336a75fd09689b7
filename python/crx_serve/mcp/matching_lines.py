"""All lines of the indexed documents that a pattern matches, by document and line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from crx import _native
from crx._index.handle import Index
from crx.ingest.paths import is_below
from crx.retrieve.operators import compile_pattern, parse_pattern
from crx_serve.document_ids import make_document_id
from crx_serve.mcp.source_file import SourceFile
from crx_serve.requests import SearchQuery
from crx_serve.service import SearchService

# Chunks that a pattern is looked for in, at most: a note of the search tells of more.
_MOST_CHUNKS = 10_000


class MatchingDocument(NamedTuple):
    """A document, its id, its path below the folder that was indexed, and the matching lines."""

    id: str
    path: str
    row: _native.DocumentRow
    file: SourceFile
    lines: tuple[int, ...]


class MatchingLines:
    """The documents with lines that match, in the order of their URIs, and notes of the search.

    `keeps` gets the name of an index and the URI of a document, and returns whether it is one.
    """

    def __init__(
        self,
        service: SearchService,
        request: SearchQuery,
        *,
        keeps: Callable[[str, str], bool] = lambda index, uri: True,
    ) -> None:
        self.notes: list[str] = []
        self.documents: list[MatchingDocument] = []
        pattern = parse_pattern(request.query, match=request.match)
        assert pattern is not None, "the request has a pattern"
        compiled = compile_pattern(pattern)
        for served in service.served:
            if request.index not in ("", served.name):
                continue
            wide = SearchQuery(
                query=request.query,
                match=request.match,
                where=request.where,
                k=_MOST_CHUNKS,
                window=0,
            )
            found = service.search_index(served, wide)
            self.notes += found.notes
            index = served.get()
            roots = index.roots
            for uri in dict.fromkeys(hit.uri for hit in found.hits):
                if keeps(served.name, uri):
                    self._add(served.name, index, roots, uri, compiled)

    @property
    def folders(self) -> list[str]:
        """The indexed folders that the paths of the documents are below."""
        above = {document.row.uri.removesuffix(document.path) for document in self.documents}
        return sorted(above - {""})

    @cached_property
    def count(self) -> int:
        """How many lines match."""
        return sum(len(document.lines) for document in self.documents)

    def page(self, start: int, most: int) -> Iterator[tuple[MatchingDocument, list[int]]]:
        """Yield the documents of some of the lines, and these lines."""
        left = most
        for document in self.documents:
            lines = list(document.lines[start : start + left])
            start = max(0, start - len(document.lines))
            left -= len(lines)
            if lines:
                yield document, lines
            if not left:
                return

    def _add(
        self, name: str, index: Index, roots: Sequence[str], uri: str, pattern: _native.Pattern
    ) -> None:
        row = index.store.document(uri)
        if row is None:
            return
        file = SourceFile.read(index.store, row)
        lines = dict.fromkeys(file.line_at(start) for start, _ in pattern.spans(file.text))
        document_id, path = make_document_id(name, row), path_below(roots, uri)
        self.documents.append(MatchingDocument(document_id, path, row, file, tuple(lines)))


def path_below(roots: Sequence[str], uri: str) -> str:
    """Return the path of a document below the indexed folder, or the name of an indexed file.

    A document that lies below none has its whole URI.
    """
    root = max((root for root in roots if is_below(uri, root)), key=len, default="")
    if not root:
        return uri
    return uri[len(root) :].lstrip("/") or uri.rpartition("/")[2]


def is_test(service: SearchService, index: str, uri: str) -> bool:
    """Return whether a document is a test, an example, vendored or generated code."""
    return _native.is_aside(path_below(service.index(index).roots, uri))
