"""Sheets of Office Open XML workbooks: each cell as its number format shows it.

A formula is its stored result, or else itself. Comments and the texts of drawings follow the rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from crx.ingest.readers.drawings import drawing_lines
from crx.ingest.readers.left_out import LeftOut
from crx.ingest.readers.number_format import GENERAL, format_code, show_number, show_text
from crx.ingest.readers.sheet_cells import SheetCells, column_number
from crx.ingest.readers.sheet_text import one_line
from crx.ingest.readers.xml_package import (
    Archive,
    attribute,
    children,
    find,
    local_name,
    number,
    related,
    relationships,
)
from crx.ingest.readers.xml_stream import stream_xml

_MAIN = "xl/workbook.xml"
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_CELL = re.compile(r"([A-Za-z]{1,3})(\d{1,7})")
# What Excel writes as the comment of programs that know no threads of comments.
_THREADED = "[Threaded comment]"


@dataclass(frozen=True, slots=True)
class XlsxBook:
    """What the sheets of a workbook share."""

    archive: Archive
    sheets: tuple[tuple[str, str], ...]  # the name and the part of each that is visible
    strings: Sequence[str]
    codes: Mapping[str, str]  # number formats by the style of a cell
    from_1904: bool


def open_xlsx(archive: Archive, left_out: LeftOut) -> XlsxBook:
    """Return a workbook; formats that cannot be read are left out."""
    part = related(archive, "", "officeDocument") or _MAIN
    root = archive.read_xml(part)
    links = {link.id: link for link in relationships(archive, part)}
    sheets = []
    for sheet in find(root, "sheets") or ():
        ids = [value for key, value in sheet.attrib.items() if key.endswith("}id")]
        link = links.get(ids[0]) if ids else None
        is_visible = attribute(sheet, "state") in ("", "visible")
        if link is not None and link.type == "worksheet" and is_visible:
            sheets.append((attribute(sheet, "name"), link.path))
    properties = find(root, "workbookPr")
    epoch = attribute(properties, "date1904") if properties is not None else ""
    strings = next((link.path for link in links.values() if link.type == "sharedStrings"), "")
    styles = next((link.path for link in links.values() if link.type == "styles"), "")
    return XlsxBook(
        archive,
        tuple(sheets),
        _read_strings(archive, strings) if strings in archive else (),
        left_out.attempt("number formats", lambda: _read_codes(archive, styles), plain={}),
        epoch in ("1", "true", "on"),
    )


def read_sheet(book: XlsxBook, name: str, part: str, left_out: LeftOut) -> SheetCells:
    """Return the cells of a sheet; raise `InputError` if it is damaged."""
    cells = SheetCells(name)
    stream_xml(book.archive.stream(part), _SheetHandler(book, cells), part=part)
    for kind, add in (("comments", _add_comments), ("drawings", _add_drawings)):
        left_out.attempt(
            f"{kind} of sheet {cells.name}", _adding(add, book.archive, part, cells), plain=None
        )
    return cells


def _adding(
    add: Callable[[Archive, str, SheetCells], None], archive: Archive, part: str, cells: SheetCells
) -> Callable[[], None]:
    return lambda: add(archive, part, cells)


class _StringsHandler:
    """The shared strings of a workbook, without their readings."""

    def __init__(self) -> None:
        self.strings: list[str] = []
        self._parts: list[str] | None = None
        self._is_text = False
        self._readings = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        if name == "si":
            self._parts = []
        elif name == "rPh":
            self._readings += 1
        self._is_text = name == "t" and not self._readings

    def end(self, name: str) -> None:
        name = name.rpartition(":")[2]
        self._is_text = False
        if name == "rPh":
            self._readings -= 1
        elif name == "si" and self._parts is not None:
            self.strings.append(one_line(_plain("".join(self._parts))))
            self._parts = None

    def text(self, text: str) -> None:
        if self._is_text and self._parts is not None:
            self._parts.append(text)


class _SheetHandler:
    """The rows of a sheet, which are added to its cells as they end."""

    def __init__(self, book: XlsxBook, cells: SheetCells) -> None:
        self._book = book
        self._cells = cells
        self._columns: dict[str, int] = {}
        self._row = 0
        self._column = -1
        self._filled: dict[int, str] = {}
        self._type = self._style = ""
        self._value: list[str] = []
        self._formula: list[str] = []
        self._into: list[str] | None = None
        self._readings = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        if name == "c":
            self._column = self._column_of(attributes.get("r", ""))
            self._type, self._style = attributes.get("t", "n"), attributes.get("s", "0")
            self._value, self._formula = [], []
        elif name == "v" or (name == "t" and not self._readings):
            self._into = self._value
        elif name == "f":
            self._into = self._formula
        elif name == "rPh":
            self._readings += 1
        elif name == "row":
            self._row = number(attributes.get("r", ""), default=self._row + 1)
            self._column = -1
            self._filled = {}

    def end(self, name: str) -> None:
        name = name.rpartition(":")[2]
        self._into = None
        if name == "c":
            if (self._value or self._formula) and self._column >= 0:
                self._filled[self._column] = self._show()
        elif name == "row":
            self._cells.add_row(self._row, self._filled)
        elif name == "rPh":
            self._readings -= 1

    def text(self, text: str) -> None:
        if self._into is not None:
            self._into.append(text)

    def _column_of(self, reference: str) -> int:
        letters = reference.rstrip("0123456789")
        if not letters:
            return self._column + 1
        if letters not in self._columns:
            self._columns[letters] = column_number(letters)
        return self._columns[letters]

    def _show(self) -> str:
        """Return a cell as it is shown, a formula without a result as it is written."""
        value = "".join(self._value)
        code = self._book.codes.get(self._style, GENERAL)
        match self._type:
            case "s":
                at = number(value, default=-1)
                found = self._book.strings[at] if 0 <= at < len(self._book.strings) else ""
                return found if code == GENERAL else one_line(show_text(found, code))
            case "str" | "inlineStr":
                return one_line(show_text(_plain(value), code))
            case "b":
                return {"1": "TRUE", "0": "FALSE"}.get(value, value)
            case "e":
                return one_line(value)
        if not value.strip():
            self._cells.uncomputed += 1
            return one_line(f"={''.join(self._formula)}")
        try:
            shown = show_number(float(value), code, from_1904=self._book.from_1904)
        except (ValueError, OverflowError):  # a date as text, or no number
            shown = value
        return one_line(shown)


def _read_strings(archive: Archive, part: str) -> list[str]:
    handler = _StringsHandler()
    stream_xml(archive.stream(part), handler, part=part)
    return handler.strings


def _read_codes(archive: Archive, part: str) -> dict[str, str]:
    """Return the codes of the number formats by the styles of cells, without the general one."""
    if part not in archive:
        return {}
    root = archive.read_xml(part)
    own = {
        number(attribute(each, "numFmtId"), default=-1): attribute(each, "formatCode")
        for each in find(root, "numFmts") or ()
    }
    codes = {}
    styles = find(root, "cellXfs")
    for style, each in enumerate(() if styles is None else children(styles, "xf")):
        code = format_code(number(attribute(each, "numFmtId")), own)
        if code != GENERAL:
            codes[str(style)] = code
    return codes


def _plain(text: str) -> str:
    """Return a text without the escapes of characters that XML cannot hold."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text


def _add_comments(archive: Archive, part: str, cells: SheetCells) -> None:
    links = relationships(archive, part)
    found = [
        (attribute(element, "ref"), "".join(_comment_texts(element)))
        for kind in ("threadedComment", "comments")
        for link in links
        if link.type == kind and link.path in archive
        for element in archive.read_xml(link.path).iter()
        if local_name(element) in ("comment", "threadedComment")
    ]
    for reference, text in found:
        position = _CELL.fullmatch(reference)
        if position and not text.startswith(_THREADED):
            cells.add_comment(int(position[2]) - 1, column_number(position[1]), _plain(text))


def _comment_texts(comment: Element) -> Iterator[str]:
    for element in comment.iter():
        if local_name(element) in ("t", "text") and element.text:
            yield element.text


def _add_drawings(archive: Archive, part: str, cells: SheetCells) -> None:
    for link in relationships(archive, part):
        if link.type == "drawing":
            cells.lines += drawing_lines(archive, link.path)
