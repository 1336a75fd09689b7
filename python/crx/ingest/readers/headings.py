"""Headings of plain text, numbered or set off by capitals and lines, and the sections they open.

A numbered heading (`3.2 Payment`, `ARTICLE IV`, `Section 3.2: Payment`) must continue a numbering,
and its title must be in capitals or Title Case.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from crx.types import Mark


@dataclass(frozen=True, slots=True)
class Heading:
    """The position, label and level of a heading; level 1 is the outermost."""

    start: int
    label: str
    level: int


def sections(headings: Sequence[Heading], *, end: int) -> tuple[Mark, ...]:
    """Return the section of each heading, in the order of the text.

    A section runs to the next heading of its level or above, or to `end`, the end of the text.
    """
    ends = [end] * len(headings)
    open_: list[int] = []
    for i, heading in enumerate(headings):
        while open_ and headings[open_[-1]].level >= heading.level:
            ends[open_.pop()] = heading.start
        open_.append(i)
    return tuple(
        Mark("heading", heading.start, stop, heading.label, heading.level)
        for heading, stop in zip(headings, ends, strict=True)
        if heading.start < stop
    )


def in_order(marks: Iterable[Mark]) -> tuple[Mark, ...]:
    """Return marks by start, the outer before the inner."""
    return tuple(sorted(marks, key=lambda mark: (mark.start, -mark.end, mark.level)))


_COMPANY = re.compile(
    r"\b(?:inc|ltd|llc|l\.l\.c|corp|corporation|limited|co|company|l\.p|lp|llp|gmbh|plc|n\.a|s\.a)\.?\s*$",
    re.I,
)
_UNDERLINED = re.compile(r"\n[ \t]*([=\-~^\"*+#])\1{2,}[ \t]*(?=\n|\Z)")
_CAPITAL = re.compile(r"\n[ \t\f]*([^\W\d_a-z][^a-z\n]{3,89})(?=\n|\Z)")
_BLANK = re.compile(r"\n[^\S\n]*(?=\n|\Z)")
_LONGEST = 100  # characters of a line that is a heading
_INNER_NUMBER = re.compile(r"\s\d{1,3}(?:\s|$)")
# A line that occurs so often is the head or foot of a page.
_RECURRING = 3


def find_capitals(text: str) -> list[Heading]:
    """Return lines in capitals that stand alone between blank lines."""
    found = [
        Heading(match.start(1), " ".join(match[1].split()), 1)
        for match in _CAPITAL.finditer(text)
        if is_capital_line(match[1].rstrip())
        and not _previous_line(text, match.start()).strip()
        and (match.end() == len(text) or _BLANK.match(text, match.end()))
    ]
    seen = Counter(heading.label for heading in found)
    return [heading for heading in found if seen[heading.label] < _RECURRING]


def _previous_line(text: str, newline: int) -> str:
    """Return the line before a newline; only its end if it is too long for a heading."""
    return text[max(text.rfind("\n", 0, newline) + 1, newline - _LONGEST - 1) : newline]


def is_capital_line(line: str) -> bool:
    """Return True for a short line in capitals that is no company's name or row of numbers."""
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


def find_underlined(text: str) -> list[Heading]:
    """Return lines above a row of one punctuation mark of about their length."""
    found: list[Heading] = []
    order: dict[str, int] = {}
    for match in _UNDERLINED.finditer(text):
        line = _previous_line(text, match.start())
        label = line.strip()
        fits = len(line) <= _LONGEST and abs(len(match[0].strip()) - len(label)) <= 2
        if fits and label[:1].isalnum():
            level = order.setdefault(match[1], len(order) + 1)
            found.append(Heading(match.start() - len(line), label, level))
    return found


