"""Spreadsheets: rows as text, columns as headings, sheets and rows in citations."""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from compound import compound_file, excel_97
from sheets import formatted_xlsx, ods, sheet_xml, xlsx
from zipped import damaged, damaged_parts, links, odf, zipped

import crx
from crx.errors import InputError
from crx.ingest.read import read_bytes
from crx.ingest.readers.sheet_cells import column_letters
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
    roads, costs = "road\tmiles\nA1\t12\nkrill lane\t7.5\n", "item\teuro\ntar\t100\n"
    assert document.text == f"Roads\n{roads}\nCosts\nCosts of 2024\n{costs}"
    assert spans(document, "heading") == [
        ("Roads", f"Roads\n{roads}"),
        ("road, miles", roads),
        ("Costs", f"Costs\nCosts of 2024\n{costs}"),
        ("item, euro", costs),
    ]
    assert [label for label, _ in spans(document, "sheet")] == ["Roads", "Costs"]
    assert spans(document, "row") == [
        ("1", "road\tmiles\n"),
        ("2", "A1\t12\n"),
        ("3", "krill lane\t7.5\n"),
        ("1", "Costs of 2024\n"),
        ("3", "item\teuro\n"),
        ("4", "tar\t100\n"),
    ]
    assert document.metadata["sheets"] == 2


def test_a_workbook_of_one_xml_file_is_read_as_its_archive() -> None:
    with ZipFile(BytesIO(ods(SHEETS))) as archive:
        content = archive.read("content.xml")
    packed, flat = one(ods(SHEETS), "a.ods"), one(content, "a.fods")
    assert (flat.text, flat.marks) == (packed.text, packed.marks)
    assert flat.metadata["format"] == "fods"


@pytest.mark.parametrize("data", [b"", b"<office:document", b"no workbook"])
def test_a_damaged_workbook_of_one_xml_file_is_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        one(data, "a.fods")


def test_a_title_is_that_of_the_properties_or_of_the_file() -> None:
    assert one(xlsx(SHEETS, title="Budget"), "/x/plan_of_roads.xlsx").title == "Budget"
    assert one(ods(SHEETS, title="Budget"), "/x/plan_of_roads.ods").title == "Budget"
    named = one(xlsx(SHEETS), "/x/plan_of_roads.xlsx")
    assert (named.title, named.metadata["title_from"]) == ("plan of roads", "name")


def test_a_first_row_that_may_be_no_names_is_text() -> None:
    document = one(xlsx({"A": [["Lessee:", "Ann Orr"], ["Rent:", 900.0]]}), "a.xlsx")
    assert document.text == "A\nLessee:\tAnn Orr\nRent:\t900\n"


def test_hidden_sheets_are_left_out() -> None:
    assert "item" not in one(xlsx(SHEETS, hidden=["Costs"]), "a.xlsx").text


def test_a_damaged_sheet_is_named_after_the_others_are_read() -> None:
    broken = sheet_xml([[1.0]]).replace("</v>", "")
    whole = xlsx({"Roads": ROADS, "Bad": [[1.0]]})
    documents = read_bytes(_with_part(whole, "xl/worksheets/s2.xml", broken), name="a.xlsx")
    assert next(documents).text.startswith("Roads\n")
    with pytest.raises(InputError, match=r"has damaged sheets: Bad: .*\(1 other sheets were read"):
        next(documents)


def test_without_its_parser_an_old_workbook_is_read_without_number_formats(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "crx_formats.xls", None)
    document = one(BOOKS["a.xls"], "a.xls")
    assert "krill lane\t7.5" in document.text
    reason = 'are read after pip install "crx[formats]"'
    assert document.metadata["left_out_reasons"] == [reason]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\1\2\3 words", "not a readable ZIP"),
        (xlsx({"A": []}), "has no text"),
        (zipped({"content.xml": "<a/>", "META-INF/manifest.xml": "<encryption-data/>"}), "encrypt"),
        (zipped({"a.xml": "<a/>"}), "has no part xl/workbook.xml"),
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


def styled(*cells: str, row: str = "2") -> str:
    """Return a row of cells that have the style 1, 2, ... in turn."""
    return "".join(
        f'<c r="{chr(ord("A") + at)}{row}" s="{at + 1}">{cell}</c>' for at, cell in enumerate(cells)
    )


