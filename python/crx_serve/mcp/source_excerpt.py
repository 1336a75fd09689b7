"""The lines of a hit in source code that answer: the definition around them, or its declaration."""

from __future__ import annotations

import re
from typing import NamedTuple

from crx import _native
from crx._show.answer_span import find_answer
from crx.types import Mark
from crx_serve.mcp.source_file import COMMENT, SourceFile
from crx_serve.responses import FoundPassage

# A definition of more lines is shown by its declaration and the lines that answer.
WHOLE_LINES = 24
_AROUND = 3
# Lines that say the same, of which each is shown with its declaration.
_REPEATED = 4
_COLUMNS = 160
_LICENCE = re.compile(r"(?i)licen[cs]e|copyright|spdx-|all rights reserved|warranty")
_COMMENT = re.compile(r"\s*(?:#|//|/?\*|--|;|\"\"\"|'''|\(\*|$)")


class SourceExcerpt(NamedTuple):
    """The symbol around the line that answers, the first and last line shown, and their text."""

    symbol: str
    answer: int
    first: int
    last: int
    text: str


def find_source_excerpt(
    file: SourceFile, passage: FoundPassage, *, query: str, room: int | None
) -> SourceExcerpt:
    """Return what a model reads of a passage of source code.

    It is the definition that answers, or its declaration and the lines around the one that answers
    if the definition has more than `room` characters; without room the declaration and that line.
    If several lines have the words of the query as they are, it is the declaration and the line of
    each.
    """
    whole = room is not None
    hit = passage.hits[0]
    said = _lines_that_say(file, hit.start, hit.end, query)
    if len(said) > 1:
        return _show_each(file, said[:_REPEATED])
    named = _find_named(file, hit.start, hit.end, query)
    start, _ = find_answer(hit.text, query)
    answer = file.line_at(hit.start + start)
    definition = named or file.around(answer)
    if definition is None:
        first, last = file.line_at(hit.start), file.line_at(max(hit.start, hit.end - 1))
        answer = max(answer, _past_licence(file, first, last))
        end = min(last, answer + (2 * _AROUND if whole else 1))
        return SourceExcerpt("", answer, answer, end, _join(file.lines_between(answer, end)))
    first, last = file.span(definition)
    declared = file.declaring_line(definition)
    symbol = definition.label
    if named and not declared <= answer <= last:
        answer = declared
    if answer >= declared:
        first = _past_long_comment(file, first, declared)
    rows = file.lines_between(first, last)
    if room is not None and len(rows) <= WHOLE_LINES and sum(map(len, rows)) <= room:
        return SourceExcerpt(symbol, answer, first, last, _join(rows))
    signature = file.signature_end(declared, last)
    shown = set(range(declared, signature + 1)) if whole else {declared}
    around = _AROUND if whole else 0
    shown |= set(range(max(declared, answer - around), min(last, answer + around) + 1))
    if whole and answer <= signature:
        shown |= set(range(signature + 1, min(last, signature + 2 * _AROUND) + 1))
    return SourceExcerpt(symbol, answer, declared, max(shown), _join_shown(file, sorted(shown)))


def _lines_that_say(file: SourceFile, start: int, end: int, query: str) -> list[int]:
    """Return the lines of a span that have a query of several words as it is."""
    if len(query.split()) < 2:
        return []
    lines = range(file.line_at(start), file.line_at(max(start, end - 1)) + 1)
    return [line for line in lines if query.strip() in file.line_text(line)]


def _show_each(file: SourceFile, lines: list[int]) -> SourceExcerpt:
    """Return lines, each behind the declaration of the definition around it."""
    around = [definition for line in lines if (definition := file.around(line))]
    shown = sorted({*lines, *map(file.declaring_line, around)})
    symbol = around[0].label if around else ""
    return SourceExcerpt(symbol, lines[0], shown[0], shown[-1], _join_shown(file, shown))


def _find_named(file: SourceFile, start: int, end: int, query: str) -> Mark | None:
    """Return the definition within a span that the query names, if there is one."""
    asked = {word.lower() for word in re.findall(r"\w+", query)}
    for mark in file.sections:
        if mark.kind != "definition" or mark.start >= end or mark.end <= start:
            continue
        name = re.findall(r"\w+", mark.label)[-1:]
        is_compound = name and re.search(r"_|[a-z][A-Z]", name[0])
        if name and name[0].lower() in asked and (is_compound or len(asked) == 1):
            return mark
    return None


def _past_long_comment(file: SourceFile, first: int, declared: int) -> int:
    """Return the first line of a definition behind a comment of many lines, with its decorators."""
    line = declared
    while line > first and not COMMENT.match(file.line_text(line - 1)):
        line -= 1
    return line if line - first > _AROUND else first


def _past_licence(file: SourceFile, first: int, last: int) -> int:
    """Return the first line behind a comment about the licence with which a file begins."""
    if first > 3:
        return first
    line = first
    while line < last and _COMMENT.match(file.line_text(line)):
        line += 1
    return line if _LICENCE.search("\n".join(file.lines_between(first, line))) else first


def _join_shown(file: SourceFile, shown: list[int]) -> str:
    rows: list[str] = []
    before = 0
    for line in shown:
        if before and line > before + 1:
            rows.append("…")
        rows.append(file.line_text(line))
        before = line
    return _join(rows)


def _join(rows: list[str]) -> str:
    """Return rows below each other, without the indentation that all have."""
    indents = [len(row) - len(row.lstrip()) for row in rows if row.strip() and row != "…"]
    least = min(indents, default=0)
    return "\n".join(row if row == "…" else row[least : least + _COLUMNS] for row in rows)


def is_source(passage: FoundPassage) -> bool:
    """Return whether a passage is one of source code."""
    return _native.document_kind(passage.uri, passage.text) == "code"
