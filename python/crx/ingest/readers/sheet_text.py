"""Text of tables: the sheets of a workbook, or the tables of a database.

A row is a line with tabs between its cells, under a heading with the sheet's name and one with the
columns' names, which are a row of the text, too. Sheets and rows are marks.
"""

from __future__ import annotations

from collections.abc import Sequence

from crx.ingest.readers.headings import in_order
from crx.ingest.readers.normal_text import normalize
from crx.types import Mark, Scalar

# Rows that are numbered; a citation of a later row names the sheet.
_MOST_ROWS = 50_000
# Characters of a cell.
_CELL_CHARS = 100_000
_LABEL_CHARS = 200


class SheetText:
    """The lines of the sheets so far, and their marks."""

    def __init__(self) -> None:
        self.sheets = 0
        self._parts: list[str] = []
        self._length = 0
        self._marks: list[Mark] = []
        self._rows = 0

    def add_sheet(
        self,
        name: str,
        rows: Sequence[tuple[int, str]],
        *,
        names: str,
        names_at: int,
        lines: Sequence[str] = (),
    ) -> None:
        """Add a sheet's rows by their numbers; a row with number 0 is not cited.

        `names` are a heading over the rows from `names_at` on. `lines` follow the rows.
        """
        begin = named = self._length
        self._put(f"{name}\n")
        for at, (number, line) in enumerate(rows):
            start = self._length
            named = start if at == names_at else named
            self._put(f"{line}\n")
            if number and self._rows < _MOST_ROWS:
                self._marks.append(Mark("row", start, self._length, str(number)))
                self._rows += 1
        for line in lines:
            self._put(f"{line}\n")
        self._marks.append(Mark("sheet", begin, self._length, name))
        self._marks.append(Mark("heading", begin, self._length, name, 1))
        if names:
            self._marks.append(Mark("heading", named, self._length, names, 2))
        self._put("\n")
        self.sheets += 1

    def add_table(self, name: str, columns: Sequence[str], rows: list[tuple[int, str]]) -> None:
        """Add a table of a database under the names of its columns."""
        cells = [one_line(column) for column in columns]
        rows = [(0, "\t".join(cells)), *rows]
        self.add_sheet(name, rows, names=", ".join(cells)[:_LABEL_CHARS], names_at=0)

    def build(self) -> tuple[str, tuple[Mark, ...]]:
        """Return the text and the marks."""
        return "".join(self._parts).rstrip("\n") + "\n", in_order(self._marks)

    def _put(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)


class Cut:
    """What is left out of tables that are too large, for the metadata of their document."""

    def __init__(self) -> None:
        self._parts: dict[str, None] = {}

    def keep_first(self, most: int, *, of: int, kind: str) -> None:
        """Note that no more than `most` of something are read."""
        if of > most:
            self._parts[f"{kind} after the first {most:,} of {of:,}"] = None

    def cell(self, value: object) -> str:
        """Return a value as one line; nothing for a missing one and for bytes."""
        if value is None or isinstance(value, bytes):
            return ""
        text = str(value)
        if len(text) > _CELL_CHARS:
            self._parts[f"what a cell has after {_CELL_CHARS:,} characters"] = None
        return one_line(text[:_CELL_CHARS])

    def metadata(self) -> dict[str, list[Scalar]]:
        """Return the field that lists what is left out, no field if that is nothing."""
        return {"left_out": list(self._parts)} if self._parts else {}


def one_line(text: str) -> str:
    """Return a text with a single space for each run of white space."""
    return " ".join(normalize(text).split())
