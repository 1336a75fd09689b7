"""Reader of spreadsheets, Excel (XLSX, XLSM, XLSB, XLS) and OpenDocument: the cells as shown.

A row is a line with tabs between its cells, under a heading with the sheet's name. The first row
that names columns is also a heading over itself and the rows below it, so that the outline of each
later chunk names the columns. Sheets and rows are marks; rows are numbered as the program numbers
them. Comments and text boxes follow the rows. Hidden sheets are left out, and empty columns.

The sheets that can be read are yielded first; then one `InputError` names those that cannot.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from crx.errors import InputError, MissingExtra, NothingToRead
from crx.ingest.formats import suffix
from crx.ingest.readers import sheet_values, sheet_xlsx, xml_package
from crx.ingest.readers.binary import OLE
from crx.ingest.readers.content import SHEETS_2003
from crx.ingest.readers.delimited import column_names
from crx.ingest.readers.file_title import name_title, squeeze
from crx.ingest.readers.left_out import LeftOut
from crx.ingest.readers.sheet_cells import SheetCells
from crx.ingest.readers.sheet_text import SheetText
from crx.ingest.readers.xml_package import Archive
from crx.ingest.unread_parts import describe_unread
from crx.plugins import load_format, load_shipped
from crx.types import Document, Scalar

extensions = (
    ".xlsx", ".xlsm", ".xltx", ".xltm", ".xlsb", ".xls", ".xlt", ".ods", ".ots", ".fods",
)  # fmt: skip

# Bytes of the parts of an archive: the XML of a sheet is read without keeping it.
_MAX_BYTES = 256_000_000
_NAMES_WITHIN = 10  # rows of a sheet among which its columns are named
# Workbooks of Excel 2 to 4, which are in no compound file.
_BIFF = (b"\x09\x00\x04\x00", b"\x09\x02\x06\x00", b"\x09\x04\x06\x00")
_OPEN_DOCUMENT, _BINARY_BOOK = "content.xml", "xl/workbook.bin"


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield the workbook's text with its sheets, columns and rows."""
    title, metadata = "", dict[str, Scalar | list[Scalar]]()
    format_ = suffix(name).removeprefix(".")
    left_out = LeftOut()
    if format_ == "fods":
        data = _pack(data)
    if data.startswith((OLE, *_BIFF)) and not xml_package.is_encrypted(data):
        sheets, bad = _read_xls(data, left_out)
    elif SHEETS_2003.match(data):
        format_ = "xml"
        sheets, bad = load_format("crx.sheets", "excel_2003")(data), []
    else:
        archive = Archive(data, max_bytes=_MAX_BYTES)
        is_odf = _OPEN_DOCUMENT in archive
        if is_odf:
            load_format("crx.sheets", "ods").refuse_encrypted(archive)
            format_ = format_ if format_ in ("ods", "ots", "fods") else "ods"
        else:
            format_ = format_ if format_.startswith("xl") else "xlsx"
        package = load_format("crx.sheets", "ods") if is_odf else xml_package
        title, metadata = left_out.attempt(
            "properties", partial(package.properties, archive), plain=(title, metadata)
        )
        sheets, bad = _read_archive(data, archive, left_out)
    text = SheetText()
    for cells in sheets:
        try:
            _add_sheet(text, cells)
        except InputError as failed:
            bad.append(f"{cells.name}: {failed}")
    if not text.sheets:
        raise InputError(_describe_bad(bad)) if bad else NothingToRead("has no text")
    if uncomputed := sum(cells.uncomputed for cells in sheets):
        left_out.add("results of formulas", f"{uncomputed} were saved without one")
    metadata |= {**left_out.metadata(), "sheets": text.sheets, "format": format_}
    if not title and (title := name_title(name)):
        metadata["title_from"] = "name"
    whole, marks = text.build()
    yield Document(uri=name, text=whole, title=title, metadata=metadata, marks=marks)
    if bad:
        raise InputError(_describe_bad(bad, read=f"{text.sheets} other sheets"))


def _pack(flat: bytes) -> bytes:
    """Return a workbook of one XML file as an archive, whose parts each are this file."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for part in (_OPEN_DOCUMENT, "meta.xml"):
            archive.writestr(part, flat)
    return packed.getvalue()


def _read_archive(
    data: bytes, archive: Archive, left_out: LeftOut
) -> tuple[list[SheetCells], list[str]]:
    """Return the sheets of a workbook that is an archive, and the damaged ones."""
    if _OPEN_DOCUMENT in archive:
        return load_format("crx.sheets", "ods").read_sheets(archive), []
    if _BINARY_BOOK in archive:
        archive.refuse_large(_MAX_BYTES)
        left_out.add("number formats", "are not read of binary workbooks")
        return sheet_values.read_sheets(data)
    book = sheet_xlsx.open_xlsx(archive, left_out)
    return _read_each(
        [name for name, _ in book.sheets],
        [partial(sheet_xlsx.read_sheet, book, *sheet, left_out) for sheet in book.sheets],
    )


def _read_xls(data: bytes, left_out: LeftOut) -> tuple[list[SheetCells], list[str]]:
    """Return the sheets of a workbook of before 2007, and the damaged ones."""
    try:
        open_xls = load_shipped("crx.sheets", "xls")
    except MissingExtra as missing:
        left_out.add("number formats", f'are read after pip install "crx[{missing.extra}]"')
        return sheet_values.read_sheets(data)
    try:
        book = open_xls(data)
        return _read_each(
            book.names, [partial(book.read_sheet, at) for at in range(len(book.names))]
        )
    except InputError:
        raise
    except Exception as failed:  # noqa: BLE001 - xlrd raises anything for what it does not expect
        left_out.add("number formats", failed)
        return sheet_values.read_sheets(data)


def _read_each(
    names: Sequence[str], reads: Sequence[Callable[[], SheetCells | None]]
) -> tuple[list[SheetCells], list[str]]:
    """Return the sheets that can be read, and the names of the others with the reasons."""
    sheets: list[SheetCells] = []
    damaged = LeftOut()
    for name, read_one in zip(names, reads, strict=True):
        if (cells := damaged.attempt(squeeze(name), read_one, plain=None)) is not None:
            sheets.append(cells)
    return sheets, damaged.lines()


def _describe_bad(bad: Sequence[str], *, read: str = "") -> str:
    return f"has damaged sheets: {describe_unread(bad, read=read)}"


def _add_sheet(text: SheetText, sheet: SheetCells) -> None:
    names, names_at = "", 0
    rows: list[tuple[int, str]] = []
    for number, cells in sheet.rows():
        if not names and len(rows) < _NAMES_WITHIN and (names := column_names(_filled(cells))):
            names_at = len(rows)
        rows.append((number, "\t".join(cells).rstrip()))
    if rows or sheet.lines:
        text.add_sheet(sheet.name, rows, names=names, names_at=names_at, lines=sheet.lines)


def _filled(cells: Sequence[str]) -> list[str]:
    """Return cells from the first to the last that is not empty."""
    end = max((at for at, cell in enumerate(cells, start=1) if cell), default=0)
    start = next((at for at, cell in enumerate(cells) if cell), 0)
    return list(cells[start:end])
