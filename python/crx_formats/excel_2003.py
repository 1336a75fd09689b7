"""Sheets of Excel's XML of 2002 and 2003 (SpreadsheetML): the values of the cells."""

from __future__ import annotations

from collections.abc import Iterator

from crx.ingest.readers.sheet_cells import SheetCells
from crx.ingest.readers.sheet_text import one_line
from crx.ingest.readers.xml_package import all_text, attribute, children, find, number, parse_xml


def read_sheets(data: bytes) -> list[SheetCells]:
    """Return the visible sheets; raise `InputError` if the workbook is damaged."""
    return list(_sheets(data))


def _sheets(data: bytes) -> Iterator[SheetCells]:
    for sheet in children(parse_xml(data.lstrip(), part="the workbook"), "Worksheet"):
        if find(sheet, "WorksheetOptions", "Visible") is not None:
            continue
        cells = SheetCells(attribute(sheet, "Name"))
        row = 0
        for each in (row for table in children(sheet, "Table") for row in children(table, "Row")):
            row = number(attribute(each, "Index"), default=row + 1)
            filled: dict[int, str] = {}
            column = 0  # the number of the last one, from 1
            for cell in children(each, "Cell"):
                column = number(attribute(cell, "Index"), default=column + 1)
                value = find(cell, "Data")
                filled[column] = "" if value is None else one_line(all_text(value))
                column += number(attribute(cell, "MergeAcross"))
            cells.add_row(row, filled)
        yield cells
