"""Plain text: the headings that people write without markup.

Contracts, laws, papers and manuals number their sections or set headings in capitals. A wrong
heading misleads every chunk below it and a missed one costs little, so each rule asks for more
than it needs to: a numbered heading must continue a numbering, a line in capitals must stand alone
and not recur as page heads do, and what reads like a sentence or a line of a table of contents is
neither.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crx.ingest.readers.decode import decode
from crx.ingest.readers.sections import Heading, sections
from crx.types import Document, Mark

extensions = (".txt", ".text", ".rst", ".adoc", ".asciidoc", ".org", ".log", ".tex")

# A text above this is a log or a dump, and its headings would cost more than they are worth.
LARGEST = 20_000_000
# Where a heading may start: a line, or what follows a wide gap (texts that were taken from paged
# formats often run many paragraphs into one line, and leave the gaps). A pattern that begins with
# literal characters searches ten times faster, so a text is given a newline first.
_LINE = re.compile(r"\n[ \t\f]*(?=[\dASCPTE])")
_WIDE = re.compile(r"   +")
_FIRST = frozenset("0123456789ASCPTE")
_NUMBER = re.compile(r"(\d{1,3}(?:\.\d{1,3}){0,4})(\.|\))?[ \t]+")
_NAMED = re.compile(
    r"(ARTICLE|SECTION|CHAPTER|PART|TITLE|EXHIBIT|SCHEDULE|APPENDIX|ANNEX|ATTACHMENT)[ \t]+"
    r"([IVXLC]{1,7}|\d{1,3}(?:\.\d{1,3}){0,3}|[A-Z](?:-\d{1,2})?)"
    r"(?![\w(])[ \t]*([.:\u2013\u2014-]{0,2})[ \t]*",
    re.IGNORECASE,
)
# A title: up to a line's end, a wide gap, or the stop that ends a heading run into its paragraph.
# A number in it is that of a heading which follows without a gap.
_TITLE = re.compile(
    r"([^\n]{1,100}?)"
    r"(?:[ \t]*(?=\n|\Z| {3,}|\t)|[.:](?=[ \t]{1,2}\S)|(?=[ \t]+\d{1,3}\.\d{1,3}\b))"
)
_WORD = re.compile(r"[^\W\d_][\w'\u2019&/-]*")
# Words that a title in Title Case may leave small.
_SMALL = frozenset((
    "a", "an", "and", "as", "at", "but", "by", "de", "des", "du", "et", "for", "from", "in",
    "into", "la", "le", "les", "of", "on", "or", "over", "per", "the", "to", "under", "upon",
    "und", "via", "vs", "with", "within", "without", "not", "no", "its", "any", "all",
    "other", "than", "that",
))  # fmt: skip
_COMPANY = re.compile(
    r"\b(?:inc|ltd|llc|l\.l\.c|corp|corporation|limited|co|company|l\.p|lp|llp|gmbh|plc|n\.a|s\.a)\.?\s*$",
    re.I,
)
_UNDERLINED = re.compile(r"\n[ \t]*([=\-~^\"*+#])\1{2,}[ \t]*(?=\n|\Z)")
_CAPITAL = re.compile(r"\n[ \t\f]*([^\W\d_a-z][^a-z\n]{3,89})(?=\n|\Z)")
_BLANK = re.compile(r"\n[^\S\n]*(?=\n|\Z)")
_LONGEST = 100  # characters of a line that is a heading
_TOP = frozenset(
    (
        "article",
        "chapter",
        "part",
        "title",
        "exhibit",
        "schedule",
        "appendix",
        "annex",
        "attachment",
    )
)
_GAP = re.compile(r"\n| {3,}")
# Lines of an opening that are set as a title is, and are none.
_NO_TITLE = re.compile(
    r"(?:execution|confidential|draft|final|exhibit|(?:table of )?contents|page|recitals|whereas"
    r"|witness|background|introduction|abstract|definitions|portions|certain|by and|between|and"
    r"|redacted|securities)\b|.*\.$",
    re.IGNORECASE,
)
_INNER_NUMBER = re.compile(r"\s\d{1,3}(?:\s|$)")
_NEXT_LINE = re.compile(r"[ \t]*\n\s*([^\n]{1,200})")
_REFERS = re.compile(
    r"\b(?:sections?|articles?|clauses?|paragraphs?|exhibits?|schedules?)$", re.IGNORECASE
)
_OPENING = 3000
_CONTENTS_GAP = 60  # characters at most between entries of a table of contents
_RECURS = 3  # a line in capitals seen this often is the head or foot of a page


@dataclass(frozen=True, slots=True)
class _Numbered:
    """A heading that may go on with a numbering."""

    heading: Heading
    number: tuple[int, ...]
    title: str
    dotted: bool


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield the text with its sections."""
    decoded = decode(data)
    metadata = {**decoded.metadata(), "format": "text"}
    if len(decoded.text) > LARGEST:
        metadata["unstructured"] = f"larger than {LARGEST:,} characters"
    yield Document(
        uri=name,
        text=decoded.text,
        title=title(decoded.text),
        metadata=metadata,
        marks=headings(decoded.text),
    )


