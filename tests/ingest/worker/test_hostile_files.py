"""Bombs and deep nesting: the parent survives, and each is one line."""

from __future__ import annotations

import struct
import time
import zlib
from collections.abc import Callable
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from malformed import SEEDS
from sheets import sheet_xml, xlsx
from zipped import docx, epub, odf, zipped

from crx.errors import InputError
from crx.ingest._worker.isolated_reader import IsolatedReader
from crx.ingest._worker.messages import ReadLimits


def flood(size: int, *, start: bytes = b"", end: bytes = b"") -> bytes:
    """Return spaces between two texts, as the compressed content of a file of one part."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    pieces = [packer.compress(start)]
    pieces += [packer.compress(b" " * 10_000_000) for _ in range(size // 10_000_000)]
    return b"".join([*pieces, packer.compress(end), packer.flush()])


def archive(path: str, size: int) -> bytes:
    """Return a ZIP archive with a part of so many spaces."""
    file = BytesIO()
    with (
        ZipFile(file, "w", ZIP_DEFLATED, compresslevel=1) as zip_,
        zip_.open(path, "w", force_zip64=True) as part,
    ):
        for _ in range(size // 10_000_000):
            part.write(b" " * 10_000_000)
    return file.getvalue()


def understated(data: bytes) -> bytes:
    """Return an archive whose parts declare a size of one byte."""
    changed = bytearray(data)
    at = data.rfind(b"PK\x01\x02")
    changed[at + 24 : at + 28] = struct.pack("<I", 1)
    return bytes(changed)


def pdf_of(stream: bytes, *, filters: str, pages: int = 1) -> bytes:
    """Return a PDF whose pages all show one compressed stream."""
    kids = " ".join(["3 0 R"] * pages)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {pages} /Kids [{kids}] >>".encode(),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(stream)} /Filter {filters} >>\nstream\n".encode() + stream
        + b"\nendstream",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]  # fmt: skip
    whole = b"%PDF-1.4\n"
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(whole))
        whole += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    table = b"".join(f"{at:010} 00000 n \n".encode() for at in offsets)
    start = len(whole)
    whole += b"xref\n0 6\n0000000000 65535 f \n" + table
    return whole + f"trailer << /Size 6 /Root 1 0 R >>\nstartxref\n{start}\n%%EOF".encode()


def entities() -> str:
    """Return XML that ten small entities would make a billion characters of."""
    nested = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    return f'<!DOCTYPE d [<!ENTITY e0 "ha">{nested}]><d>&e11;</d>'


def entities_epub() -> bytes:
    """Return a book whose list of parts is XML that would grow without end."""
    with ZipFile(BytesIO(epub({"one.xhtml": "<p>"}, titles={"one.xhtml": "R"}, title="B"))) as zip_:
        parts: dict[str, bytes | str] = {name: zip_.read(name) for name in zip_.namelist()}
    return zipped({**parts, "OPS/book.opf": entities()})


def corner() -> bytes:
    """Return a workbook whose only cells are in the first and the last row and column."""
    last = '<row r="1048576"><c r="XFD1048576"><v>2</v></c></row></sheetData>'
    with ZipFile(BytesIO(xlsx({"A": [[1.0]]}))) as parts:
        book = {name: parts.read(name) for name in parts.namelist()}
    sheet = sheet_xml([[1.0]]).replace("</sheetData>", last)
    return zipped({**book, "xl/worksheets/s1.xml": sheet})


def nested_pdf() -> bytes:
    """Return a PDF whose page is compressed twice."""
    once = zlib.compress(b" " * 50_000_000, 9)
    return pdf_of(zlib.compress(once, 9), filters="[/FlateDecode /FlateDecode]")


# Small files that would expand to far more than memory holds. They are made by the tests: to
# compress them takes seconds.
BOMBS: dict[str, Callable[[], bytes]] = {
    "zip.docx": lambda: archive("word/document.xml", 200_000_000),
    "zip.xlsx": lambda: archive("xl/worksheets/sheet1.xml", 300_000_000),
    "lying.xlsx": lambda: understated(archive("xl/worksheets/sheet1.xml", 300_000_000)),
    "zip.epub": lambda: archive("META-INF/container.xml", 200_000_000),
    "gzip.txt.gz": lambda: flood(200_000_000),
    "entities.docx": lambda: zipped({"word/document.xml": entities()}),
    "entities.odt": lambda: odf(entities()),
    "entities.epub": entities_epub,
    "nested.pdf": nested_pdf,
}


def test_cells_in_the_corners_of_a_sheet_are_read_without_what_is_between() -> None:
    with IsolatedReader(ReadLimits(memory_mb=1000)) as reader:
        (document,) = reader.read(corner(), name="corner.xlsx")
    assert document.text.split() == ["A", "1", "2"]


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_within_two_seconds(name: str) -> None:
    data = BOMBS[name]()
    assert len(data) < 2_000_000
    with IsolatedReader(ReadLimits(memory_mb=1000)) as reader:
        list(reader.read(b"<p>warm", name="a.html"))
        started = time.monotonic()
        with pytest.raises(InputError) as refused:
            list(reader.read(data, name=name))
        took = time.monotonic() - started
    assert "\n" not in str(refused.value)
    # The limit is for a machine that is not shared with other tests.
    assert took < 2 or _load() > 1.5, (took, str(refused.value))


def test_deep_nesting_is_read_or_refused_in_its_time() -> None:
    deep = "<w:p>" * 100_000 + "<w:r><w:t>deep</w:t></w:r>" + "</w:p>" * 100_000
    nested = b"Content-Type: message/rfc822\n\n" * 3000 + b"Subject: deep\n\nwords\n"
    files = {
        "a.docx": docx(deep),
        "a.html": b"<div>" * 200_000 + b"deep",
        "a.eml": b"From: a@example.org\n" + nested,
        "a.rtf": rb"{\rtf1 " + b"{" * 200_000 + b"deep" + b"}" * 200_000 + b"}",
        "b.rtf": rb"{\rtf1 \bin2000000000 a}",
        "c.rtf": rb"{\rtf1 \uc2000000000 \u-99999999999 a}",
        "a.ipynb": b"[" * 200_000,
    }
    with IsolatedReader(ReadLimits(seconds=1)) as reader:
        for name, data in files.items():
            assert "\n" not in outcome(reader, data, name)
        assert outcome(reader, SEEDS["a.html"], "a.html") == ""


def outcome(reader: IsolatedReader, data: bytes, name: str) -> str:
    """Return why bytes cannot be read, "" if they can."""
    try:
        list(reader.read(data, name=name))
    except InputError as why:
        return str(why)
    return ""


def _load() -> float:
    """Return how many processes compete for each processor."""
    import os

    return os.getloadavg()[0] / (os.cpu_count() or 1)
