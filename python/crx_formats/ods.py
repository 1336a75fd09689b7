"""Sheets of OpenDocument workbooks: each cell as the program that wrote it showed it.

A cell without a shown text is its value, or else its formula. Comments and the texts of shapes
follow the rows.
"""

from __future__ import annotations

from crx._native import show_general
from crx.ingest.readers.sheet_cells import MOST_COLUMNS, SheetCells
from crx.ingest.readers.sheet_text import one_line
from crx.ingest.readers.xml_package import Archive, number
from crx.ingest.readers.xml_stream import stream_xml
from crx_formats.odf import properties, refuse_encrypted

# What the reader of spreadsheets calls.
__all__ = ["properties", "read_sheets", "refuse_encrypted"]

_CONTENT = "content.xml"
_CELLS = frozenset(("table-cell", "covered-table-cell"))
_VALUES = ("string-value", "date-value", "time-value", "boolean-value", "value")
_SPACES = {"tab": " ", "line-break": " ", "s": " "}
_MOST_ROWS = 1_048_576  # of a sheet in LibreOffice


def read_sheets(archive: Archive) -> list[SheetCells]:
    """Return the visible sheets; raise `InputError` if the workbook is damaged."""
    handler = _ContentHandler()
    stream_xml(archive.stream(_CONTENT), handler, part=_CONTENT)
    return handler.sheets


class _ContentHandler:
    """The sheets of a workbook's content; a table in a cell is a text of that cell."""

    def __init__(self) -> None:
        self.sheets: list[SheetCells] = []
        self._hidden_styles: set[str] = set()
        self._style = ""
        self._depth = 0  # of tables
        self._sheet: SheetCells | None = None
        self._row = self._next_row = 0
        self._filled: dict[int, str] = {}
        self._column = 0
        self._cell: dict[str, str] | None = None
        self._text: list[str] | None = None  # of the paragraph that is open
        self._paragraphs: list[str] = []  # of the cell
        self._comment: list[str] | None = None
        self._shapes = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        prefix, _, local = name.rpartition(":")
        if local == "style":
            self._style = _find(attributes, "name")
        elif local == "table-properties" and _find(attributes, "display") == "false":
            self._hidden_styles.add(self._style)
        elif local == "table" and prefix == "table":
            self._depth += 1
            if self._depth == 1:
                self._open_sheet(attributes)
        elif self._depth == 1 and local == "table-row":
            self._row = self._next_row
            self._next_row += max(number(_find(attributes, "number-rows-repeated"), default=1), 1)
            self._filled, self._column = {}, 0
        elif self._depth == 1 and local in _CELLS:
            self._cell, self._paragraphs = attributes, []
        elif local == "annotation":
            self._comment = []
        elif local in ("p", "h") and prefix == "text" and self._sheet is not None:
            self._text = []
        elif local in ("shapes", "frame", "custom-shape", "rect", "ellipse", "line", "g"):
            self._shapes += 1
        elif self._text is not None and local in _SPACES:
            self._text.append(_SPACES[local])

    def end(self, name: str) -> None:
        prefix, _, local = name.rpartition(":")
        if local == "table" and prefix == "table":
            self._depth -= 1
            if not self._depth:
                self._sheet = None
        elif self._sheet is None:
            return
        elif local in ("p", "h") and prefix == "text" and self._text is not None:
            self._add_paragraph("".join(self._text))
            self._text = None
        elif local == "annotation" and self._comment is not None:
            self._sheet.add_comment(self._row, self._column, " ".join(self._comment))
            self._comment = None
        elif local in ("shapes", "frame", "custom-shape", "rect", "ellipse", "line", "g"):
            self._shapes -= 1
        elif self._depth == 1 and local in _CELLS and self._cell is not None:
            self._add_cell(self._cell)
            self._cell = None
        elif self._depth == 1 and local == "table-row":
            for row in range(self._row, min(self._next_row, _MOST_ROWS) if self._filled else 0):
                self._sheet.add_row(row + 1, self._filled)

    def text(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def _open_sheet(self, attributes: dict[str, str]) -> None:
        self._sheet = SheetCells(_find(attributes, "name"))
        self._next_row = 0
        if _find(attributes, "style-name") not in self._hidden_styles:
            self.sheets.append(self._sheet)

    def _add_paragraph(self, text: str) -> None:
        if self._comment is not None:
            self._comment.append(text)
        elif self._shapes and self._sheet is not None:
            if line := one_line(text):
                self._sheet.lines.append(line)
        else:
            self._paragraphs.append(text)

    def _add_cell(self, attributes: dict[str, str]) -> None:
        repeated = max(number(_find(attributes, "number-columns-repeated"), default=1), 1)
        text = one_line(" ".join(self._paragraphs)) or one_line(_value(attributes))
        formula = "" if _find(attributes, "value-type") else _find(attributes, "formula")
        if not text and formula and self._sheet is not None:
            self._sheet.uncomputed += 1
            text = one_line(formula.partition(":")[2] or formula)
        if text:
            for column in range(self._column, min(self._column + repeated, MOST_COLUMNS)):
                self._filled[column] = text
        self._column += repeated


def _value(attributes: dict[str, str]) -> str:
    """Return the value of a cell that has no shown text."""
    kind = _find(attributes, "value-type")
    value = next((found for name in _VALUES if (found := _find(attributes, name))), "")
    if kind in ("float", "percentage", "currency"):
        try:
            shown = show_general(float(value) * (100 if kind == "percentage" else 1))
        except (ValueError, OverflowError):
            return value
        return f"{shown}%" if kind == "percentage" else shown
    return value.upper() if kind == "boolean" else value


def _find(attributes: dict[str, str], name: str) -> str:
    """Return the attribute of a local name, or ""."""
    end = f":{name}"
    return next((value for key, value in attributes.items() if key.endswith(end)), "")
