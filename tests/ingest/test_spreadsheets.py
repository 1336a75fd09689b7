"""Spreadsheets: rows as text, columns as headings, sheets and rows in citations."""

from __future__ import annotations

from pathlib import Path

import pytest
from compound import excel_97
from sheets import ods, sheet_xml, xlsx
from zipped import damaged, damaged_parts, zipped

import crx
from crx.errors import InputError
from crx.ingest.read import read_bytes
from crx.types import Document

ROADS: list[list[str | float]] = [["road", "miles"], ["A1", 12.0], ["krill lane", 7.5]]
COSTS: list[list[str | float]] = [["Costs of 2024"], [], ["item", "euro"], ["tar", 100]]
SHEETS = {"Roads": ROADS, "Costs": COSTS}
BOOKS = {"a.xlsx": xlsx(SHEETS), "a.ods": ods(SHEETS), "a.xls": excel_97(SHEETS)}


def one(data: bytes, name: str) -> Document:
    """Read bytes that hold one document."""
    (document,) = read_bytes(data, name=name)
    return document


def spans(document: Document, kind: str) -> list[tuple[str, str]]:
    """Return the label of each mark of a kind, and what it covers."""
    return [(m.label, document.text[m.start : m.end]) for m in document.marks if m.kind == kind]


@pytest.mark.parametrize("name", BOOKS)
def test_rows_are_lines_and_columns_are_headings(name: str) -> None:
    document = one(BOOKS[name], name)
    assert document.text == ("Roads\nA1\t12\nkrill lane\t7.5\n\nCosts\nCosts of 2024\ntar\t100\n")
    assert spans(document, "heading") == [
        ("Roads", "Roads\nA1\t12\nkrill lane\t7.5\n"),
        ("road, miles", "A1\t12\nkrill lane\t7.5\n"),
        ("Costs", "Costs\nCosts of 2024\ntar\t100\n"),
        ("item, euro", "tar\t100\n"),
    ]
    assert [label for label, _ in spans(document, "sheet")] == ["Roads", "Costs"]
    assert spans(document, "row") == [
        ("2", "A1\t12\n"),
        ("3", "krill lane\t7.5\n"),
        ("1", "Costs of 2024\n"),
        ("4", "tar\t100\n"),
    ]
    assert document.metadata["sheets"] == 2


def test_a_title_is_that_of_the_properties_or_of_the_file() -> None:
    assert one(xlsx(SHEETS, title="Budget"), "/x/plan_of_roads.xlsx").title == "Budget"
    assert one(ods(SHEETS, title="Budget"), "/x/plan_of_roads.ods").title == "Budget"
    named = one(xlsx(SHEETS), "/x/plan_of_roads.xlsx")
    assert (named.title, named.metadata["title_from"]) == ("plan of roads", "name")


def test_columns_without_a_row_below_are_text() -> None:
    document = one(xlsx({"A": [["road", "miles"]]}), "a.xlsx")
    assert document.text == "A\nroad\tmiles\n"


def test_hidden_sheets_are_left_out() -> None:
    assert "item" not in one(xlsx(SHEETS, hidden=["Costs"]), "a.xlsx").text


def test_a_damaged_sheet_is_named_after_the_others_are_read() -> None:
    broken = sheet_xml([[1.0]]).replace("</v>", "")
    whole = xlsx({"Roads": ROADS, "Bad": [[1.0]]})
    documents = read_bytes(_with_part(whole, "xl/worksheets/s2.xml", broken), name="a.xlsx")
    assert next(documents).text.startswith("Roads\n")
    with pytest.raises(InputError, match=r"has damaged sheets: Bad: .*\(1 other sheets were read"):
        next(documents)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"words", "not a readable ZIP"),
        (xlsx({"A": []}), "has no text"),
        (zipped({"content.xml": "<a/>", "META-INF/manifest.xml": "<encryption-data/>"}), "encrypt"),
        (zipped({"a.xml": "<a/>"}), "is a damaged spreadsheet"),
        (BOOKS["a.xls"][:600], "is a damaged spreadsheet"),
    ],
)
def test_what_is_no_spreadsheet_says_so(data: bytes, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        one(data, "a.xlsx")


@pytest.mark.parametrize("name", BOOKS)
def test_a_damaged_workbook_is_read_or_refused_in_one_line(name: str) -> None:
    copies = [*damaged(BOOKS[name], count=100)]
    copies += damaged_parts(BOOKS[name], count=10) if name != "a.xls" else []
    reasons = []
    for copy in copies:
        try:
            for document in read_bytes(copy, name=name):
                assert all(0 <= m.start < m.end <= len(document.text) for m in document.marks)
        except InputError as why:
            reasons.append(str(why))
    assert reasons
    assert not any("\n" in reason for reason in reasons)


def test_citations_name_the_sheet_and_its_rows(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.xlsx").write_bytes(xlsx({"Roads": ROADS}))
    with crx.open(tmp_path / "i.crx", settings={"embedder": "hashed"}) as index:
        index.add(tmp_path / "files")
        (passage, *_) = index.search("krill", window=0).passages
    assert passage.anchor is not None
    assert passage.anchor.label == "sheet Roads, row 3"  # of its rows 2 and 3
    assert passage.lines is None


def _with_part(data: bytes, path: str, content: str) -> bytes:
    from io import BytesIO
    from zipfile import ZipFile

    with ZipFile(BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    return zipped({**parts, path: content})
