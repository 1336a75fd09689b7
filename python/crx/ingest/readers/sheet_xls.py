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


def open_xls(data: bytes) -> Book:
    """Return a workbook; raise `InputError` for an encrypted one.

    Raises whatever xlrd does for a damaged workbook, which is any exception.
    """
    try:
        return xlrd.open_workbook(
            file_contents=data,
            logfile=StringIO(),
            formatting_info=True,
            on_demand=True,
            ragged_rows=True,
        )
    except xlrd.XLRDError as failed:
        if "encrypted" in str(failed):
            raise InputError("is encrypted; save a copy without its password") from failed
        raise


def read_sheet(book: Book, at: int) -> SheetCells | None:
    """Return the cells of a sheet, None for a hidden one."""
    sheet = book.sheet_by_index(at)
    if sheet.visibility != _VISIBLE:
        return None
    cells = SheetCells(sheet.name)
    codes = {
        style: format_code(each.format_key, {each.format_key: _code(book, each.format_key)})
        for style, each in enumerate(book.xf_list)
    }
    for row in range(sheet.nrows):
        cells.add_row(row + 1, _read_row(sheet, row, codes, from_1904=book.datemode == 1))
    for (row, column), note in sorted(sheet.cell_note_map.items()):
        cells.add_comment(row, column, note.text or "")
    book.unload_sheet(at)
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
