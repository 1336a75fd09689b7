"""Sheets of Office Open XML workbooks: each cell as its number format shows it.

A formula is its stored result, or else itself. Comments and the texts of drawings follow the rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias
from xml.etree.ElementTree import Element

from crx._native import SheetRows, SheetStrings
from crx.errors import InputError
from crx.ingest.readers.drawings import drawing_lines
from crx.ingest.readers.left_out import LeftOut
from crx.ingest.readers.number_format import (
    GENERAL,
    FormatsBySign,
    format_code,
    formats_by_sign,
    formats_text,
    show_number,
    show_text,
)
from crx.ingest.readers.sheet_cells import SheetCells, column_number
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
from crx.ingest.readers.xml_stream import as_utf8

_Style: TypeAlias = tuple[FormatsBySign, bool]

_MAIN = "xl/workbook.xml"
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_CELL = re.compile(r"([A-Za-z]{1,3})(\d{1,7})")
# What Excel writes as the comment of programs that know no threads of comments.
_THREADED = "[Threaded comment]"


@dataclass(frozen=True, slots=True)
class _XlsxBook:
    """What the sheets of a workbook share."""

    archive: Archive
    sheets: tuple[tuple[str, str], ...]  # the name and the part of each that is visible
    strings: SheetStrings
    codes: Sequence[str]  # number formats by the style of a cell
    from_1904: bool


def open_xlsx(archive: Archive, left_out: LeftOut) -> _XlsxBook:
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
    return _XlsxBook(
        archive,
        tuple(sheets),
        _read_strings(archive, strings),
        left_out.attempt("number formats", lambda: _read_codes(archive, styles), plain=[]),
        epoch in ("1", "true", "on"),
    )


def read_sheet(book: _XlsxBook, name: str, part: str, left_out: LeftOut) -> SheetCells:
    """Return the cells of a sheet; raise `InputError` if it is damaged."""
    cells = SheetCells(name)
    _read_rows(book, part, cells)
    for kind, add in (("comments", _add_comments), ("drawings", _add_drawings)):
        left_out.attempt(
            f"{kind} of sheet {cells.name}", partial(add, book.archive, part, cells), plain=None
        )
    return cells


def _read_rows(book: _XlsxBook, part: str, cells: SheetCells) -> None:
    """Add the rows of a sheet to its cells; the core parses them and shows most numbers."""
    styles = [_style(code) for code in book.codes]
    rows = SheetRows(book.strings, styles, from_1904=book.from_1904)
    with _naming(part):
        for piece in as_utf8(book.archive.stream(part)):
            values = rows.feed(piece)
            for row in rows.take_rows([_show(book, *value) for value in values]):
                cells.add_joined(*row)
        rows.close()
    cells.uncomputed = rows.uncomputed


def _style(code: str) -> _Style | None:
    """Return how a format shows numbers by their sign, and whether it has one of texts."""
    return None if code == GENERAL else (formats_by_sign(code), formats_text(code))


def _show(book: _XlsxBook, style: int, value: float | str) -> str:
    """Return a value in a format that is no row of digits."""
    code = book.codes[style]
    if isinstance(value, str):
        return show_text(value, code)
    return show_number(value, code, from_1904=book.from_1904)


def _read_strings(archive: Archive, part: str) -> SheetStrings:
    strings = SheetStrings()
    if part not in archive:
        return strings
    with _naming(part):
        for piece in as_utf8(archive.stream(part)):
            strings.feed(piece)
        strings.close()
    return strings


@contextmanager
def _naming(part: str) -> Iterator[None]:
    """Name the part in an error of the core."""
    try:
        yield
    except ValueError as failed:
        raise InputError(f"is damaged: part {part} {failed}") from failed


def _read_codes(archive: Archive, part: str) -> list[str]:
    """Return the codes of the number formats, by the number of the style of a cell."""
    if part not in archive:
        return []
    root = archive.read_xml(part)
    own = {
        number(attribute(each, "numFmtId"), default=-1): attribute(each, "formatCode")
        for each in find(root, "numFmts") or ()
    }
    styles = find(root, "cellXfs")
    return [
        format_code(number(attribute(each, "numFmtId")), own)
        for each in (() if styles is None else children(styles, "xf"))
    ]


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
