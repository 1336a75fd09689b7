"""Spreadsheets as XLSX and ODS, of rows by the sheet's name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from zipped import core, links, odf, zipped

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
    place = f"{chr(ord('A') + column)}{row}"
    if value is None:
        return ""
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f'<c r="{place}"><v>{value}</v></c>'


def _ods_cell(value: str | float | None) -> str:
    if value is None:
        return "<table:table-cell/>"
    if isinstance(value, str):
        text = f"<text:p>{escape(value)}</text:p>"
        return f'<table:table-cell office:value-type="string">{text}</table:table-cell>'
    return f'<table:table-cell office:value-type="float" office:value="{value}"/>'
