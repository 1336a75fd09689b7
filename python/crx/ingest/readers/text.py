"""Reader of plain text: headings that are written without markup.

Contracts, laws, papers and manuals number their sections or set headings in capitals. A wrong
heading misleads every chunk below it, and a missed one costs little. The rules are therefore
strict: a numbered heading must continue a numbering, a line in capitals must stand alone and not
recur as the heads of pages do, and sentences and lines of a table of contents are no headings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from crx.ingest.readers.data_runs import cut_lock_file, without_base64
from crx.ingest.readers.decode import TERMINAL_CODES, decode
from crx.ingest.readers.headings import (
    Heading,
    find_capitals,
    find_named,
    find_numbered,
    find_underlined,
    heading_starts,
    is_capital_line,
    sections,
)
from crx.types import Document, Mark

extensions = (".txt", ".text", ".log")

# A longer text is a log or a dump; its headings would take long to find and help little.
LARGEST = 20_000_000
_GAP = re.compile(r"\n| {3,}")
# Lines of an opening that look like a title and are none.
_NO_TITLE = re.compile(
    r"(?:execution|confidential|draft|final|exhibit|(?:table of )?contents|page|recitals|whereas"
    r"|witness|background|introduction|abstract|definitions|portions|certain|by and|between|and"
    r"|redacted|securities|united states(?: of america)?$|washington|form \w*\d|commission file"
    r"|commonwealth of|state of|as filed|name$|synopsis|summary$|notice$|copyright)\b"
    r"|.*\.$|[\W\d_]*$",
    re.IGNORECASE,
)
_OPENING = 3000
_CONTENTS_GAP = 60  # characters at most between entries of a table of contents


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield the text with its sections."""
    decoded = decode(data)
    text = re.sub(TERMINAL_CODES, "", decoded.text)
    text = without_base64(cut_lock_file(text, name=name))
    metadata = {**decoded.metadata(), "format": "text"}
    if len(text) > LARGEST:
        metadata["unstructured"] = f"larger than {LARGEST:,} characters"
    yield Document(uri=name, text=text, title=title(text), metadata=metadata, marks=headings(text))


def title(text: str) -> str:
    """Return the first line of the opening that is set as a title, or ""."""
    opening = "\n" + text[:_OPENING]
    lines = sorted(
        (*find_underlined(opening), *find_capitals(opening)), key=lambda heading: heading.start
    )
    pieces = (piece.strip() for piece in _GAP.split(opening))
    labels = [
        *(line.label for line in lines),
        *(" ".join(piece.split()) for piece in pieces if " " in piece and is_capital_line(piece)),
    ]
    return next((label for label in labels if is_title(label)), "")


def is_title(line: str) -> bool:
    """Return True unless a line is one that opens many documents, a sentence, or has no letters."""
    return not _NO_TITLE.match(line)


def headings(text: str) -> tuple[Mark, ...]:
    """Return the sections of underlined, numbered, named and capital headings.

    A text above `LARGEST` characters has none.
    """
    if len(text) > LARGEST:
        return ()
    padded = "\n" + text
    starts = heading_starts(padded)
    by_start: dict[int, Heading] = {}
    taken: set[int] = set()
    for heading, below in find_named(padded, starts):
        by_start[heading.start] = heading
        taken.add(below)
    for heading in (
        *find_numbered(padded, starts),
        *find_underlined(padded),
        *find_capitals(padded),
    ):
        if heading.start not in taken:
            by_start.setdefault(heading.start, heading)
    found = [
        Heading(start - 1, heading.label, heading.level)
        for start, heading in sorted(by_start.items())
    ]
    return sections(_without_contents(found), end=len(text))


def _without_contents(found: Sequence[Heading]) -> list[Heading]:
    """Return the headings without the entries of a table of contents.

    An entry is directly followed by the next one, and a later heading has the same label.
    """
    kept: list[Heading] = []
    later: set[str] = set()
    after: Heading | None = None
    for heading in reversed(found):
        empty = after and after.start - heading.start - len(heading.label) <= _CONTENTS_GAP
        if not (empty and heading.label in later):
            kept.append(heading)
        later.add(heading.label)
        after = heading
    return kept[::-1]
