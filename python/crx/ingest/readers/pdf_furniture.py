"""Running headers, footers and page numbers of a PDF, recognized by their repetition.

A line at the top or bottom of a page, apart from the others, is dropped if it stands there on other
pages too. Its numbers must be the same there, but for one that may count the pages: what differs in
other numbers, such as the amounts of payslips, is text. Where a line is first seen it is kept if it
has words that the text has nowhere else, or numbers that count no pages. A page of three such lines
and no others is a page of text, which others resemble. A number alone, or between
dashes, is that of a page if it stands at one height and grows by one on three pages in a row or
more; else it may be the last row of a table.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crx.ingest.readers.pdf_page import PageLine

# Pages on which a line stands that is a header or footer.
_LEAST_PAGES = 3
# Lines at either end of a page that are looked at.
_EDGE_LINES = 2
# Heights of the type: the gap to other lines. What is larger than the text is a title.
_APART = 0.4
_LARGER = 1.15
_LEAST_WORDS = 4  # characters
_LEAST_LINES = 3  # with words, of a page of text
_NUMBER = re.compile(r"\d+|\b[ivxlc]+\b")
_DASHES = "-–— "
_LETTERS = re.compile(r"[^\W\d_]+")

# More numbers in a line are a row of figures, none of which counts pages.
_MOST_NUMBERS = 8
# Of a longer number the first digits are compared: Python converts no numbers of any length.
_MOST_DIGITS = 40
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}


@dataclass(frozen=True, slots=True)
class _EdgeLine:
    """A line at the top or else bottom of a page: its text with and without its numbers."""

    is_top: bool
    text: str
    form: str
    numbers: tuple[int, ...]
    height: float
    size: float

    @property
    def is_number(self) -> bool:
        """Whether it is a number alone, or between dashes."""
        return len(self.numbers) == 1 and self.form.strip(_DASHES) == "#"


# What is the same for lines that repeat each other: the index of the number that counts pages, or
# None, and the numbers, of which that one is without the number of its page.
_Repeated = tuple[bool, str, int | None, tuple[int, ...]]


def drop_furniture(pages: Sequence[list[PageLine]], *, body_size: float) -> list[list[PageLine]]:
    """Return the pages without headers, footers and page numbers."""
    if len(pages) < _LEAST_PAGES:
        return list(pages)
    edges = [dict(_edge_lines(page, body_size)) for page in pages]
    counts = Counter(
        repeated
        for number, found in enumerate(edges)
        for repeated in {_as_repeated(line) for line in found.values()}
        | {counting for line in found.values() for counting in _as_counting(line, number)}
    )
    page_numbers = _find_page_numbers(edges)
    dropped = [
        _repeated_lines(found, number, counts, page_numbers) for number, found in enumerate(edges)
    ]
    if not any(dropped):
        return list(pages)
    for page, own in zip(pages, dropped, strict=True):
        worded = sum(len(_words(page[at])) >= _LEAST_WORDS for at in own)
        if len(own) == len(page) and worded >= _LEAST_LINES:
            own.clear()
    seen = {
        _words(line)
        for page, own in zip(pages, dropped, strict=True)
        for at, line in enumerate(page)
        if at not in own
    }
    kept: list[list[PageLine]] = []
    for page, own in zip(pages, dropped, strict=True):
        lines = []
        for at, line in enumerate(page):
            if at in own:
                figures, words = own[at], _words(line)
                if figures in seen if figures else len(words) < _LEAST_WORDS or words in seen:
                    continue
                seen.add(figures or words)
            lines.append(line)
        kept.append(lines)
    return kept


def _find_page_numbers(edges: Sequence[dict[int, _EdgeLine]]) -> set[tuple[int, int]]:
    """Return the page and the position in it of each line that is the number of its page."""
    counting: dict[tuple[bool, int], dict[int, tuple[int, _EdgeLine]]] = defaultdict(dict)
    for page, found in enumerate(edges):
        for at, line in found.items():
            if line.is_number:
                counting[line.is_top, line.numbers[0] - page].setdefault(page, (at, line))
    numbers: set[tuple[int, int]] = set()
    for by_page in counting.values():
        runs = (range(first, first + _LEAST_PAGES) for first in by_page)
        heights = [
            by_page[run[0]][1].height
            for run in runs
            if all(page in by_page for page in run)
            and all(_is_level(by_page[page][1], by_page[run[0]][1].height) for page in run)
        ]
        numbers |= {
            (page, at)
            for page, (at, line) in by_page.items()
            if any(_is_level(line, height) for height in heights)
        }
    return numbers


def _is_level(line: _EdgeLine, height: float) -> bool:
    return abs(line.height - height) < 0.5 * line.size


def _repeated_lines(
    found: dict[int, _EdgeLine],
    number: int,
    counts: Counter[_Repeated],
    page_numbers: set[tuple[int, int]],
) -> dict[int, str]:
    """Return the lines that other pages repeat, with the text of those that have other numbers.

    One line of the top and one of the bottom may count the pages. The number of a page may begin
    anew in each chapter.
    """
    dropped: dict[int, str] = {}
    counting: set[bool] = set()
    for at, line in found.items():
        if line.is_number:
            if (number, at) in page_numbers:
                dropped[at] = ""
                counting.add(line.is_top)
        elif counts[_as_repeated(line)] >= _LEAST_PAGES:
            dropped[at] = line.text if line.numbers else ""
        elif line.is_top not in counting and any(
            counts[repeated] >= _LEAST_PAGES for repeated in _as_counting(line, number)
        ):
            dropped[at] = ""
            counting.add(line.is_top)
    return dropped


def _as_repeated(line: _EdgeLine) -> _Repeated:
    return line.is_top, line.form, None, line.numbers


def _as_counting(line: _EdgeLine, page: int) -> Iterator[_Repeated]:
    """Yield what a line repeats if one of its numbers counts the pages, for each of them."""
    if len(line.numbers) > _MOST_NUMBERS:
        return
    for at, number in enumerate(line.numbers):
        numbers = (*line.numbers[:at], number - page, *line.numbers[at + 1 :])
        yield line.is_top, line.form, at, numbers


def _value(number: str) -> int:
    """Return the value of a number in digits or Roman numerals."""
    if number.isdecimal():
        return int(number[:_MOST_DIGITS])
    values = [_ROMAN[numeral] for numeral in number]
    following = [*values[1:], 0]
    return sum(
        -value if value < after else value for value, after in zip(values, following, strict=True)
    )


def _words(line: PageLine) -> str:
    return " ".join(_LETTERS.findall(line.text)).casefold()


def _edge_lines(page: Sequence[PageLine], body_size: float) -> Iterator[tuple[int, _EdgeLine]]:
    """Yield the lines at the top and bottom of a page that stand apart."""
    down = sorted(range(len(page)), key=lambda at: -page[at].rect[3])
    yield from _from_edge(page, down, body_size, top=True)
    up = sorted(range(len(page)), key=lambda at: page[at].rect[1])
    yield from _from_edge(page, up, body_size, top=False)


def _from_edge(
    page: Sequence[PageLine], order: Sequence[int], body_size: float, *, top: bool
) -> Iterator[tuple[int, _EdgeLine]]:
    # The middle of a page of three lines is at neither end.
    looked_at = min(_EDGE_LINES, max(1, len(order) // 2))
    for position, at in enumerate(order[:looked_at]):
        line = page[at]
        if line.size > _LARGER * body_size:
            return
        text = " ".join(line.text.split()).casefold()
        form = _NUMBER.sub("#", text)
        if position + 1 < len(order) and form != "#":
            following = page[order[position + 1]]
            gap = line.rect[1] - following.rect[3] if top else following.rect[1] - line.rect[3]
            beside = abs(line.rect[1] - following.rect[1]) < 0.5 * line.size
            if gap < _APART * line.size and not beside:
                return
        numbers = tuple(map(_value, _NUMBER.findall(text)))
        yield at, _EdgeLine(top, text, form, numbers, line.rect[1], line.size)
