"""Recognition of text in scanned pages and images, with the real engine where it is installed."""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pypdfium2 as pdfium  # type: ignore[import-untyped]
import pytest
from optional import installed
from pdfs import pdf

import crx
from crx.errors import InputError, NotText, UsageError
from crx.ingest._worker.isolated_reader import IsolatedReader
from crx.ingest.read import read_bytes
from crx.ingest.readers.scan import (
    Image,
    Reading,
    as_reading,
    join_rows,
    load_recognizer,
    read_upright,
)

LINES = ("Lease of the harbour crane", "The tenant gives notice of ninety days.", "Rent: 1,250 EUR")


class Engine:
    """An engine that has the same answer for every image, and keeps the images."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.images: list[Image] = []

    def __call__(self, image: Image) -> str:
        self.images.append(image)
        return self.text


def test_only_pages_without_text_are_recognized() -> None:
    engine = Engine("Recognized words\n")
    (document,) = read_bytes(pdf([["Written"], [], ["Last"]]), name="a.pdf", recognize=engine)
    assert document.text == "Written\n\nRecognized words\n\nLast"
    assert [document.text[mark.start : mark.end] for mark in document.marks][1] == (
        "Recognized words\n\n"
    )
    assert document.metadata["ocr"] is True
    assert "pages_without_text" not in document.metadata
    (image,) = engine.images
    assert isinstance(image, np.ndarray)
    assert image.shape == (2200, 1700, 3)


def test_a_document_with_text_on_every_page_is_not_marked() -> None:
    engine = Engine("")
    (document,) = read_bytes(pdf([["Written"]]), name="a.pdf", recognize=engine)
    assert ("ocr" in document.metadata, engine.images) == (False, [])


def test_a_scan_says_how_it_is_read_and_one_without_text_that_it_has_none() -> None:
    with pytest.raises(InputError, match=r'a scan; pip install "crx\[ocr\]", then --set ocr='):
        list(read_bytes(pdf([[]]), name="a.pdf"))
    with pytest.raises(InputError, match="has no text that can be recognized"):
        list(read_bytes(pdf([[]]), name="a.pdf", recognize=Engine(" ")))


def test_an_image_is_a_document_if_it_has_text_and_if_that_is_asked_for() -> None:
    (document,) = read_bytes(b"BM", name="/a/Lease of a crane.bmp", recognize=Engine("Lease"))
    assert (document.text, document.title) == ("Lease", "Lease of a crane")
    assert document.metadata == {"ext": "bmp", "format": "image", "ocr": True}
    with pytest.raises(NotText, match="is an image without text"):
        list(read_bytes(b"BM", name="a.bmp", recognize=Engine("")))
    with pytest.raises(NotText):
        list(read_bytes(bytes(range(256)), name="a.bmp"))


def test_an_engine_that_is_not_there_is_an_error_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.md").write_text("words")
    settings = {"embedder": "hashed", "ocr": "tesseract"}
    with (
        crx.open(tmp_path / "a.crx", settings=settings) as index,
        pytest.raises(UsageError, match="ocr = tesseract: no such engine; use rapidocr"),
    ):
        index.add(tmp_path / "a.md")
    monkeypatch.setattr("crx.ingest.readers.scan.find_spec", lambda name: None)
    with pytest.raises(
        UsageError, match=r'ocr = rapidocr: not installed; pip install "crx\[ocr\]"'
    ):
        IsolatedReader(ocr="rapidocr")


def test_pieces_side_by_side_are_one_line() -> None:
    def box(left: int, top: int) -> Sequence[tuple[int, int]]:
        return (left, top), (left + 9, top), (left + 9, top + 10), (left, top + 10)

    boxes = [box(50, 0), box(0, 2), box(0, 12)]
    assert join_rows(["right", "left", "below"], boxes) == ["left right", "below"]


@pytest.mark.parametrize(
    ("lines", "confidences", "text", "turns"),
    [
        ("across", [0.99, 0, 0, 0], "turned 0", [0]),
        ("across", [0.6, 0, 0.99, 0], "turned 2", [0, 2]),
        ("across", [0.6, 0, 0.5, 0], "turned 0", [0, 2]),
        ("upwards", [0.99, 0.6, 0, 0.98], "turned 3", [0, 1, 3]),
        ("upwards", [0.7, 0.6, 0, 0.5], "turned 0", [0, 1, 3]),
    ],
)
def test_an_image_is_turned_if_it_is_read_better_so(
    lines: str, confidences: list[float], text: str, turns: list[int]
) -> None:
    asked: list[int] = []

    def read(quarter_turns: int) -> Reading:
        asked.append(quarter_turns)
        return Reading(f"turned {quarter_turns}", confidences[quarter_turns], lines == "upwards")

    assert (read_upright(read), asked) == (text, turns)


def pixels(lines: Sequence[str]) -> np.ndarray:
    """Return lines of text as the pixels of a page."""
    page = pdfium.PdfDocument(pdf([lines]))[0]
    return np.ascontiguousarray(page.render(scale=200 / 72).to_numpy())


def scanned(lines: Sequence[str]) -> bytes:
    """Return a PDF of a page that is an image."""
    made = pdfium.PdfDocument.new()
    page = made.new_page(612, 792)
    image = pdfium.PdfImage.new(made)
    bitmap = pdfium.PdfDocument(pdf([lines]))[0].render(scale=200 / 72)
    image.set_bitmap(bitmap)
    image.set_matrix(pdfium.PdfMatrix().scale(612, 792))
    page.insert_obj(image)
    page.gen_content()
    written = io.BytesIO()
    made.save(written)
    return written.getvalue()


def bitmap_file(lines: Sequence[str]) -> bytes:
    """Return a BMP file of lines of text, 24 bits a pixel, from the bottom up."""
    shown = pixels(lines)
    height, width, _ = shown.shape
    rows = np.pad(shown[::-1].reshape(height, -1), ((0, 0), (0, -3 * width % 4)))
    head = struct.pack("<2sIHHI", b"BM", 54 + rows.size, 0, 0, 54)
    return (
        head + struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, 0, 0, 0, 0, 0) + bytes(rows)
    )


def found(*pieces: tuple[str, int, int]) -> SimpleNamespace:
    """Return what an engine found: texts with their widths and heights, from the top down."""
    texts, widths, heights = zip(*pieces, strict=True)
    boxes = [
        [(0, 100 * row), (width, 100 * row), (width, 100 * row + height), (0, 100 * row + height)]
        for row, (width, height) in enumerate(zip(widths, heights, strict=True))
    ]
    return SimpleNamespace(txts=texts, boxes=np.array(boxes), scores=[0.9] * len(texts))


def test_single_characters_do_not_show_which_way_a_text_runs() -> None:
    assert not as_reading(found(("7", 10, 16), ("4", 10, 16))).is_sideways
    assert not as_reading(found(("7", 10, 16), ("Total", 50, 16))).is_sideways
    assert as_reading(found(("7", 16, 10), ("Total", 16, 50))).is_sideways


def test_an_image_without_text_is_read_once() -> None:
    nothing = as_reading(SimpleNamespace(txts=None))
    assert read_upright({0: nothing}.__getitem__) == ""


@pytest.mark.slow
@installed("rapidocr")
@pytest.mark.parametrize("turns", [1, 2, 3])
def test_an_image_that_stands_on_its_side_or_head_is_read_from_its_top(turns: int) -> None:
    turned = np.ascontiguousarray(np.rot90(pixels(LINES), turns))
    assert load_recognizer()(turned).splitlines() == list(LINES)


@pytest.mark.slow
@installed("rapidocr")
def test_a_scan_and_an_image_are_found_by_what_is_written_in_them(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "lease.pdf").write_bytes(scanned(LINES))
    (tmp_path / "docs" / "photo.bmp").write_bytes(bitmap_file(["Minutes of the whale committee"]))
    (tmp_path / "docs" / "empty.bmp").write_bytes(bitmap_file([]))
    settings = {"embedder": "hashed", "ocr": "rapidocr", "read_seconds": 300}
    with crx.open(tmp_path / "a.crx", settings=settings) as index:
        report = index.add(tmp_path / "docs")
        assert (report.added, report.failures) == (2, ())
        (lease, photo) = (index.store.text(row.doc) for row in index.store.documents())
        assert lease.splitlines() == list(LINES)
        assert photo == "Minutes of the whale committee"
        (passage, *_) = index.search("notice of ninety days", legs=["bm25"])
        assert (Path(passage.uri).name, passage.pages) == ("lease.pdf", ("1", "1"))
