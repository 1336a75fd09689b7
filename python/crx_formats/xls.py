"""Sheets of Excel workbooks of before 2007 (BIFF), each cell as its number format shows it.

Comments follow the rows; texts of shapes are left out.
"""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

import xlrd

from crx.errors import InputError
from crx.ingest.readers.number_format import format_code, show_number, show_text
from crx.ingest.readers.sheet_cells import SheetCells
from crx.ingest.readers.sheet_text import one_line

if TYPE_CHECKING:
    from xlrd.book import Book
    from xlrd.sheet import Sheet

_VISIBLE = 0
# Rows of all sheets after which no other sheet is read: xlrd makes the empty ones, too, so that a
# sheet of two cells takes half a second. Fifteen full sheets have as many.
_MOST_ROWS = 1_000_000


class XlsBook:
    """A workbook whose sheets are read one after the other."""

    def __init__(self, book: Book) -> None:
        self.names: list[str] = book.sheet_names()
        self._book = book
        self._rows = 0

    def read_sheet(self, at: int) -> SheetCells | None:
        """Return the cells of a sheet, None for a hidden one.

        Raises `InputError` if the sheets before have too many rows.
        """
        if self._rows > _MOST_ROWS:
            raise InputError(
                f"follows sheets of more than {_MOST_ROWS:,} rows; save the workbook as .xlsx"
            )
        sheet = self._book.sheet_by_index(at)
        self._rows += sheet.nrows
        cells = _read_cells(self._book, sheet) if sheet.visibility == _VISIBLE else None
        self._book.unload_sheet(at)
        return cells


def open_xls(data: bytes) -> XlsBook:
    """Return a workbook; raise `InputError` for an encrypted one.

    Raises whatever xlrd does for a damaged workbook, which is any exception.
    """
    try:
        return XlsBook(
            xlrd.open_workbook(
                file_contents=data,
                logfile=StringIO(),
                formatting_info=True,
                on_demand=True,
                ragged_rows=True,
            )
        )
    except xlrd.XLRDError as failed:
        if "encrypted" in str(failed):
            raise InputError("is encrypted; save a copy without its password") from failed
        raise


def _read_cells(book: Book, sheet: Sheet) -> SheetCells:
    cells = SheetCells(sheet.name)
    codes = {
        style: format_code(each.format_key, {each.format_key: _code(book, each.format_key)})
        for style, each in enumerate(book.xf_list)
    }
    for row in filter(sheet.row_len, range(sheet.nrows)):
        cells.add_row(row + 1, _read_row(sheet, row, codes, from_1904=book.datemode == 1))
    for (row, column), note in sorted(sheet.cell_note_map.items()):
        cells.add_comment(row, column, note.text or "")
    return cells


def _read_row(sheet: Sheet, row: int, codes: dict[int, str], *, from_1904: bool) -> dict[int, str]:
    """Return the cells of a row that are not empty, by column."""
    filled = {}
    for column, cell in enumerate(sheet.row(row)):
        code = codes.get(cell.xf_index, "General")
        if cell.ctype in (xlrd.XL_CELL_NUMBER, xlrd.XL_CELL_DATE):
            filled[column] = one_line(show_number(cell.value, code, from_1904=from_1904))
        elif cell.ctype == xlrd.XL_CELL_TEXT:
            filled[column] = one_line(show_text(cell.value, code))
        elif cell.ctype == xlrd.XL_CELL_BOOLEAN:
            filled[column] = str(bool(cell.value)).upper()
        elif cell.ctype == xlrd.XL_CELL_ERROR:
            filled[column] = xlrd.error_text_from_code.get(cell.value, "")
    return filled


def _code(book: Book, key: int) -> str:
    found = book.format_map.get(key)
    return found.format_str if found else ""
