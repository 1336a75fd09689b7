"""Reader of spreadsheets, Excel (XLSX, XLSM, XLSB, XLS) and OpenDocument: the cells' values.

A row is a line with tabs between its cells, under a heading with the sheet's name. The first row
that names columns is a heading over the rows below it and no part of the text, so that the outline
of each chunk names the columns. Sheets and rows are marks; rows are numbered as the program numbers
them. Formulas are read as their last result. Hidden sheets and charts are left out.

The sheets that can be read are yielded first; then one `InputError` names those that cannot.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
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

from crx.errors import InputError
from crx.ingest.readers import odf, xml_package
from crx.ingest.readers.binary import OLE
from crx.ingest.readers.delimited import column_names
from crx.ingest.readers.file_title import name_title
from crx.ingest.readers.sheet_text import SheetText, one_line
from crx.ingest.readers.structure import suffix
from crx.ingest.readers.xml_package import Archive
from crx.ingest.unread_parts import describe_unread
from crx.types import Document, Scalar

extensions = (".xlsx", ".xlsm", ".xltx", ".xltm", ".xlsb", ".xls", ".xlt", ".ods", ".ots")

# Bytes of the parts of an archive: calamine reads the XML of a sheet without keeping it.
_MAX_BYTES = 256_000_000
# A sheet is held as a full rectangle; a workbook whose only cells are in its corners is large.
_MOST_CELLS = 50_000_000
_NAMES_WITHIN = 10  # rows of a sheet among which its columns are named
_DAMAGES = (CalamineError, XmlError, ZipError, OSError, ValueError, OverflowError)
_OPEN_DOCUMENT = "content.xml"

Value: TypeAlias = (
    int
    | float
    | str
    | bool
    | datetime.time
    | datetime.date
    | datetime.datetime
    | datetime.timedelta
)


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield the workbook's text with its sheets, columns and rows."""
    title, metadata = "", dict[str, Scalar | list[Scalar]]()
    format_ = suffix(name).removeprefix(".")
    if not data.startswith(OLE):
        archive = Archive(data)
        archive.refuse_large(_MAX_BYTES)
        if _OPEN_DOCUMENT in archive:
            odf.refuse_encrypted(archive)
            title, metadata = odf.properties(archive)
            format_ = format_ if format_ in ("ods", "ots") else "ods"
        else:
            title, metadata = xml_package.properties(archive)
            format_ = format_ if format_.startswith("xl") else "xlsx"
    text, bad = _read_sheets(data)
    if not text.sheets:
        raise InputError(_describe_bad(bad) if bad else "has no text")
    metadata |= {"sheets": text.sheets, "format": format_}
    if not title and (title := name_title(name)):
        metadata["title_from"] = "name"
    whole, marks = text.build()
    yield Document(uri=name, text=whole, title=title, metadata=metadata, marks=marks)
    if bad:
        raise InputError(_describe_bad(bad, read=f"{text.sheets} other sheets"))


def _read_sheets(data: bytes) -> tuple[SheetText, list[str]]:
    """Return the text of the sheets, and which of them are damaged, with the reason."""
    text = SheetText()
    bad: list[str] = []
    try:
        with CalamineWorkbook.from_filelike(BytesIO(data)) as workbook:
            for number, sheet in enumerate(workbook.sheets_metadata):
                if sheet.typ != SheetTypeEnum.WorkSheet:
                    continue
                if sheet.visible != SheetVisibleEnum.Visible:
                    continue
                try:
                    _add_sheet(text, workbook.get_sheet_by_index(number))
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
    return text, bad


def _describe_bad(bad: Sequence[str], *, read: str = "") -> str:
    return f"has damaged sheets: {describe_unread(bad, read=read)}"


def _add_sheet(text: SheetText, sheet: CalamineSheet) -> None:
    if sheet.height * sheet.width > _MOST_CELLS:
        raise InputError(
            f"sheet {one_line(sheet.name)} spans {sheet.height:,} rows, {sheet.width:,} columns; "
            f"at most {_MOST_CELLS:,} cells are read"
        )
    first = sheet.start[0] + 1 if sheet.start else 1
    names, names_at, line_of_names = "", 0, (0, "")
    rows: list[tuple[int, str]] = []
    for number, row in enumerate(sheet.iter_rows(), start=first):
        cells = [_format(value) for value in row]
        line = "\t".join(cells).rstrip()
        if not line:
            continue
        if not names and len(rows) < _NAMES_WITHIN and (names := column_names(_filled(cells))):
            names_at, line_of_names = len(rows), (number, line)
            continue
        rows.append((number, line))
    if names and names_at == len(rows):  # nothing is below them
        names = ""
        rows.append(line_of_names)
    if rows:
        text.add_sheet(one_line(sheet.name) or "Sheet", rows, names=names, names_at=names_at)


def _filled(cells: Sequence[str]) -> list[str]:
    """Return cells up to the last that is not empty."""
    end = max((at for at, cell in enumerate(cells, start=1) if cell), default=0)
    start = next((at for at, cell in enumerate(cells) if cell), 0)
    return list(cells[start:end])


def _format(value: Value) -> str:
    """Return a cell as one line; a whole number without its fraction, a date as ISO 8601."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.10g}"
    if isinstance(value, datetime.datetime) and not (value.hour or value.minute or value.second):
        return value.date().isoformat()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return one_line(str(value))
