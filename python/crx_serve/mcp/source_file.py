"""A source file as an agent reads it: its definitions, with their lines and declarations."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from crx import _native
from crx._show.marks import read_marks
from crx.types import Mark

# Rows of a declaration that goes over several lines, at most.
_SIGNATURE_LINES = 8
_OPENING = re.compile(r"[:{]\s*(?:(?:#|//|/\*).*)?$|\bdo\b|=\s*$|;\s*$")
COMMENT = re.compile(r"\s*(?:#(?!\s*include|\[)|//|/?\*|--|;)")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """The text of a document, and its definitions and headings in order of their starts."""

    uri: str
    text: str
    sections: tuple[Mark, ...]
    _starts: list[int] = field(repr=False, compare=False)

    @staticmethod
    def read(store: _native.Store, row: _native.DocumentRow) -> SourceFile:
        """Read a document from the store."""
        text = store.text(row.doc)
        sections = tuple(mark for mark in read_marks(store.marks(row.doc)) if mark.is_section)
        starts = [0, *(match.end() for match in re.finditer("\n", text))]
        return SourceFile(row.uri, text, sections, starts)

    @property
    def lines(self) -> int:
        """How many lines the text has."""
        return len(self._starts) - self.text.endswith("\n")

    def line_at(self, offset: int) -> int:
        """Return the line, from 1, of an offset."""
        return bisect_right(self._starts, offset)

    def start_of(self, line: int) -> int:
        """Return the offset at which a line starts."""
        return self._starts[min(line, len(self._starts)) - 1]

    def line_text(self, line: int) -> str:
        """Return a line without its end."""
        return self.text[self.start_of(line) :].partition("\n")[0].rstrip()

    def lines_between(self, first: int, last: int) -> list[str]:
        """Return lines, both included."""
        return [self.line_text(line) for line in range(first, min(last, self.lines) + 1)]

    def enclosing(self, offset: int) -> Mark | None:
        """Return the innermost definition that encloses an offset."""
        at = bisect_right(self.sections, offset, key=lambda mark: mark.start)
        before = reversed(self.sections[:at])
        return next((m for m in before if m.kind == "definition" and offset < m.end), None)

    def around(self, line: int) -> Mark | None:
        """Return the innermost definition that encloses what is written on a line."""
        row = self.line_text(line)
        return self.enclosing(self.start_of(line) + len(row) - len(row.lstrip()))

    def span(self, mark: Mark) -> tuple[int, int]:
        """Return the first and last line of a definition that have text."""
        start = mark.start + len(self.text[mark.start :]) - len(self.text[mark.start :].lstrip())
        end = mark.start + len(self.text[mark.start : mark.end].rstrip())
        return self.line_at(start), self.line_at(max(start, end - 1))

    def declaring_line(self, mark: Mark) -> int:
        """Return the line of a definition that names it, behind its comments and decorators."""
        first, last = self.span(mark)
        name = defined_name(mark)
        word = re.compile(rf"\b{name}\b")
        named = [
            line
            for line in range(first, last + 1)
            if word.search(row := self.line_text(line)) and not COMMENT.match(row)
        ]
        rows = [(self.uri, self.line_text(line)) for line in named]
        declared = _native.declarations(rows, name)
        declares = (
            line
            for line, level in zip(named, declared, strict=True)
            if level > _native.Declaration.VALUE
        )
        # In C the type of a function may stand on a line before its name.
        return next(declares, named[0] if name and named else first)

    def signature_end(self, line: int, last: int) -> int:
        """Return the last line of the declaration that begins on a line."""
        for at in range(line, min(line + _SIGNATURE_LINES, last + 1)):
            if _OPENING.search(self.line_text(at)):
                return at
        return line


def defined_name(mark: Mark) -> str:
    """Return the name that a definition defines, "" if its label has none."""
    names: list[str] = re.findall(r"\w+", mark.label)
    return names[-1] if names else ""
