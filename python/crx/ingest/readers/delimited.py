"""Reader of tables as text, CSV and TSV: as written, under a heading of the columns' names.

The names are those of the first row, unless it has a number or an empty cell. They are the label
of a heading over all rows, so that the outline of each chunk names the columns. Rows are marks,
numbered from 1 without the row of names; a quoted cell may have several lines.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from crx.ingest.readers.decode import decode
from crx.ingest.readers.file_title import name_title
from crx.types import Document, Mark, Scalar

extensions = (".csv", ".tsv", ".tab")

# Rows that are numbered; the lines of a longer table are still cited.
_MOST_ROWS = 50_000
_LABEL_CHARS = 200
_OPENING = 4000
_NAMED = re.compile(r"sep=(.)\s*(?:\n|\Z)")
_QUOTED = re.compile(r'"[^"]*"')
_NUMBER = re.compile(r"[\s\d.,'’%$€£¥₹₩₽+()/:-]*(?:(?<=\d)E[+-]?\d+)?")


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield the text as written, with its rows and the names of its columns."""
    decoded = decode(data)
    text = decoded.text
    delimiter = _delimiter(text)
    found = islice(_rows(text, delimiter), 1 if _NAMED.match(text) else 0, _MOST_ROWS + 1)
    spans = list(found)
    names = _names(text[slice(*spans[0])], delimiter) if spans else ""
    metadata: dict[str, Scalar | list[Scalar]] = {"format": "csv", "as_written": True}
    rows = spans[1 if names else 0 :][:_MOST_ROWS]
    marks = [Mark("row", start, end, str(row)) for row, (start, end) in enumerate(rows, start=1)]
    heading = [Mark("heading", 0, len(text), names, 1)] if names else []
    title = name_title(name)
    if title:
        metadata["title_from"] = "name"
    yield Document(
        uri=name,
        text=text,
        title=title,
        metadata={**decoded.metadata(), **metadata},
        marks=(*heading, *marks),
    )


def _rows(text: str, delimiter: str) -> Iterator[tuple[int, int]]:
    """Yield the span of each row that is not blank; a quoted cell may have several lines."""
    start = end = 0
    in_quotes = False
    while end < len(text):
        begin, end = end, text.find("\n", end) + 1 or len(text)
        line = text[begin:end]
        if '"' in line:
            in_quotes = _leaves_quoted(line, delimiter, in_quotes=in_quotes)
        if not in_quotes or end == len(text):
            if begin > start or not line.isspace():
                yield start, end
            start = end


def _leaves_quoted(line: str, delimiter: str, *, in_quotes: bool) -> bool:
    """Return whether a quoted cell is open after a line; a quote within a cell opens none."""
    for piece in line.split(delimiter):
        cell = piece.lstrip(" ")
        if in_quotes or cell.startswith('"'):
            quotes = cell.count('"') - (not in_quotes)  # a doubled one is part of the cell
            in_quotes = quotes % 2 == 0
    return in_quotes


def _delimiter(text: str) -> str:
    """Return the delimiter that is in most of the first lines, outside of quotes.

    Of several, the comma is the last: it is in decimal numbers, too. A first line may name it.
    """
    if named := _NAMED.match(text):
        return named[1]
    lines = _QUOTED.sub("", text[:_OPENING]).split("\n")
    return max("\t;|,", key=lambda each: sum(each in line for line in lines))


def _names(row: str, delimiter: str) -> str:
    """Return the names of the columns, or "" if the row is one of data."""
    try:
        cells = next(csv.reader([row.strip()], delimiter=delimiter), [])
    except csv.Error:  # a cell of more than 128 KiB
        return ""
    return column_names(cells)


def column_names(cells: Sequence[str]) -> str:
    """Return the cells of a row as the names of columns, "" if one is a number or empty."""
    if len(cells) < 2 or any(_NUMBER.fullmatch(cell) for cell in cells):
        return ""
    return ", ".join(" ".join(cell.split()) for cell in cells)[:_LABEL_CHARS]