# A heading may start at a line's start or after a wide gap (texts extracted from paged formats
# often have many paragraphs on one line, with gaps between). A pattern that begins with a literal
# character searches ten times faster, so the text is prefixed with a newline.
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
# A title ends at a line's end, at a wide gap, at the period or colon before the paragraph on the
# same line, or at the number of a heading that follows without a gap.
_TITLE = re.compile(
    r"([^\n]{1,100}?)"
    r"(?:[ \t]*(?=\n|\Z| {3,}|\t)|[.:](?=[ \t]{1,2}\S)|(?=[ \t]+\d{1,3}\.\d{1,3}\b))"
)
_WORD = re.compile(r"[^\W\d_][\w'\u2019&/-]*")
# Words that are not capitalized in Title Case.
_SMALL = frozenset((
    "a", "an", "and", "as", "at", "but", "by", "de", "des", "du", "et", "for", "from", "in",
    "into", "la", "le", "les", "of", "on", "or", "over", "per", "the", "to", "under", "upon",
    "und", "via", "vs", "with", "within", "without", "not", "no", "its", "any", "all",
    "other", "than", "that",
))  # fmt: skip
_NEXT_LINE = re.compile(r"[ \t]*\n\s*([^\n]{1,200})")
_REFERS = re.compile(
    r"\b(?:sections?|articles?|clauses?|paragraphs?|exhibits?|schedules?)$", re.IGNORECASE
)
_TOP = frozenset((
    "article", "chapter", "part", "title", "exhibit", "schedule", "appendix", "annex", "attachment",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Numbered:
    """A heading that may continue a numbering."""

    heading: Heading
    number: tuple[int, ...]
    title: str
    dotted: bool


def heading_starts(text: str) -> list[int]:
    """Return the offsets at which a numbered or named heading may start."""
    starts = {match.end() for match in _LINE.finditer(text)}
    for gap in _WIDE.finditer(text):
        after = gap.end()
        if text[after : after + 1] in _FIRST and not text[gap.start() - 1].isspace():
            starts.add(after)
    return sorted(starts)


def find_numbered(text: str, starts: Sequence[int]) -> list[Heading]:
    """Return headings such as `3. TERM` or `3.2 Payment. The ...` that continue a numbering."""
    candidates = list(_number_candidates(text, starts))
    numbers: dict[str, set[tuple[int, ...]]] = defaultdict(set)
    for candidate in candidates:
        numbers[candidate.title].add(candidate.number)
    found: list[Heading] = []
    last: tuple[int, ...] = ()
    for candidate in candidates:
        page_head = not candidate.dotted and len(numbers[candidate.title]) >= _RECURRING
        if not page_head and _continues(last, candidate.number, dotted=candidate.dotted):
            found.append(candidate.heading)
            last = candidate.number
    return found


def _number_candidates(text: str, starts: Sequence[int]) -> Iterator[_Numbered]:
    for start in starts:
        if (match := _NUMBER.match(text, start)) and (title := _title(text, match.end())):
            number, dotted = _parse_number(match[1]), "." in match[0]
            if not dotted and not (title.isupper() and _ends_line(title, text, match.end())):
                continue  # a row of a table, more often than not
            heading = Heading(start, f"{match[0].strip()} {title}", max(1, len(number)))
            yield _Numbered(heading, number, title, dotted)


def find_named(text: str, starts: Sequence[int]) -> Iterator[tuple[Heading, int]]:
    """Yield headings such as `ARTICLE IV`, with the offset of a title on the next line, or -1."""
    for start in starts:
        match = _NAMED.match(text, start)
        if not match or not match[1][0].isupper() or match[2] != match[2].upper():
            continue
        level = 1 if match[1].lower() in _TOP else match[2].count(".") + 1
        label = f"{match[1]} {match[2]}"
        if _at_end(text, match.end()):
            below, at = _title_below(text, match.end())
            if below or not match[3]:  # "EXHIBIT G." is the end of a sentence
                yield Heading(start, f"{label} {below}".strip(), level), at
        elif title := _title(text, match.end()):
            yield Heading(start, f"{label} {title}", level), -1


def _ends_line(title: str, text: str, at: int) -> bool:
    """Return True if nothing follows a title on its line."""
    return " ".join(text[at : at + 200].partition("\n")[0].split()) == title


def _at_end(text: str, at: int) -> bool:
    return at >= len(text) or text[at] == "\n" or text.startswith("   ", at)


def _title_below(text: str, at: int) -> tuple[str, int]:
    """Return the next line with text and its offset if it is in capitals, else "" and -1."""
    match = _NEXT_LINE.match(text, at)
    if match and is_capital_line(line := match[1].strip()):
        return " ".join(line.split()), match.start(1)
    return "", -1


def _title(text: str, at: int) -> str:
    match = _TITLE.match(text, at)
    title = " ".join(match[1].split()).removesuffix(".").removesuffix(":") if match else ""
    return title if _is_title(title) else ""


def _is_title(title: str) -> bool:
    """Return True for a short text in capitals or Title Case that is no sentence."""
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
    """Return True if a number continues the last: its first child, or next to it or an ancestor.

    Up to two numbers may be missing, since their headings may have been refused as titles. A
    numbering may start again at 1, as that of an exhibit does.
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
    # The parent was refused as a title: 7.1 after 6 or 6.4.
    return bool(last) and depth == 2 and 0 < number[0] - last[0] <= 3 and number[1] <= 3


def _parse_number(written: str) -> tuple[int, ...]:
    """Return the parts of a number without a closing zero: 2.0 is 2."""
    parts = [int(part) for part in written.split(".")]
    return tuple(parts[:-1] if len(parts) > 1 and parts[-1] == 0 else parts)
