"""Headings that plain text sets off: lines in capitals and underlined lines."""

from __future__ import annotations

import re
from collections import Counter

from crx.ingest.readers.sections import Heading

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
RECURRING = 3


def find_capitals(text: str) -> list[Heading]:
    """Return lines in capitals that stand alone between blank lines."""
    found = [
        Heading(match.start(1), " ".join(match[1].split()), 1)
        for match in _CAPITAL.finditer(text)
        if is_capital_line(match[1].rstrip())
        and not previous_line(text, match.start()).strip()
        and (match.end() == len(text) or _BLANK.match(text, match.end()))
    ]
    seen = Counter(heading.label for heading in found)
    return [heading for heading in found if seen[heading.label] < RECURRING]


def previous_line(text: str, newline: int) -> str:
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
        line = previous_line(text, match.start())
        label = line.strip()
        fits = len(line) <= _LONGEST and abs(len(match[0].strip()) - len(label)) <= 2
        if fits and label[:1].isalnum():
            level = order.setdefault(match[1], len(order) + 1)
            found.append(Heading(match.start() - len(line), label, level))
    return found
