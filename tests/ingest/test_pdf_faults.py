"""Faults in each improvement of the reader of PDF: the document is read without it, and says so."""

from __future__ import annotations

from collections.abc import Sequence

import pypdfium2 as pdfium  # type: ignore[import-untyped]
import pytest
from pdfs import drawn, pdf, placed

from crx.errors import InputError
from crx.ingest.read import read_bytes
from crx.ingest.readers import pdf as reader
from crx.types import Document

# The functions that a document can be read without, and the name of what they do.
IMPROVEMENTS = [
    ("page_label", "page labels"),
    ("open_form", "form values"),
    ("read_annotations", "form values and notes"),
    ("read_lines", "reading order"),
    ("drop_furniture", "headers and footers"),
    ("move_footnotes", "footnotes"),
    ("repeat_names", "names of columns"),
    ("_write_page", "words parted by hyphens"),
    ("_outline", "bookmarks"),
    ("_sections", "headings"),
    ("information_title", "title"),
    ("attached_files", "attached files"),
]
PAGES = [["Lease of a barn", "The rent is paid in pounds."], ["Repairs", "The owner pays them."]]


def read(data: bytes) -> Document:
    (document,) = read_bytes(data, name="a.pdf")
    return document


def fail(*_: object, **__: object) -> None:
    raise IndexError("tuple index out of range")


@pytest.mark.parametrize(("function", "name"), IMPROVEMENTS)
def test_a_fault_costs_the_improvement_and_not_the_document(
    function: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, function, fail)
    document = read(pdf(PAGES, outline=[("Repairs", 1)], info="/Title (Lease)"))
    for line in (line for page in PAGES for line in page):
        assert line in document.text
    assert document.metadata["left_out"] == [name]
    assert document.metadata["left_out_reasons"] == ["IndexError: tuple index out of range"]
    assert [mark.kind for mark in document.marks].count("page") == 2


def test_every_function_that_may_fail_is_one_of_them() -> None:
    assert read(pdf(PAGES)).metadata.get("left_out") is None


def test_a_page_that_cannot_be_read_costs_that_page(monkeypatch: pytest.MonkeyPatch) -> None:
    get_page = pdfium.PdfDocument.get_page

    def get(document: pdfium.PdfDocument, number: int) -> object:
        if number == 1:
            raise pdfium.PdfiumError("Failed to load page.")
        return get_page(document, number)

    monkeypatch.setattr(pdfium.PdfDocument, "__getitem__", get)
    document = read(pdf([*PAGES, ["Notice", "Three months."]]))
    assert document.text == "\n".join([*PAGES[0], "", "", "", "Notice", "Three months."])
    assert document.metadata["left_out"] == ["page 2"]
    assert document.metadata["pages_without_text"] == 1


def test_a_pdf_none_of_whose_pages_can_be_read_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdfium.PdfDocument, "__getitem__", fail)
    with pytest.raises(InputError, match="is a damaged PDF: page 1: IndexError"):
        read(pdf(PAGES))


@pytest.mark.parametrize("line", ["#", "# #", "-#-", "1", "- 2 -", "i", "\\(\\)", "%"])
def test_lines_of_signs_alone_at_the_edges_of_pages_are_read(line: str) -> None:
    def page(number: int) -> Sequence[tuple[float, float, float, str]]:
        return [
            (72, 760, 10, line),
            (72, 700, 10, f"The text of page {number} of the manual."),
            (72, 688, 10, "It is like that of the others"),
            (72, 676, 10, "but for its number."),
            (72, 40, 10, line),
        ]

    document = read(placed([page(number) for number in range(5)]))
    assert all(f"The text of page {number} " in document.text for number in range(5))
    assert "left_out" not in document.metadata


def test_a_form_without_a_page_for_its_fields_is_read() -> None:
    data = drawn("BT /F1 12 Tf 72 700 Td (Berth) Tj ET", catalog="/AcroForm << /Fields [99 0 R] >>")
    assert read(data).text == "Berth"


def test_pages_of_few_lines_that_are_alike_are_not_all_headers_and_footers() -> None:
    def page(number: int) -> Sequence[tuple[float, float, float, str]]:
        lines = [f"Receipt {number}", "Received", "with thanks", "the rent of one month"]
        return [(72, 700 - 30 * at, 10, line) for at, line in enumerate(lines)]

    assert read(placed([page(number) for number in range(4)])).text.count("one month") == 4
