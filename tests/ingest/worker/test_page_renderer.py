"""Pictures of PDF pages, drawn by the worker."""

from __future__ import annotations

import io
from collections.abc import Iterator

import numpy as np
import pytest
from pdfs import pdf, placed
from PIL import Image

from crx.errors import InputError
from crx.ingest._worker.page_renderer import PageRenderer
from crx.ingest.page_values import PagePicture, PageRequest

PAGES = [["Whales eat krill.", "Bread needs salt."], ["Cats sleep."]]


@pytest.fixture(scope="module")
def renderer() -> Iterator[PageRenderer]:
    made = PageRenderer()
    yield made
    made.close()


def draw(renderer: PageRenderer, data: bytes, **request: object) -> PagePicture:
    values = {"label": "1", **request}
    return renderer.draw(data, PageRequest(**values), name="a.pdf", max_bytes=1_000_000)  # type: ignore[arg-type]


def pixels(picture: PagePicture) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(picture.png)))


def yellow_rows(picture: PagePicture) -> list[int]:
    """Return the rows of a picture that have marked pixels."""
    found = pixels(picture).astype(int)
    marked = (found[..., 0] > 240) & (found[..., 2] < 140)
    return np.flatnonzero(marked.any(axis=1)).tolist()


def test_a_page_is_as_wide_as_asked(renderer: PageRenderer) -> None:
    picture = draw(renderer, pdf(PAGES), label="2", width=306)
    assert (picture.label, picture.number, picture.pages) == ("2", 2, 2)
    assert pixels(picture).shape == (396, 306, 3)


def test_the_lines_of_the_passage_are_marked(renderer: PageRenderer) -> None:
    assert yellow_rows(draw(renderer, pdf(PAGES))) == []
    first = yellow_rows(draw(renderer, pdf(PAGES), marked="Whales eat krill."))
    second = yellow_rows(draw(renderer, pdf(PAGES), marked="needs salt"))
    assert first
    assert second
    assert max(first) <= min(second) + 8


def test_of_pages_with_one_label_the_one_with_the_text_is_drawn(renderer: PageRenderer) -> None:
    data = pdf(PAGES, labels="0 << /S /D >> 1 << /S /D /St 1 >>")
    assert draw(renderer, data, text="Cats sleep.").number == 2
    assert draw(renderer, data, text="Whales eat krill.").number == 1


@pytest.mark.parametrize("box", ["0 0 1 9000000", "0 0 9000000 1", "0 0 0 0", "5 5 -5 -5"])
def test_a_page_that_lies_about_its_size_is_a_picture_of_bounded_size(
    box: str, renderer: PageRenderer
) -> None:
    data = placed([[(72, 700, 10, "Whales eat krill.")]], box=box)
    assert max(pixels(draw(renderer, data, width=3000)).shape) <= 3000


@pytest.mark.parametrize(
    ("data", "fact"), [(b"%PDF-1.7 cut", "damaged"), (pdf([["a"]], encrypted=True), "encrypted")]
)
def test_a_file_that_is_no_pdf_says_so(data: bytes, fact: str, renderer: PageRenderer) -> None:
    with pytest.raises(InputError, match=fact):
        draw(renderer, data)


def test_a_page_that_there_is_not_says_so(renderer: PageRenderer) -> None:
    with pytest.raises(InputError, match="has no page 9"):
        draw(renderer, pdf(PAGES), label="9")
    assert draw(renderer, pdf(PAGES)).number == 1
