"""Sheets as calamine reads them, without number formats: XLSB, and damaged workbooks of Excel."""

from __future__ import annotations

import datetime
from io import BytesIO
from typing import TypeAlias

from python_calamine import (
    CalamineError,
    CalamineSheet,
    CalamineWorkbook,
    PasswordError,
    SheetTypeEnum,
    SheetVisibleEnum,
    XmlError,
    ZipError,
)

from crx._native import show_general
from crx.errors import InputError
from crx.ingest.readers.sheet_cells import SheetCells
from crx.ingest.readers.sheet_text import one_line

# A sheet is held as a full rectangle; a workbook whose only cells are in its corners is large.
_MOST_CELLS = 4_000_000
_DAMAGES = (InputError, CalamineError, XmlError, ZipError, OSError, ValueError, OverflowError)

_Value: TypeAlias = (
    int
    | float
    | str
    | bool
    | datetime.time
    | datetime.date
    | datetime.datetime
    | datetime.timedelta
)


def read_sheets(data: bytes) -> tuple[list[SheetCells], list[str]]:
    """Return the visible sheets that can be read, and the others with the reasons."""
    sheets: list[SheetCells] = []
    bad: list[str] = []
    try:
        with CalamineWorkbook.from_filelike(BytesIO(data)) as workbook:
            for number, sheet in enumerate(workbook.sheets_metadata):
                if sheet.typ != SheetTypeEnum.WorkSheet:
                    continue
                if sheet.visible != SheetVisibleEnum.Visible:
                    continue
                try:
                    sheets.append(_read_sheet(workbook.get_sheet_by_index(number)))
                except _DAMAGES as failed:
                    bad.append(f"{one_line(sheet.name)}: {one_line(str(failed))}")
    except PasswordError as failed:
        raise InputError("is encrypted; save a copy without its password") from failed
    except _DAMAGES as failed:
        raise InputError(f"is a damaged spreadsheet: {one_line(str(failed))}") from failed
    except BaseException as failed:
        if type(failed).__name__ != "PanicException":  # a panic of Rust, a class without a module
            raise
        raise InputError("is a damaged spreadsheet: its reader failed") from failed
    return sheets, bad


def _read_sheet(sheet: CalamineSheet) -> SheetCells:
    if sheet.height * sheet.width > _MOST_CELLS:
        raise InputError(
            f"spans {sheet.height:,} rows, {sheet.width:,} columns; at most "
            f" {_MOST_CELLS:,} cells are read"
        )
    cells = SheetCells(sheet.name)
    first = sheet.start[0] + 1 if sheet.start else 1
    for number, row in enumerate(sheet.iter_rows(), start=first):
        cells.add_row(number, {at: _show(value) for at, value in enumerate(row) if value != ""})
    return cells


def _show(value: _Value) -> str:
    """Return a cell as one line; a date as ISO 8601."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int | float):
        return show_general(float(value))
    if isinstance(value, datetime.datetime) and not (value.hour or value.minute or value.second):
        return value.date().isoformat()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return one_line(str(value))