def title(text: str) -> str:
    """Return the first line of the opening that is set as a title, or ""."""
    opening = "\n" + text[:_OPENING]
    lines = sorted((*_underlined(opening), *_capitals(opening)), key=lambda heading: heading.start)
    pieces = (piece.strip() for piece in _GAP.split(opening))
    labels = [
        *(line.label for line in lines),
        *(" ".join(piece.split()) for piece in pieces if " " in piece and _is_capital(piece)),
    ]
    return next((label for label in labels if not _NO_TITLE.match(label)), "")


def headings(text: str) -> tuple[Mark, ...]:
    """Return the sections of underlined, numbered, named and capital headings.

    A text above `LARGEST` characters has none.
    """
    if len(text) > LARGEST:
        return ()
    padded = "\n" + text
    starts = _starts(padded)
    by_start: dict[int, Heading] = {}
    taken: set[int] = set()
    for heading, below in _named(padded, starts):
        by_start[heading.start] = heading
        taken.add(below)
    for heading in (*_numbered(padded, starts), *_underlined(padded), *_capitals(padded)):
        if heading.start not in taken:
            by_start.setdefault(heading.start, heading)
    found = [
        Heading(start - 1, heading.label, heading.level)
        for start, heading in sorted(by_start.items())
    ]
    return sections(_without_contents(found), end=len(text))


