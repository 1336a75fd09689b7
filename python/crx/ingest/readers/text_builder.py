"""Text and marks of a document that is put together from blocks."""

from __future__ import annotations

from collections.abc import Sequence

from crx.ingest.readers.file_title import name_title
from crx.ingest.readers.headings import Heading, in_order, sections
from crx.ingest.readers.normal_text import normalize
from crx.types import AnchorKind, Document, Mark, MarkKind, Scalar

_PARAGRAPH = "\n\n"
# What no section goes beyond: a slide without a title is not part of the one before.
_SEPARATE = frozenset(("slide", "chapter"))


class TextBuilder:
    """Blocks of text in reading order, with headings and the marks of pages, slides or cells."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._headings: list[Heading] = []
        self._starts: list[tuple[MarkKind, str, int]] = []
        self._waiting: tuple[MarkKind, str] | None = None

    def add(self, text: str, *, gap: str = _PARAGRAPH) -> int:
        """Add a block after a gap; return its start. A blank block is left out."""
        text = normalize(text).rstrip().strip("\n")
        if not text:
            return self._length
        if self._length:
            self._put(gap)
        start = self._length
        if self._waiting:
            self._starts.append((*self._waiting, start))
            if self._waiting[0] in _SEPARATE:
                self._headings.append(Heading(start, "", 1))
            self._waiting = None
        self._put(text)
        return start

    def add_heading(self, text: str, *, level: int) -> None:
        """Add a heading as a block of its own."""
        if label := " ".join(normalize(text).split()):
            self._headings.append(Heading(self.add(label), label, max(level, 1)))

    def add_part(self, text: str, headings: Sequence[Heading]) -> None:
        """Add a text with its headings, whose offsets are into that text."""
        text = normalize(text)
        start = self.add(text) - (len(text) - len(text.lstrip("\n")))
        self._headings += [
            Heading(max(start + heading.start, 0), heading.label, heading.level)
            for heading in headings
        ]

    def add_table(self, rows: Sequence[Sequence[str]]) -> None:
        """Add a table: a line for each row, with tabs between its cells."""
        lines = ("\t".join(" ".join(cell.split()) for cell in row).rstrip() for row in rows)
        self.add("\n".join(line for line in lines if line.strip()))

    def begin(self, kind: AnchorKind | MarkKind, label: str) -> None:
        """Begin a page, slide or cell at the next block; it ends where the next one begins."""
        self._waiting = (kind, label)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the headings so far."""
        return tuple(heading.label for heading in self._headings if heading.label)

    def build(
        self,
        uri: str,
        *,
        title: str,
        metadata: dict[str, Scalar | list[Scalar]],
        lang: str = "",
    ) -> Document:
        """Return the document, whose title is by default the first heading or else the name's."""
        text = "".join(self._parts)
        title = title or next(iter(self.labels), "")
        if not title and (title := name_title(uri)):
            metadata = {**metadata, "title_from": "name"}
        ends = [*(start for *_, start in self._starts), len(text)][1:]
        marks = (
            Mark(kind, start, end, label)
            for (kind, label, start), end in zip(self._starts, ends, strict=False)
        )
        headings = (mark for mark in sections(self._headings, end=len(text)) if mark.label)
        return Document(
            uri=uri,
            text=text,
            title=title,
            lang=lang,
            metadata=metadata,
            marks=in_order((*marks, *headings)),
        )

    def __bool__(self) -> bool:
        return self._length > 0

    def _put(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)


class OpenTables:
    """The rows so far of a table, and of the tables around it."""

    def __init__(self) -> None:
        self._tables: list[list[list[str]]] = []

    def __bool__(self) -> bool:
        return bool(self._tables)

    def open_table(self) -> None:
        """Begin a table."""
        self._tables.append([])

    def open_row(self) -> None:
        """Begin a row of the innermost table."""
        if self._tables:
            self._tables[-1].append([])

    def open_cell(self) -> None:
        """Begin a cell of the innermost row."""
        if self._tables and self._tables[-1]:
            self._tables[-1][-1].append("")

    def add(self, text: str) -> None:
        """Add a paragraph to the innermost cell."""
        row = self._tables[-1][-1] if self._tables[-1] else []
        if row:
            row[-1] = f"{row[-1]}\n{text}" if row[-1] else text

    def close_table(self, text: TextBuilder) -> None:
        """End the innermost table: add it to the cell around it, or else to the text."""
        if not self._tables:
            return
        rows = self._tables.pop()
        if self._tables:
            self.add("\n".join(" ".join(row) for row in rows))
        elif all(len(row) == 1 for row in rows):
            for (cell,) in rows:  # a frame around text
                text.add(cell)
        else:
            text.add_table(rows)
