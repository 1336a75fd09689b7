"""Tables of a document while they are read; a table may be in a cell of another."""

from __future__ import annotations

from crx.ingest.readers.text_builder import TextBuilder


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