def _without_contents(found: Sequence[Heading]) -> list[Heading]:
    """Return the headings less the entries of a table of contents.

    Nothing but the next entry follows one, and a later heading says the same.
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


def _starts(text: str) -> list[int]:
    """Return where a numbered or named heading may start."""
    starts = {match.end() for match in _LINE.finditer(text)}
    for gap in _WIDE.finditer(text):
        after = gap.end()
        if text[after : after + 1] in _FIRST and not text[gap.start() - 1].isspace():
            starts.add(after)
    return sorted(starts)


def _numbered(text: str, starts: Sequence[int]) -> list[Heading]:
    """`3. TERM`, `3.2 Payment. The buyer ...`: those that go on with a numbering."""
    candidates = list(_number_candidates(text, starts))
    numbers: dict[str, set[tuple[int, ...]]] = defaultdict(set)
    for candidate in candidates:
        numbers[candidate.title].add(candidate.number)
    found: list[Heading] = []
    last: tuple[int, ...] = ()
    for candidate in candidates:
        page_head = not candidate.dotted and len(numbers[candidate.title]) >= _RECURS
        if not page_head and _continues(last, candidate.number, dotted=candidate.dotted):
            found.append(candidate.heading)
            last = candidate.number
    return found


def _number_candidates(text: str, starts: Sequence[int]) -> Iterator[_Numbered]:
    for start in starts:
        if (match := _NUMBER.match(text, start)) and (title := _title(text, match.end())):
            number, dotted = _parts(match[1]), "." in match[0]
            if not dotted and not (title.isupper() and _line_is(title, text, match.end())):
                continue  # a row of a table, more often than not
            heading = Heading(start, f"{match[0].strip()} {title}", max(1, len(number)))
            yield _Numbered(heading, number, title, dotted)


def _named(text: str, starts: Sequence[int]) -> Iterator[tuple[Heading, int]]:
    """`ARTICLE IV`, `Section 3.2: Payment`; and where the line that titles it starts, or -1."""
    for start in starts:
        match = _NAMED.match(text, start)
        if not match or not match[1][0].isupper() or match[2] != match[2].upper():
            continue
        level = 1 if match[1].lower() in _TOP else match[2].count(".") + 1
        label = f"{match[1]} {match[2]}"
        if _at_end(text, match.end()):
            below, at = _below(text, match.end())
            if below or not match[3]:  # "EXHIBIT G." is the end of a sentence
                yield Heading(start, f"{label} {below}".strip(), level), at
        elif title := _title(text, match.end()):
            yield Heading(start, f"{label} {title}", level), -1


def _line_is(title: str, text: str, at: int) -> bool:
    """Is a title all that the line still says?"""
    return " ".join(text[at : at + 200].partition("\n")[0].split()) == title


def _at_end(text: str, at: int) -> bool:
    return at >= len(text) or text[at] == "\n" or text.startswith("   ", at)


def _below(text: str, at: int) -> tuple[str, int]:
    """Return the next line that is not blank, where it is a title in capitals, and its start."""
    match = _NEXT_LINE.match(text, at)
    if match and _is_capital(line := match[1].strip()):
        return " ".join(line.split()), match.start(1)
    return "", -1


def _title(text: str, at: int) -> str:
    match = _TITLE.match(text, at)
    title = " ".join(match[1].split()).removesuffix(".").removesuffix(":") if match else ""
    return title if _is_title(title) else ""


def _is_title(title: str) -> bool:
    """Is this a title: short, in capitals or Title Case, no sentence, no line of contents?"""
    words = _WORD.findall(title)
    if not words or len(words) > 12 or len(title) > 90 or not title[0].isalpha():
        return False
    if (
        ".." in title
        or "__" in title
        or title[-1] in ",;("
        or _INNER_NUMBER.search(title)
        or _REFERS.search(title)
    ):
        return False
    if title.lower() in _TOP:
        return False
    heavy = [word for word in words if word.lower() not in _SMALL]
    return bool(heavy) and words[0][0].isupper() and all(word[0].isupper() for word in heavy)


def _continues(last: tuple[int, ...], number: tuple[int, ...], *, dotted: bool) -> bool:
    """Does a number go on from the last: its first child, or a sibling of it or of an ancestor?

    Up to two numbers may be missing, since a heading may have been no title. A numbering may start
    anew at 1, as that of an exhibit does.
    """
    if not number or 0 in number or (not dotted and not last and number != (1,)):
        return False
    depth = len(number)
    if number[:-1] == last[: depth - 1] and len(last) >= depth:
        return 0 < number[-1] - last[depth - 1] <= 3 or number == (1,)
    if depth == len(last) + 1 and number[:-1] == last:
        return number[-1] <= 3
    if depth == 1:
        return number[0] <= 2
    # The parent was no title: 7.1 after 6 or 6.4.
    return bool(last) and depth == 2 and 0 < number[0] - last[0] <= 3 and number[1] <= 3


def _parts(written: str) -> tuple[int, ...]:
    """Return the parts of a number; a closing zero is none: 2.0 is 2."""
    parts = [int(part) for part in written.split(".")]
    return tuple(parts[:-1] if len(parts) > 1 and parts[-1] == 0 else parts)


def _capitals(text: str) -> list[Heading]:
    """Lines in capitals that stand alone between blank lines."""
    found = [
        Heading(match.start(1), " ".join(match[1].split()), 1)
        for match in _CAPITAL.finditer(text)
        if _is_capital(match[1].rstrip())
        and not _line_before(text, match.start()).strip()
        and (match.end() == len(text) or _BLANK.match(text, match.end()))
    ]
    seen = Counter(heading.label for heading in found)
    return [heading for heading in found if seen[heading.label] < _RECURS]


def _line_before(text: str, newline: int) -> str:
    """Return the line that a newline ends; of one that is too long for a heading, its end."""
    return text[max(text.rfind("\n", 0, newline) + 1, newline - _LONGEST - 1) : newline]


def _is_capital(line: str) -> bool:
    if len(line) > 90 or len(words := line.split()) > 12 or not line.isupper():
        return False
    letters = sum(map(str.isalpha, line))
    return (
        letters >= 4
        and letters * 10 >= 7 * sum(map(len, words))
        and line[0].isalpha()
        and line[-1] not in ",;:-(\"'"
        and "   " not in line
        and max(map(len, words)) > 2
        and not _INNER_NUMBER.search(line)
        and not _COMPANY.search(line)
    )


def _underlined(text: str) -> list[Heading]:
    """A line over a line of one mark that is about as long, as in reStructuredText."""
    found: list[Heading] = []
    order: dict[str, int] = {}
    for match in _UNDERLINED.finditer(text):
        line = _line_before(text, match.start())
        label = line.strip()
        fits = len(line) <= _LONGEST and abs(len(match[0].strip()) - len(label)) <= 2
        if fits and label[:1].isalnum():
            level = order.setdefault(match[1], len(order) + 1)
            found.append(Heading(match.start() - len(line), label, level))
    return found