def test_cells_are_as_their_formats_show_them() -> None:
    row = styled("<v>0.157</v>", "<v>1234</v>", "<v>45000</v>", "<v>19.5</v>", "<v>7</v>")
    data = formatted_xlsx([row], codes=["0.0%", "00000", "d.m.yyyy", "[$€-407] 0.00", '"No. "0'])
    assert one(data, "a.xlsx").text == "Sheet\n15.7%\t01234\t15.3.2023\t€ 19.50\tNo. 7\n"


def test_numbers_keep_their_digits() -> None:
    amounts: list[list[str | float]] = [["dues", 123456789.99], ["lease", 1234567890.12]]
    for data, name in ((xlsx({"A": amounts}), "a.xlsx"), (excel_97({"A": amounts}), "a.xls")):
        assert one(data, name).text == "A\ndues\t123456789.99\nlease\t1234567890.12\n"


def test_days_count_from_1904_if_the_workbook_says_so() -> None:
    data = formatted_xlsx([styled("<v>1</v>")], codes=["yyyy-mm-dd"], date1904=True)
    assert one(data, "a.xlsx").text == "Sheet\n1904-01-02\n"


def test_the_cells_of_an_open_document_are_as_it_shows_them() -> None:
    cell = (
        '<table:table-cell office:value-type="percentage" office:value="0.157">'
        "<office:annotation><text:p>ask Ottilie</text:p></office:annotation>"
        "<text:p>15,7 %</text:p></table:table-cell>"
    )
    row = f"<table:table-row>{cell}<table:covered-table-cell/></table:table-row>"
    empty = '<table:table-row table:number-rows-repeated="1048000"><table:table-cell/>'
    body = f'<table:table table:name="A">{row}{empty}</table:table-row>{row}</table:table>'
    data = odf(f"<office:spreadsheet>{body}</office:spreadsheet>")
    document = one(data, "a.ods")
    assert document.text == "A\n15,7 %\n15,7 %\n[A1] ask Ottilie\n[A1048002] ask Ottilie\n"
    assert [label for label, _ in spans(document, "row")] == ["1", "1048002"]


def test_a_hidden_sheet_of_an_open_document_is_left_out() -> None:
    style = '<style:style style:name="h"><style:table-properties table:display="false"/>'
    hidden = (
        '<table:table table:style-name="h"><table:table-row><table:table-cell><text:p>no</text:p>'
    )
    shown = "<table:table><table:table-row><table:table-cell><text:p>yes</text:p>"
    ends = "</table:table-cell></table:table-row></table:table>"
    body = f"<office:spreadsheet>{hidden}{ends}{shown}{ends}</office:spreadsheet>"
    assert one(odf(body, styles=f"{style}</style:style>"), "a.ods").text == "Sheet\nyes\n"


COMMENTS = (
    '<comments><commentList><comment ref="A1"><text><r><t>ask </t></r><r><t>Ottilie</t></r></text>'
    '</comment><comment ref="B1"><text><t>[Threaded comment] Your version</t></text></comment>'
    "</commentList></comments>"
)
THREADED = '<x><threadedComment ref="B1"><text>and Ann</text></threadedComment></x>'
DRAWING = (
    '<x:wsDr xmlns:x="urn:x" xmlns:a="urn:a"><x:pic><x:cNvPr id="1" descr="A lighthouse"/></x:pic>'
    "<x:sp><x:txBody><a:p><a:r><a:t>a text </a:t></a:r><a:r><a:t>box</a:t></a:r></a:p></x:txBody>"
    "</x:sp></x:wsDr>"
)
CHART = (
    '<c:chart xmlns:c="urn:c" xmlns:a="urn:a"><c:title><a:p><a:t>Dues by quay</a:t></a:p></c:title>'
    "<c:strCache><c:pt><c:v>North</c:v></c:pt><c:pt><c:v>South</c:v></c:pt></c:strCache></c:chart>"
)


def annotated(**changed: str) -> bytes:
    """Return a workbook with comments, a text box and a chart, and parts that are changed."""
    parts = {
        "xl/comments1.xml": COMMENTS,
        "xl/threaded1.xml": THREADED,
        "xl/drawing1.xml": DRAWING,
        "xl/_rels/drawing1.xml.rels": links(c="chart chart1.xml"),
        "xl/chart1.xml": CHART,
    }
    parts |= {f"xl/{name}.xml": content for name, content in changed.items()}
    relations = links(
        a="comments ../comments1.xml",
        b="threadedComment ../threaded1.xml",
        c="drawing ../drawing1.xml",
    )
    return formatted_xlsx(['<c r="A1"><v>5</v></c>'], parts=parts, relations=relations)


