"""Running headers, footers and page numbers of a PDF, recognized by their repetition.

A line at the top or bottom of a page, apart from the others, is dropped if the same line, numbers
aside, stands there on other pages. Where it is first seen it is kept if it has words
that the text has nowhere else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from crx.ingest.readers.pdf_page import PageLine

# Pages on which a line stands that is a header or footer.
_LEAST_PAGES = 3
# Lines at either end of a page that are looked at.
_EDGE_LINES = 2
# Heights of the type: the gap to other lines. What is larger than the text is a title.
_APART = 0.4
_LARGER = 1.15
_LEAST_WORDS = 4  # characters
_NUMBER = re.compile(r"\d+|\b[ivxlc]+\b")
_LETTERS = re.compile(r"[^\W\d_]+")

# A line without its numbers, and whether it stands at the top.
_Key = tuple[bool, str]


def drop_furniture(pages: Sequence[list[PageLine]], *, body_size: float) -> list[list[PageLine]]:
    """Return the pages without headers, footers and page numbers."""
    if len(pages) < _LEAST_PAGES:
        return list(pages)
    edges = [dict(_edge_lines(page, body_size)) for page in pages]
    counts = Counter(key for found in edges for key in set(found.values()))
    repeated = [{at for at, key in found.items() if counts[key] >= _LEAST_PAGES} for found in edges]
    words = {
        _words(line)
        for page, dropped in zip(pages, repeated, strict=True)
        for at, line in enumerate(page)
        if at not in dropped
    }
    kept: list[list[PageLine]] = []
    for page, dropped in zip(pages, repeated, strict=True):
        lines = []
        for at, line in enumerate(page):
            if at in dropped:
                own = _words(line)
                if len(own) < _LEAST_WORDS or own in words:
                    continue
                words.add(own)
            lines.append(line)
        kept.append(lines)
    return kept


def _words(line: PageLine) -> str:
    return " ".join(_LETTERS.findall(line.text)).casefold()


def _edge_lines(page: Sequence[PageLine], body_size: float) -> Iterator[tuple[int, _Key]]:
    """Yield the lines at the top and bottom of a page that stand apart, with what they repeat."""
    down = sorted(range(len(page)), key=lambda at: -page[at].rect[3])
    yield from _from_edge(page, down, body_size, top=True)
    up = sorted(range(len(page)), key=lambda at: page[at].rect[1])
    yield from _from_edge(page, up, body_size, top=False)


def _from_edge(
    page: Sequence[PageLine], order: Sequence[int], body_size: float, *, top: bool
) -> Iterator[tuple[int, _Key]]:
    for position, at in enumerate(order[:_EDGE_LINES]):
        line = page[at]
        if line.size > _LARGER * body_size:
            return
        text = _NUMBER.sub("#", " ".join(line.text.split()).casefold())
        if position + 1 < len(order) and text != "#":
            following = page[order[position + 1]]
            gap = line.rect[1] - following.rect[3] if top else following.rect[1] - line.rect[3]
            beside = abs(line.rect[1] - following.rect[1]) < 0.5 * line.size
            if gap < _APART * line.size and not beside:
                return
        yield at, (top, text)
