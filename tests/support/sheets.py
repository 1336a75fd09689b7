"""Spreadsheets as XLSX and ODS, of rows by the sheet's name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from html import escape

from zipped import core, links, odf, zipped, zipped_with

Sheets = Mapping[str, Sequence[Sequence[str | float | None]]]
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def xlsx(sheets: Sheets, *, title: str = "", hidden: Sequence[str] = ()) -> bytes:
    """Return an Excel workbook."""
    states = ("visible", "hidden")
    listed = "".join(
        f'<sheet name="{name}" sheetId="{n}" r:id="r{n}" state="{states[name in hidden]}"/>'
        for n, name in enumerate(sheets, start=1)
    )
    ids = {f"r{n}": f"worksheet worksheets/s{n}.xml" for n in range(1, len(sheets) + 1)}
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    return zipped({
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": links(a="officeDocument xl/workbook.xml", b="core-properties p.xml"),
        "p.xml": core(title=title),
        "xl/workbook.xml": (
            f'<workbook xmlns="{_MAIN}" xmlns:r="{relations}"><sheets>{listed}</sheets></workbook>'
        ),
        "xl/_rels/workbook.xml.rels": links(**ids),
        **{f"xl/worksheets/s{n}.xml": sheet_xml(r) for n, r in enumerate(sheets.values(), start=1)},
    })  # fmt: skip


def formatted_xlsx(
    rows: Sequence[str],
    *,
    codes: Sequence[str] = (),
    date1904: bool = False,
    parts: Mapping[str, str] | None = None,
    relations: str = "",
) -> bytes:
    """Return a workbook of one sheet with the XML of its rows.

    The style 1 of a cell is the first of `codes`. `parts` are others by path; `relations` are
    those of the sheet.
    """
    formats = "".join(
        f'<numFmt numFmtId="{number}" formatCode="{escape(code)}"/>'
        for number, code in enumerate(codes, start=164)
    )
    xfs = "".join(f'<xf numFmtId="{164 + at}"/>' for at in range(len(codes)))
    book = xlsx({"Sheet": []})
    state = f'<workbookPr date1904="{int(date1904)}"/><sheets>'
    relations_path = "xl/worksheets/_rels/s1.xml.rels"
    others = {**(parts or {}), **({relations_path: relations} if relations else {})}
    return zipped_with(
        book,
        {
            "xl/workbook.xml": lambda old: old.replace("<sheets>", state),
            "xl/_rels/workbook.xml.rels": lambda _: links(
                r1="worksheet worksheets/s1.xml", st="styles styles.xml"
            ),
            "xl/styles.xml": lambda _: (
                f'<styleSheet xmlns="{_MAIN}"><numFmts>{formats}</numFmts>'
                f'<cellXfs><xf numFmtId="0"/>{xfs}</cellXfs></styleSheet>'
            ),
            "xl/worksheets/s1.xml": lambda _: (
                f'<worksheet xmlns="{_MAIN}"><sheetData>'
                f"{''.join(f'<row>{row}</row>' for row in rows)}</sheetData></worksheet>"
            ),
            **{path: partial(_replace, new=content) for path, content in others.items()},
        },
    )


def _replace(_old: str, *, new: str) -> str:
    return new


def sheet_xml(rows: Sequence[Sequence[str | float | None]]) -> str:
    """Return the part of a worksheet."""
    lines = "".join(
        f'<row r="{number}">{"".join(_cell(c, number, v) for c, v in enumerate(row))}</row>'
        for number, row in enumerate(rows, start=1)
    )
    return f'<worksheet xmlns="{_MAIN}"><sheetData>{lines}</sheetData></worksheet>'


def ods(sheets: Sheets, *, title: str = "") -> bytes:
    """Return an OpenDocument spreadsheet."""
    tables = "".join(
        f'<table:table table:name="{name}">'
        + "".join(
            "<table:table-row>" + "".join(map(_ods_cell, row)) + "</table:table-row>"
            for row in rows
        )
        + "</table:table>"
        for name, rows in sheets.items()
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    body = f"<office:spreadsheet>{tables}</office:spreadsheet>"
    return odf(body, title=title, mimetype=kind)


def _cell(column: int, row: int, value: str | float | None) -> str:
    place = f"{_letters(column)}{row}"
    if value is None:
        return ""
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f'<c r="{place}"><v>{value}</v></c>'


def _letters(column: int) -> str:
    """Return a column's name: A to Z, AA, AB, and so on."""
    before, last = divmod(column, 26)
    return (_letters(before - 1) if before else "") + chr(ord("A") + last)


def _ods_cell(value: str | float | None) -> str:
    if value is None:
        return "<table:table-cell/>"
    if isinstance(value, str):
        text = f"<text:p>{escape(value)}</text:p>"
        return f'<table:table-cell office:value-type="string">{text}</table:table-cell>'
    return f'<table:table-cell office:value-type="float" office:value="{value}"/>'
