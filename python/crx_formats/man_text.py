"""Text of a man page as it is put together: paragraphs, terms above their texts, literal lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal

from crx.ingest.readers.text_builder import TextBuilder
from crx.types import Document, Scalar
from crx_formats.roff import Line, Roff

# How lines are shown: each as it is, or together as a paragraph.
LineForm = Literal["literal", "filled"]
_INDENT = "    "
# Levels that are shown; a page could open more and more.
_DEEPEST = 8


class ManText:
    """The paragraph that is open, its indentation, and the text before it."""

    def __init__(self) -> None:
        self._text = TextBuilder()
        self._lines: list[list[str]] = [[]]
        self._gap = "\n\n"
        self._depth = 0
        self._in_item = False
        self._items: list[bool] = []
        self._form: LineForm = "filled"
        self._heading = 0
        self._tag_expected = False
        self._glued = False
        self._is_marked = False

    def add_line(self, text: str, *, goes_on: bool = False) -> None:
        """Add a line: words of the paragraph, a literal line, or the heading or term that is due.

        `goes_on` joins the next one to it without a blank.
        """
        if self._heading and text.strip():
            self._end_heading(text)
        elif self._tag_expected and text.strip():
            self._tag_expected = goes_on
            self.add_tag(text)
        elif self._form == "literal":
            self._put(text.rstrip(), glue=self._glued)
            if not goes_on:
                self._lines.append([])
        elif not text.strip():
            self.end_paragraph()
        else:
            if text[:1] in " \t" and not self._glued:
                self.end_line()
            self._put(text.strip(), glue=self._glued)
        self._glued = goes_on

    def add_tag(self, text: str) -> None:
        """Add the term that the text after it is about, as a line above it."""
        self._flush()
        self._in_item = False
        self._put(text.strip())
        self._flush()
        self._in_item = True
        self._gap = "\n"

    def add_marker(self, text: str) -> None:
        """Add what stands before the text of an item on its first line, such as a bullet."""
        self.end_paragraph()
        self._put(text)
        self._is_marked = True

    def add_rows(self, rows: Iterable[str]) -> None:
        """Add the rows of a table, a line each."""
        self.end_paragraph()
        self._lines += [[row] for row in rows]
        self.end_paragraph()

    def open_heading(self, label: str, *, level: int) -> None:
        """Begin a section; without a label, the next line is it."""
        self.end_paragraph()
        self._depth, self._items, self._form = 0, [], "filled"
        self._in_item = self._tag_expected = False
        self._heading = level
        if label.strip():
            self._end_heading(label)

    def open_item(self) -> None:
        """Begin an item, whose text is indented."""
        if not self._tag_expected:
            self.end_paragraph()
        self._in_item = True

    def end_item(self) -> None:
        """End the item: text is as far to the left as before it."""
        self._in_item = self._tag_expected = False

    def expect_tag(self) -> None:
        """Take the next line for the term of the item."""
        if self._gap == "\n":  # a second term for one text
            self._gap = "\n\n"
        self._tag_expected = True

    def end_paragraph(self) -> None:
        """End the paragraph, unless it is empty."""
        if any(self._lines):
            self._flush()
        elif self._gap != "\n":
            self._gap = "\n\n"

    def join(self) -> None:
        """Put no blank between the text so far and the next."""
        self._glued = True

    def end_line(self) -> None:
        """End the line."""
        if self._lines[-1]:
            self._lines.append([])

    def indent(self, by: int) -> None:
        """Begin or end an indented part; an item around it goes on after it."""
        self.end_paragraph()
        if by > 0:
            self._items.append(self._in_item)
            self._depth += 1
            self._in_item = False
        elif self._items:
            self._in_item = self._items.pop()
            self._depth = max(self._depth - 1, 0)

    def set_form(self, form: LineForm) -> None:
        """Begin lines that are shown as they are, or a paragraph that is filled with them."""
        self.end_paragraph()
        self._form = form

    def build(
        self, uri: str, *, title: str, metadata: dict[str, Scalar | list[Scalar]]
    ) -> Document:
        """Return the document."""
        self._flush()
        return self._text.build(uri, title=title, metadata=metadata)

    def _put(self, text: str, *, glue: bool = False) -> None:
        line = self._lines[-1]
        if glue and line:
            line.append(text)
        elif text:
            line += [" ", text] if line else [text]

    def _end_heading(self, label: str) -> None:
        level, self._heading = self._heading, 0
        self._gap = "\n\n"
        self._text.add_heading(label, level=level)

    def _flush(self) -> None:
        lines = ["".join(parts) for parts in self._lines]
        self._lines = [[]]
        hangs = self._in_item and not self._is_marked
        self._is_marked = False
        depth = min(self._depth + hangs, _DEEPEST)
        block = "\n".join(f"{_INDENT * depth}{line}" if line else "" for line in lines)
        if block.strip():
            self._text.add(block, gap=self._gap)
            self._gap = "\n\n"


# Macros whose words are in two fonts that take turns, without blanks between them.
MIXED_FONTS = frozenset(("BR", "RB", "BI", "IB", "IR", "RI"))
_SEPARATOR = re.compile(r"tab ?\((.)\)")
# Stands among the lines of a table where another format begins.
_NEW_FORMAT = "\0"


def join_words(roff: Roff, line: Line) -> str:
    """Return the words of a macro as a text."""
    return ("" if line.macro in MIXED_FONTS else " ").join(roff.arguments(line.rest))


def lines_outside_tables(page: ManText, roff: Roff) -> Iterator[Line]:
    """Yield the lines outside of tables; add the rows of tables to the page."""
    rows: list[str] | None = None
    for line in roff.lines():
        if line.macro == "TS":
            rows = []
        elif line.macro == "TE" and rows is not None:
            page.add_rows(_table_rows(rows))
            rows = None
        elif rows is None:
            yield line
        elif line.macro == "T&":
            rows.append(_NEW_FORMAT)
        else:
            rows.append(join_words(roff, line) if line.macro else roff.plain(line.rest))
    if rows:
        page.add_rows(_table_rows(rows))


def _table_rows(lines: Iterable[str]) -> Iterator[str]:
    """Yield the rows of a table, without its options, its formats and its rules."""
    separator, row = "\t", ""
    cell: list[str] | None = None
    in_format = True
    for line in lines:
        if line == _NEW_FORMAT:
            in_format = True
        elif in_format:
            if match := _SEPARATOR.search(line):
                separator = match[1]
            in_format = not line.rstrip().endswith(".")
        elif cell is not None and not line.startswith("T}"):
            cell.append(line.strip())
        else:
            row = line if cell is None else f"{row}{' '.join(cell)}{line[2:]}"
            cell = None
            if row.endswith("T{"):
                row, cell = row[:-2], []
            elif row.strip("_= \t"):
                yield "\t".join(each.strip() for each in row.split(separator))
