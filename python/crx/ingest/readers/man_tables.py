"""Tables of man pages, in the language of `tbl`: a line for each row, with tabs between cells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from crx.ingest.readers.man_text import ManText
from crx.ingest.readers.roff import Line, Roff

# Macros whose words are in two fonts that take turns, without blanks between them.
MIXED_FONTS = frozenset(("BR", "RB", "BI", "IB", "IR", "RI"))
_SEPARATOR = re.compile(r"tab ?\((.)\)")
# Stands among the lines of a table where another format begins.
_NEW_FORMAT = "\0"


def join_words(roff: Roff, line: Line) -> str:
    """Return the words of a macro as a text."""
    return ("" if line.macro in MIXED_FONTS else " ").join(roff.arguments(line.rest))


def lines_outside_tables(page: ManText, roff: Roff) -> Iterator[Line]:
    """Yield the lines outside of tables; add the rows of tables to the page."""
    rows: list[str] | None = None
    for line in roff.lines():
        if line.macro == "TS":
            rows = []
        elif line.macro == "TE" and rows is not None:
            page.add_rows(_table_rows(rows))
            rows = None
        elif rows is None:
            yield line
        elif line.macro == "T&":
            rows.append(_NEW_FORMAT)
        else:
            rows.append(join_words(roff, line) if line.macro else roff.plain(line.rest))
    if rows:
        page.add_rows(_table_rows(rows))


def _table_rows(lines: Iterable[str]) -> Iterator[str]:
    """Yield the rows of a table, without its options, its formats and its rules."""
    separator, row = "\t", ""
    cell: list[str] | None = None
    in_format = True
    for line in lines:
        if line == _NEW_FORMAT:
            in_format = True
        elif in_format:
            if match := _SEPARATOR.search(line):
                separator = match[1]
            in_format = not line.rstrip().endswith(".")
        elif cell is not None and not line.startswith("T}"):
            cell.append(line.strip())
        else:
            row = line if cell is None else f"{row}{' '.join(cell)}{line[2:]}"
            cell = None
            if row.endswith("T{"):
                row, cell = row[:-2], []
            elif row.strip("_= \t"):
                yield "\t".join(each.strip() for each in row.split(separator))