def test_comments_text_boxes_and_charts_follow_the_rows() -> None:
    assert one(annotated(), "a.xlsx").text == (
        "Sheet\n5\n[B1] and Ann\n[A1] ask Ottilie\n"
        "a text box\nA lighthouse\nDues by quay\nNorth\nSouth\n"
    )


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("comments1", "comments of sheet Sheet"),
        ("drawing1", "drawings of sheet Sheet"),
        ("styles", "number formats"),
    ],
)
def test_a_damaged_part_beside_the_sheet_is_left_out_and_named(part: str, name: str) -> None:
    document = one(annotated(**{part: "<broken"}), "a.xlsx")
    assert document.text.startswith("Sheet\n5\n")
    assert document.metadata["left_out"] == [name]


def test_a_formula_without_a_result_is_shown_and_counted() -> None:
    row = (
        '<c r="A1"><f>SUM(B1:B9)</f><v></v></c><c r="B1"><f>1+1</f><v>2</v></c>'
        '<c r="C1" t="str"><f>A2</f><v></v></c>'
    )
    document = one(formatted_xlsx([row]), "a.xlsx")
    assert document.text == "Sheet\n=SUM(B1:B9)\t2\n"
    assert document.metadata["left_out"] == ["results of formulas"]
    assert document.metadata["left_out_reasons"] == ["1 were saved without one"]


def test_names_of_parts_are_compared_without_case() -> None:
    with ZipFile(BytesIO(xlsx(SHEETS))) as archive:
        parts = {name.upper().replace("/", "\\"): archive.read(name) for name in archive.namelist()}
    assert one(zipped(parts), "a.xlsx").text == one(xlsx(SHEETS), "a.xlsx").text


def test_readings_and_escapes_are_no_part_of_a_cell() -> None:
    cell = '<c r="A1" t="inlineStr"><is><t>東京_x000D_</t><rPh><t>とうきょう</t></rPh></is></c>'
    assert one(formatted_xlsx([cell]), "a.xlsx").text == "Sheet\n東京\n"


def test_a_workbook_with_a_password_is_encrypted_and_not_damaged() -> None:
    data = compound_file({"EncryptionInfo": b"x" * 10, "EncryptedPackage": b"y" * 100})
    for name in ("a.xlsx", "a.docx", "a.pptx"):
        with pytest.raises(InputError, match="is encrypted; save a copy without its password"):
            one(data, name)


def test_cells_in_the_corners_of_a_sheet_take_no_room() -> None:
    cells = '<c r="A1"><v>1</v></c>', '<c r="XFD1048576"><v>2</v></c>'
    rows = [f"{cells[0]}</row><row r='1048576'>{cells[1]}"]
    assert one(formatted_xlsx(rows), "a.xlsx").text == "Sheet\n1\n\t2\n"


def test_a_sheet_of_all_columns_is_read() -> None:
    row = "".join("<c><v>7</v></c>" for _ in range(16_384))
    assert one(formatted_xlsx([row]), "a.xlsx").text == "Sheet\n" + "\t".join("7" * 16_384) + "\n"


def test_a_sheet_whose_tabs_are_too_many_is_refused() -> None:
    diagonal = "".join(
        f'<row r="{n + 1}"><c r="{column_letters(n)}{n + 1}"><v>1</v></c></row>'
        for n in range(12_000)
    )
    with pytest.raises(InputError, match="Sheet: has more than 64,000,000 characters"):
        one(formatted_xlsx([f"</row>{diagonal}<row>"]), "a.xlsx")


def _with_part(data: bytes, path: str, content: str) -> bytes:
    with ZipFile(BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    return zipped({**parts, path: content})


def test_sheets_after_a_million_rows_are_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("crx_formats.xls._MOST_ROWS", 2)
    book = excel_97({name: [["road", name], [], [], ["tar"]] for name in ("A", "B", "C")})
    documents = read_bytes(book, name="a.xls")
    assert next(documents).text == "A\nroad\tA\ntar\n"
    told = r"has damaged sheets: B: follows sheets of more than 2 rows; save the workbook as \.xlsx"
    with pytest.raises(InputError, match=told):
        next(documents)
