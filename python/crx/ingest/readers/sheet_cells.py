"""The filled cells of one sheet, by row, without the columns and rows that are empty."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from crx.errors import InputError
from crx.ingest.readers.sheet_text import one_line

# Characters of a sheet with its tabs; a document has no more either.
_MOST_CHARS = 64_000_000
# Columns of a sheet in Excel and LibreOffice.
MOST_COLUMNS = 16_384


class SheetCells:
    """The cells of a sheet so far, and the lines that follow them: comments, text boxes."""

    def __init__(self, name: str) -> None:
        self.name = one_line(name) or "Sheet"
        self.lines: list[str] = []
        self.uncomputed = 0  # formulas without a stored result, which are cells themselves
        self._rows: list[tuple[int, tuple[int, ...], str]] = []
        # Most rows of a sheet fill the same columns.
        self._columns: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._chars = 0

    def add_row(self, number: int, cells: Mapping[int, str]) -> None:
        """Add a row by its number from 1; `cells` are by column, and each is one line."""
        filled = tuple(sorted(column for column, cell in cells.items() if cell))
        if filled:
            self.add_joined(number, filled, "\t".join(cells[column] for column in filled))

    def add_joined(self, number: int, columns: tuple[int, ...], joined: str) -> None:
        """Add a row with its filled columns in order, and their cells with tabs between."""
        columns = self._columns.setdefault(columns, columns)
        self._rows.append((number, columns, joined))
        self._count(len(joined) + 1)

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows with their numbers, each with a cell for every column of the sheet."""
        used = sorted({column for columns in self._columns for column in columns})
        position = {column: at for at, column in enumerate(used)}
        self._chars = 0
        for number, columns, joined in sorted(self._rows, key=lambda row: row[0]):
            cells = joined.split("\t")
            if len(columns) < len(used):
                sparse = [""] * (position[columns[-1]] + 1)
                for column, cell in zip(columns, cells, strict=True):
                    sparse[position[column]] = cell
                cells = sparse
            self._count(len(joined) + len(cells))
            yield number, cells

    def add_comment(self, row: int, column: int, text: str) -> None:
        """Add a comment on a cell, by its row and column from 0."""
        if line := one_line(text):
            self.lines.append(f"[{column_letters(column)}{row + 1}] {line}")

    def _count(self, chars: int) -> None:
        self._chars += chars
        if self._chars > _MOST_CHARS:
            raise InputError(f"has more than {_MOST_CHARS:,} characters")


def column_letters(column: int) -> str:
    """Return the letters of a column from 0: A, B, ..., Z, AA."""
    letters = ""
    column += 1
    while column > 0:
        column, letter = divmod(column - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters


def column_number(letters: str) -> int:
    """Return the column from 0 that letters name; -1 for none, or for one that no sheet has."""
    if not letters.isascii() or not letters.isalpha() or len(letters) > 3:
        return -1
    column = 0
    for letter in letters.upper():
        column = 26 * column + ord(letter) - ord("A") + 1
    return column - 1 if column <= MOST_COLUMNS else -1
