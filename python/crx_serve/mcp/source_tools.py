"""Tools for source code: the outline of a file, the uses of a name, what belongs to a line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from crx import _native
from crx.errors import NotFound, UsageError
from crx.types import Mark
from crx_serve.document_ids import make_document_id
from crx_serve.mcp.matching_lines import MatchingLines
from crx_serve.mcp.source_file import SourceFile
from crx_serve.mcp.source_requests import (
    USES,
    OutlineQuery,
    ReferencesQuery,
    RelatedQuery,
    ToolOutline,
    ToolReferences,
    ToolRelated,
    Use,
)
from crx_serve.requests import SearchQuery
from crx_serve.service import SearchService, parse_cursor

_OUTLINE_LINES = 300
# Lines of each use in an answer for all uses, and in one for a single use.
_LINES_OF_EACH = 8
_LINES_OF_ONE = 60
_COLUMNS = 140
_IMPORT = re.compile(
    r"\s*(?:from\b.*\bimport\b|import\b|use\b|using\b|require\w*\b|#\s*include\b|@?import\b|open\b"
    r"|alias\b|export\b.*\bfrom\b|.*\brequire\(|library\()"
)
_COMMENT = re.compile(r"\s*(?:#(?!\s*include|\[)|//|/?\*|--|;)")
_IDENTIFIER = re.compile(r"[^\W\d]\w{3,}")
# Names of a definition that are looked up, those with the longest first.
_LOOKED_UP = 12
_RELATED_LINES = 6


class Reference(NamedTuple):
    """A line that has a name, and how it uses it."""

    use: Use
    text: str


def outline_file(service: SearchService, request: OutlineQuery) -> ToolOutline:
    """Return the definitions and headings of a file, each with its lines."""
    document_id, file = find_file(service, request.file, index=request.index)
    start = parse_cursor(request.cursor)
    end = start + _OUTLINE_LINES
    return ToolOutline(
        id=document_id,
        uri=file.uri,
        lines=file.lines,
        symbols=[_describe_section(file, mark) for mark in file.sections[start:end]],
        next_cursor=str(end) if end < len(file.sections) else "",
    )


def find_references(service: SearchService, request: ReferencesQuery) -> ToolReferences:
    """Return the lines that have a name as a whole word, by their use."""
    found, notes = _references(service, request.name, index=request.index)
    counts = Counter(each.use for each in found)
    wanted = [each for each in found if request.use in (None, each.use)]
    start = parse_cursor(request.cursor)
    by_use: dict[str, list[str]] = {}
    if request.use:
        shown = wanted[start : start + _LINES_OF_ONE]
        by_use = {request.use: [each.text for each in shown]} if shown else {}
        left = len(wanted) > start + _LINES_OF_ONE
        return ToolReferences(
            counts=_ordered(counts),
            references=by_use,
            next_cursor=str(start + _LINES_OF_ONE) if left else "",
            notes=notes,
        )
    for use in USES:
        lines = [each.text for each in found if each.use == use][:_LINES_OF_EACH]
        by_use |= {use: lines} if lines else {}
    return ToolReferences(counts=_ordered(counts), references=by_use, notes=notes)


def find_related(service: SearchService, request: RelatedQuery) -> ToolRelated:
    """Return uses of the definition around a line, and definitions of the names in it."""
    _, file = find_file(service, request.file, index=request.index)
    if request.line > file.lines:
        raise UsageError(f"line {request.line}: {file.uri} has {file.lines} lines")
    row = file.line_text(request.line)
    definition = file.enclosing(file.start_of(request.line) + len(row) - len(row.lstrip()))
    if definition is None:
        text, symbol = row, ""
    else:
        text, symbol = file.text[definition.start : definition.end], definition.label
    name = _name_of(symbol)
    uses, notes = _references(service, name, index=request.index) if name else ([], [])
    own = f"{file.uri}:"
    by_use: dict[str, list[str]] = {}
    for use in ("call", "test", "document"):
        others = [each.text for each in uses if each.use == use][:_RELATED_LINES]
        by_use |= {use: others} if others else {}
    names = Counter(word for word in _IDENTIFIER.findall(text) if word != name)
    compound = sorted(names, key=lambda word: (not _is_compound(word), -len(word)))
    definitions: list[str] = []
    for each in compound[:_LOOKED_UP]:
        found, _ = _references(service, each, index=request.index)
        defining = [one.text for one in found if one.use == "definition"]
        if 1 <= len(defining) <= 2:
            definitions += [
                line for line in defining if not _is_within(line, own, file, definition)
            ]
    return ToolRelated(
        symbol=symbol,
        uses=by_use,
        definitions=list(dict.fromkeys(definitions))[:_RELATED_LINES],
        notes=notes,
    )


def find_file(service: SearchService, given: str, *, index: str) -> tuple[str, SourceFile]:
    """Return the id and the text of a document by its id, its URI or the end of its path.

    Raises `NotFound` if there is none, or if several paths end so.
    """
    try:
        _, opened, row = service.find_document(given)
        return given, SourceFile.read(opened.store, row)
    except NotFound:
        pass
    wanted = given.removeprefix("file://").partition("#")[0]
    wanted = re.sub(r":\d+(?:-\d+)?$", "", wanted)
    found = [
        (served.name, served.get(), row)
        for served in service.served
        if index in ("", served.name)
        for row in served.get().store.documents()
        if row.uri == wanted or row.uri.endswith("/" + wanted.lstrip("./"))
    ]
    exact = [each for each in found if each[2].uri == wanted] or found
    if len(exact) != 1:
        if not exact:
            raise NotFound(f"{given[:200]}: no such file here; list finds files by part of a path")
        several = ", ".join(each[2].uri for each in exact[:5])
        raise NotFound(f"{given[:200]}: several files: {several}; give more of the path")
    name, opened, row = exact[0]
    return make_document_id(name, row), SourceFile.read(opened.store, row)


def _references(
    service: SearchService, name: str, *, index: str
) -> tuple[list[Reference], list[str]]:
    """Return the lines that have a name as a whole word, and notes."""
    word = re.findall(r"\w+", name)[-1:]
    if not word:
        raise UsageError(f"{name[:100]}: not a name; give a word such as parse_args")
    # The name as it is written: a pattern in small letters would have any case.
    pattern = rf"(?-i:\b{word[0]}\b)"
    found = MatchingLines(service, SearchQuery(query=pattern, match="regex", index=index))
    return list(_classify(found, word[0])), found.notes


def _classify(found: MatchingLines, name: str) -> Iterator[Reference]:
    for document in found.documents:
        file = document.file
        is_source = _native.document_kind(file.uri, file.text) == "code"
        is_aside = _native.is_aside(document.path)
        for line in document.lines:
            row = file.line_text(line)
            use = _use_of(row, name, uri=file.uri, is_source=is_source, is_aside=is_aside)
            around = file.enclosing(file.start_of(line) + len(row) - len(row.lstrip()))
            within = f" [{around.label}]" if around and use in ("call", "mention", "test") else ""
            yield Reference(use, f"{file.uri}:{line}:{within} {row.strip()[:_COLUMNS]}")


def _use_of(row: str, name: str, *, uri: str, is_source: bool, is_aside: bool) -> Use:
    if not is_source:
        return "document"
    if is_aside:
        return "test"
    if _native.declarations([(uri, row)], name) == [_native.Declaration.DEFINITION]:
        return "definition"
    if _IMPORT.match(row):
        return "import"
    if _COMMENT.match(row):
        return "mention"
    is_called = re.search(rf"\b{re.escape(name)}\b!?\s*(?:::<[^>]*>)?\(", row)
    return "call" if is_called else "mention"


def _ordered(counts: Counter[Use]) -> dict[str, int]:
    return {use: counts[use] for use in USES if counts[use]}


def _describe_section(file: SourceFile, mark: Mark) -> str:
    first, last = file.span(mark)
    shown = mark.label
    if mark.kind == "definition":
        line = file.declaring_line(mark)
        rows = file.lines_between(line, file.signature_end(line, last))
        shown = " ".join(" ".join(rows).split())[:_COLUMNS]
    return f"{'  ' * max(0, mark.level - 1)}{first}-{last} {shown}"


def _name_of(symbol: str) -> str:
    names: list[str] = re.findall(r"\w+", symbol)
    return names[-1] if names else ""


def _is_compound(word: str) -> bool:
    return bool(re.search(r"\w_\w|[a-z][A-Z]", word))


def _is_within(text: str, own: str, file: SourceFile, definition: Mark | None) -> bool:
    """Return whether the line of a reference is one of the definition itself."""
    if definition is None or not text.startswith(own):
        return False
    first, last = file.span(definition)
    line = re.match(r"(\d+)", text.removeprefix(own))
    return line is not None and first <= int(line[1]) <= last
