"""`crx doctor FILE`, and what `crx status` says of documents that lack a part."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Crx
from pdfs import drawn, glyph_numbers

# A cover with two attached files, one of which is no PDF.
TREE = "<< /Names [(bad.pdf) 101 0 R (tide.txt) 103 0 R] >>"
ATTACHED = {
    100: TREE,
    101: "<< /Type /Filespec /F (bad.pdf) /UF (bad.pdf) /EF << /F 102 0 R >> >>",
    102: "<< /Type /EmbeddedFile /Length 7 >>\nstream\nnothing\nendstream",
    103: "<< /Type /Filespec /F (tide.txt) /UF (tide.txt) /EF << /F 104 0 R >> >>",
    104: "<< /Type /EmbeddedFile /Length 18 >>\nstream\nHigh water at six.\nendstream",
}
LOG = "BT /F1 12 Tf 72 700 Td (Log of the ferry) Tj ET"


@pytest.fixture
def log(here: Path) -> Path:
    """A PDF whose attached files cannot all be read."""
    data = drawn(LOG, catalog="/Names << /EmbeddedFiles 100 0 R >>", objects=ATTACHED)
    (here / "log.pdf").write_bytes(data)
    return here / "log.pdf"


def test_a_text_is_described_with_its_reader_and_its_encoding(crx: Crx, here: Path) -> None:
    (here / "ferry.txt").write_bytes("Fähre nach Föhr, täglich außer Sonntag\n".encode("cp1252"))
    done = crx("doctor", "ferry.txt")
    lines = [line for line in done.out.splitlines() if not line.startswith("title")]
    assert lines == [
        "ferry.txt, 39 bytes",
        "reader     text",
        "encoding   cp1252",
        "text       39 characters, 6 words",
        "marks      none",
        "begins     Fähre nach Föhr, täglich außer Sonntag",
        "index      none here or above",
    ]
    assert done.code == 0


def test_what_is_missing_of_a_file_is_named_with_the_reason(crx: Crx, log: Path) -> None:
    done = crx("doctor", "log.pdf")
    assert "missing    bad.pdf: is a damaged PDF\n" in done.out
    assert "documents  2\n" in done.out
    assert json.loads(crx("doctor", "log.pdf", "--json").out)["missing"] == [
        "bad.pdf: is a damaged PDF"
    ]


def test_a_file_that_is_refused_says_why_and_ends_with_3(crx: Crx, here: Path) -> None:
    (here / "scan.pdf").write_bytes(glyph_numbers(["Lorem ipsum dolor sit amet"], moved=29))
    done = crx("doctor", "scan.pdf")
    assert "reader     pdf\nrefused    has no text: a scan" in done.out
    assert done.code == 3


def test_it_says_whether_the_index_has_the_file(crx: Crx, indexed: Path, here: Path) -> None:
    (here / "other.md").write_text("# Other\n\nNot indexed.\n")
    assert "index      .crx has it, in 1 chunk\n" in crx("doctor", "docs/whales.md").out
    assert "index      .crx has no document of this name\n" in crx("doctor", "other.md").out


def test_the_index_says_why_it_has_a_file_not(crx: Crx, here: Path) -> None:
    (here / "docs").mkdir()
    (here / "docs" / "broken.pdf").write_bytes(b"%PDF-1.7 nothing")
    assert crx("index", "docs", "-q").code == 3
    assert "has it not: is a damaged PDF" in crx("doctor", "docs/broken.pdf").out


def test_the_index_says_why_it_has_a_part_of_a_file(crx: Crx, here: Path) -> None:
    (here / "boats.jsonl").write_text('{"text": "sloop"}\n{"text"\n{"text": "yawl"}\n')
    assert crx("index", "boats.jsonl", "-q").code == 3
    assert "has a part of it: line 2: is no JSON" in crx("doctor", "boats.jsonl").out


def test_status_counts_documents_of_which_a_part_failed(crx: Crx, log: Path) -> None:
    assert crx("index", "log.pdf", "-q").code == 0
    line = 'parts of 1 document were not read; "crx status --skipped" names them\n'
    assert line in crx("status").out
    assert "log.pdf: without bad.pdf\n" in crx("status", "--skipped").out
    incomplete = json.loads(crx("status", "--skipped", "--json").out)["incomplete"]
    assert [each["left_out"] for each in incomplete] == [["bad.pdf"]]


def test_it_is_silent_if_none_failed(crx: Crx, indexed: Path) -> None:
    assert "parts of" not in crx("status").out
