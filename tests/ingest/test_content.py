"""Files whose extension is not that of their content."""

from __future__ import annotations

import pytest
from pdfs import pdf
from sheets import ods, xlsx
from zipped import docx, zipped

from crx.errors import InputError, NotText
from crx.ingest.read import read_bytes
from crx.ingest.readers.content import reader_by_content

TEXT = "Blue whales eat krill"
WORD = docx(f"<w:p><w:r><w:t>{TEXT}</w:t></w:r></w:p>")
SHEET = xlsx({"Plan": [["animal", "food"], ["whale", TEXT]]})
RTF = rb"{\rtf1\ansi " + TEXT.encode() + b"}"
HTML = f"<!DOCTYPE html><html><body><p>{TEXT}</p></body></html>".encode()
PDF = pdf([[TEXT]])
SAVED = b"Subject: Plan\r\nContent-Type: multipart/related; boundary=x\r\n\r\n--x\r\n"
SAVED += b"Content-Type: text/html\r\n\r\n" + HTML + b"\r\n--x--\r\n"


@pytest.mark.parametrize(
    ("data", "name", "format_"),
    [
        (PDF, "report.docx", "pdf"),
        (PDF, "report.txt", "pdf"),
        (PDF, "report.doc", "pdf"),
        (PDF, "report", "pdf"),
        (WORD, "report.doc", "docx"),
        (WORD, "report.pdf", "docx"),
        (WORD, "report", "docx"),
        (SHEET, "report.docx", "xlsx"),
        (ods({"Plan": [["animal"], [TEXT]]}), "report.xlsx", "ods"),
        (RTF, "report.doc", "rtf"),
        (RTF, "report.docx", "rtf"),
        (HTML, "report.xls", "html"),
        (HTML, "report.doc", "html"),
        (HTML, "report.pdf", "html"),
        (SAVED, "report.doc", "mhtml"),
        (f"animal\tfood\nwhale\t{TEXT}\n".encode(), "report.xls", "csv"),
        (f"animal\tfood\nwhale\t{TEXT}\n".encode("utf-16"), "report.xls", "csv"),
        (TEXT.encode(), "report.docx", "text"),
    ],
)
def test_a_file_is_read_by_its_content(data: bytes, name: str, format_: str) -> None:
    (document,) = read_bytes(data, name=name)
    assert TEXT in document.text
    assert document.metadata["format"] == format_


def test_a_text_is_read_by_its_extension() -> None:
    (document,) = read_bytes(HTML, name="notes.md")
    assert document.metadata["format"] == "markdown"


def test_a_word_document_may_embed_a_sheet() -> None:
    both = zipped({"xl/workbook.xml": "", "word/document.xml": ""})
    assert reader_by_content(both, ".docx", named="docx") == ""
    assert reader_by_content(both, ".xlsx", named="spreadsheet") == ""


SHEETS_2003 = "urn:schemas-microsoft-com:office:spreadsheet"


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("export.php", f"<?php\n$head = '<?xml?><Workbook xmlns=\"{SHEETS_2003}\">';\n"),
        (
            "a.xslt",
            f'<?xml version="1.0"?>\n<xsl:stylesheet xmlns:ss="{SHEETS_2003}"><Workbook/>\n',
        ),
    ],
)
def test_a_program_that_writes_workbooks_is_none(name: str, source: str) -> None:
    (document,) = read_bytes(source.encode(), name=name)
    assert document.text == source


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("plan.xlsx", InputError),
        ("plan.docx", InputError),
        ("plan.csv", InputError),
        ("plans.zip", InputError),
        ("plan.csv.gz", InputError),
        ("plan.onnx", NotText),
    ],
)
def test_a_pointer_of_git_lfs_is_no_document(name: str, kind: type[InputError]) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
    with pytest.raises(InputError) as refused:
        list(read_bytes(pointer, name=name))
    assert type(refused.value) is kind
    assert str(refused.value) == 'is a pointer of Git LFS; "git lfs pull" fetches the file'


@pytest.mark.parametrize("extension", [".pages", ".vsdx", ".xmind", ".wpd", ".mobi"])
def test_a_document_of_a_program_has_no_reader(extension: str) -> None:
    with pytest.raises(InputError, match=rf"no reader for \{extension}; save it"):
        list(read_bytes(zipped({"Index/Document.iwa": bytes(600)}), name=f"letter{extension}"))
