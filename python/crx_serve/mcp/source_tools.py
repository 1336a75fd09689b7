"""Tools for source code: the outline of a file, the uses of a name, what belongs to a line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from crx import _native
from crx._show.notes import choose_notes
from crx.errors import NotFound, UsageError
from crx.types import Mark
from crx_serve.document_ids import make_document_id
from crx_serve.mcp.matching_lines import MatchingDocument, MatchingLines
from crx_serve.mcp.source_file import COMMENT, SourceFile, defined_name
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
_IDENTIFIER = re.compile(r"[^\W\d]\w{3,}")
# Names of a definition that are looked up, those with the longest first.
_LOOKED_UP = 12
_RELATED_LINES = 6


class Reference(NamedTuple):
    """A line that has a name, and how it uses it."""

    use: Use
    document: MatchingDocument
    line: int

    def describe(self) -> str:
        """Return path, line and text, with the head of the definition around a call or a test."""
        file, within = self.document.file, ""
        row = file.line_text(self.line)
        if self.use in ("call", "mention", "test") and (around := file.around(self.line)):
            head = file.line_text(file.declaring_line(around)).strip()
            within = f" [{head[:_COLUMNS]}]"
        return f"{self.document.path}:{self.line}:{within} {row.strip()[:_COLUMNS]}"


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
    found = _find_words(service, [_last_word(request.name)], index=request.index)
    references = list(_classify(found, _last_word(request.name)))
    counts = Counter(each.use for each in references)
    most = _LINES_OF_ONE if request.use else _LINES_OF_EACH
    start = parse_cursor(request.cursor) if request.use else 0
    by_use: dict[str, list[str]] = {}
    for use in [request.use] if request.use else USES:
        own = [each for each in references if each.use == use][start : start + most]
        by_use |= {use: [each.describe() for each in own]} if own else {}
    goes_on = request.use is not None and counts[request.use] > start + most
    return ToolReferences(
        counts={use: counts[use] for use in USES if counts[use]},
        references=by_use,
        folders=found.folders,
        next_cursor=str(start + most) if goes_on else "",
        notes=_told(found),
    )


def find_related(service: SearchService, request: RelatedQuery) -> ToolRelated:
    """Return uses of the definition around a line, and definitions of the names in it."""
    _, file = find_file(service, request.file, index=request.index)
    if request.line > file.lines:
        raise UsageError(f"line {request.line}: {file.uri} has {file.lines} lines")
    definition = file.around(request.line)
    row = file.line_text(request.line)
    text = file.text[definition.start : definition.end] if definition else row
    symbol = definition.label if definition else ""
    own = [name] if definition and (name := defined_name(definition)) else []
    used = {word for word in _IDENTIFIER.findall(text) if word not in own}
    ordered = sorted(used, key=lambda word: (not _is_compound(word), -len(word), word))
    names = ordered[:_LOOKED_UP]
    found = _find_words(service, [*own, *names], index=request.index)
    references = list(_classify(found, own[0])) if own else []
    by_use: dict[str, list[str]] = {}
    for use in ("call", "test", "document"):
        uses = [each for each in references if each.use == use][:_RELATED_LINES]
        by_use |= {use: [each.describe() for each in uses]} if uses else {}
    within = file.span(definition) if definition else (request.line, request.line)
    return ToolRelated(
        symbol=symbol,
        uses=by_use,
        definitions=_find_definitions(found, names, besides=(file.uri, *within)),
        folders=found.folders,
        notes=_told(found),
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


def _last_word(name: str) -> str:
    """Return the name that a dotted name ends in."""
    words: list[str] = re.findall(r"\w+", name)
    if not words:
        raise UsageError(f"{name[:100]}: not a name; give a word such as parse_args")
    return words[-1]


def _find_words(service: SearchService, words: Sequence[str], *, index: str) -> MatchingLines:
    """Return the lines that have one of some words as it is written."""
    # A pattern in small letters would have any case.
    pattern = rf"(?-i:\b(?:{'|'.join(words)})\b)"
    return MatchingLines(service, SearchQuery(query=pattern, match="regex", index=index))


def _classify(found: MatchingLines, name: str) -> Iterator[Reference]:
    """Yield the lines that have a name."""
    word = re.compile(rf"\b{name}\b")
    for document in found.documents:
        file = document.file
        is_source = _native.document_kind(file.uri, file.text) == "code"
        is_aside = _native.is_aside(document.path)
        for line in document.lines:
            row = file.line_text(line)
            if not word.search(row):
                continue
            use = _use_of(row, name, uri=file.uri, is_source=is_source, is_aside=is_aside)
            if use == "call" and _declares(file, line, name):
                use = "definition"
            yield Reference(use, document, line)


def _declares(file: SourceFile, line: int, name: str) -> bool:
    """Return whether the definition of a name begins on a line without a word that says so."""
    around = file.around(line)
    if around is None:
        return False
    return defined_name(around) == name and file.declaring_line(around) == line


def _find_definitions(
    found: MatchingLines, names: Sequence[str], *, besides: tuple[str, int, int]
) -> list[str]:
    """Return the lines that define names, without those that more than two lines define.

    `besides` is a file and the first and last of its lines that are left out.
    """
    by_name: dict[str, list[str]] = {name: [] for name in names}
    own, first, last = besides
    for document in found.documents:
        if _native.is_aside(document.path):
            continue
        for line in document.lines:
            row = document.file.line_text(line)
            for name in by_name.keys() & set(_IDENTIFIER.findall(row)):
                (declared,) = _native.declarations([(document.file.uri, row)], name)
                if declared == _native.Declaration.DEFINITION:
                    is_own = document.file.uri == own and first <= line <= last
                    reference = Reference("definition", document, line)
                    by_name[name].append("" if is_own else reference.describe())
    lines = [line for each in by_name.values() if len(each) <= 2 for line in each if line]
    return list(dict.fromkeys(lines))[:_RELATED_LINES]


def _told(found: MatchingLines) -> list[str]:
    return [*choose_notes(found.notes, passages=found.count)]


def _use_of(row: str, name: str, *, uri: str, is_source: bool, is_aside: bool) -> Use:
    if not is_source:
        return "document"
    if is_aside:
        return "test"
    if _native.declarations([(uri, row)], name) == [_native.Declaration.DEFINITION]:
        return "definition"
    if _IMPORT.match(row):
        return "import"
    if COMMENT.match(row):
        return "mention"
    is_called = re.search(rf"\b{re.escape(name)}\b!?\s*(?:::<[^>]*>)?\(", row)
    return "call" if is_called else "mention"


def _describe_section(file: SourceFile, mark: Mark) -> str:
    first, last = file.span(mark)
    shown = mark.label
    if mark.kind == "definition":
        line = file.declaring_line(mark)
        rows = file.lines_between(line, file.signature_end(line, last))
        shown = " ".join(" ".join(rows).split())[:_COLUMNS]
    return f"{'  ' * max(0, mark.level - 1)}{first}-{last} {shown}"


def _is_compound(word: str) -> bool:
    return bool(re.search(r"\w_\w|[a-z][A-Z]", word))
