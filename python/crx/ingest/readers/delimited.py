"""Reader of tables as text, CSV and TSV: as written, under a heading of the columns' names.

The names are those of the first row, unless it has a number or an empty cell. They are the label
of a heading over all rows, so that the outline of each chunk names the columns. Rows are marks,
numbered from 1 without the row of names; a quoted cell may have several lines.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence

from crx.ingest.readers.decode import decode
from crx.ingest.readers.file_title import name_title
from crx.types import Document, Mark, Scalar

extensions = (".csv", ".tsv", ".tab")

# Rows that are numbered; the lines of a longer table are still cited.
_MOST_ROWS = 50_000
_LABEL_CHARS = 200
_NUMBER = re.compile(r"[\s\d.,%$€£+()/:-]*")


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield the text as written, with its rows and the names of its columns."""
    decoded = decode(data)
    text = decoded.text
    spans = list(_rows(text))
    names = _names(text[slice(*spans[0])]) if spans else ""
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


def _rows(text: str) -> Iterator[tuple[int, int]]:
    """Yield the span of each row that is not blank; a quoted cell may have several lines."""
    start = offset = quotes = 0
    for line in text.split("\n"):
        offset = min(offset + len(line) + 1, len(text))
        quotes += line.count('"')
        if quotes % 2 == 0 or offset == len(text):
            if text[start:offset].strip():
                yield start, offset
            start = offset


def _names(row: str) -> str:
    """Return the names of the columns, or "" if the row is one of data."""
    delimiter = max(",;\t|", key=row.count)
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
