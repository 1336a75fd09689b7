"""Titles of PDFs: that of the document's information, or else the first page's largest lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from crx.ingest.readers import text as plain
from crx.ingest.readers.file_title import squeeze, written_title
from crx.ingest.readers.pdf_page import PageLine
from crx.ingest.readers.text import is_title

# Characters of the page in which its title is looked for.
_TITLE_CHARS = 4000
# How much larger than the page's smallest type a title is.
_LARGER = 1.15
# Heights of one size of type differ by rounding.
_STEP = 0.5
_LETTERS = 4
_LONGEST = 200  # characters of a title


def largest_line(lines: Sequence[PageLine]) -> str:
    """Return the first lines in the largest type of a page, or "".

    Lines that are no title (see `text.is_title`) are passed over: the next size is tried. A page
    with one size of type has no title, nor one whose largest type is that of its body.
    """
    lettered = [line for line in _opening(lines) if sum(map(str.isalpha, line.text)) >= _LETTERS]
    smallest = min(map(_height_of, lettered), default=0.0)
    for height in sorted(set(map(_height_of, lettered)), reverse=True):
        if height < _LARGER * smallest:
            return ""
        together = next(list(run) for size, run in groupby(lettered, _height_of) if size == height)
        title = " ".join(squeeze(line.text) for line in together if is_title(squeeze(line.text)))
        if title:
            return title if len(title) <= _LONGEST else ""
    return ""


def _opening(lines: Sequence[PageLine]) -> Iterator[PageLine]:
    chars = 0
    for line in lines:
        if chars > _TITLE_CHARS:
            return
        chars += len(line.text)
        yield line


def _height_of(line: PageLine) -> float:
    return round(line.size / _STEP) * _STEP


def information_title(written: Mapping[str, str]) -> str:
    """Return the title in the document's information, unless a program wrote it."""
    title = written_title(written.get("Title", ""))
    return title if plain.is_title(title) else ""
