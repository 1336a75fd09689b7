"""Tables of a PDF: the rows that name the columns, repeated where a chunk may begin.

The names are those rows at the top that have no numbers, if rows below have some, or that alone are
bold. They are repeated on the next page if the table goes on there without them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crx.ingest.readers.pdf_page import PageLine

# Characters of rows after which the names of the columns are repeated.
_REPEAT_CHARS = 700
_MOST_NAMES = 3  # rows
_NAME_CHARS = 300
_NUMBER = re.compile(r"[\s\d.,%$€£¥+()/:–—*-]+[^\W\d_]?")
_YEAR = re.compile(r"(?:19|20)\d\d(?:\s?[/–-]\s?(?:19|20)?\d\d)?")
_SAME_MARGIN = 12.0  # points


@dataclass(frozen=True, slots=True)
class Table:
    """A table that may go on: the rows that name its columns, its left edge and its cells."""

    names: tuple[PageLine, ...]
    left: float
    cells: int

    def goes_on(self, rows: Sequence[PageLine]) -> bool:
        """Return whether rows at the top of the next page look like those of this table."""
        return _usual_cells(rows) == self.cells and abs(_left(rows) - self.left) < _SAME_MARGIN


def repeat_names(
    lines: Sequence[PageLine], before: Table | None
) -> tuple[list[PageLine], Table | None]:
    """Return the lines of a page with the names of columns where they are repeated.

    `before` is the table that ends the page before; the table that ends this page is returned.
    """
    added: list[PageLine] = []
    last: Table | None = None
    for at, run in _runs(lines):
        if not run[0].is_row:
            added += run
            last = None
            continue
        names = _find_names(run)
        if not names and at == 0 and before is not None and before.goes_on(run):
            names = before.names
            added += names
        last = Table(names, _left(run), _usual_cells(run))
        added += _repeated(run, names)
    return added, last


def _runs(lines: Sequence[PageLine]) -> Iterator[tuple[int, list[PageLine]]]:
    """Yield the runs of rows and of other lines, with their positions."""
    start = 0
    for at in range(1, len(lines) + 1):
        if at == len(lines) or lines[at].is_row != lines[start].is_row:
            yield start, list(lines[start:at])
            start = at


def _repeated(rows: Sequence[PageLine], names: Sequence[PageLine]) -> Iterator[PageLine]:
    """Yield the rows, and the names again before each so many characters of them."""
    length = 0
    for at, row in enumerate(rows):
        if names and at >= len(names) and length >= _REPEAT_CHARS:
            for number, name in enumerate(names):
                yield name._replace(opens=number == 0)
            length = 0
        yield row
        length += len(row.text)


def _find_names(rows: Sequence[PageLine]) -> tuple[PageLine, ...]:
    """Return the rows at the top of a table that name its columns, none if it has no such rows."""
    top = 0
    while top < min(len(rows), _MOST_NAMES + 1) and not _has_numbers(rows[top]):
        top += 1
    names: Sequence[PageLine] = ()
    if 0 < top <= _MOST_NAMES and top < len(rows) and "\t" in rows[top - 1].text:
        names = rows[:top]
    elif len(rows) > 2 and rows[0].is_bold and "\t" in rows[0].text:
        bold = sum(row.is_bold for row in rows[1:])
        names = rows[:1] if bold * 3 <= len(rows) else ()
    return tuple(names) if sum(len(row.text) for row in names) <= _NAME_CHARS else ()


def _has_numbers(row: PageLine) -> bool:
    """Return whether half of the cells after the first are numbers, and not only years."""
    _, *cells = row.text.split("\t")
    numbers = [cell for cell in cells if _NUMBER.fullmatch(cell.strip())]
    is_data = not all(_YEAR.fullmatch(cell.strip()) for cell in numbers)
    return bool(cells) and is_data and 2 * len(numbers) >= len(cells)


def _usual_cells(rows: Sequence[PageLine]) -> int:
    return Counter(row.text.count("\t") for row in rows).most_common(1)[0][0]


def _left(rows: Sequence[PageLine]) -> float:
    return min(row.rect[0] for row in rows)
