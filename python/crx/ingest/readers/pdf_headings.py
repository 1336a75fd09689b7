"""Headings of a PDF, from the size and weight of its type."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from crx.ingest.readers.headings import Heading
from crx.ingest.readers.pdf_page import PageLine

# How much larger than the text a heading is, and how far sizes of one level differ.
_LARGER = 1.08
_STEP = 0.5  # points
_LEVELS = 5
_LONGEST = 120  # characters
_BOLD_WORDS = 12
# Where more of the lines than this look like headings, they are none.
_MOST_SHARE = 0.25
_LETTERS = 3
_ENDS_SENTENCE = re.compile(r"[.,;]$")
_LISTED = re.compile(r"[•·▪–—*-]\s|\(?[a-z0-9]{1,2}[.)]\s*$")


def body_size(pages: Sequence[Sequence[PageLine]]) -> float:
    """Return the size of most of the text, in points; 0 if there is none."""
    sizes: Counter[float] = Counter()
    for page in pages:
        for line in page:
            sizes[_rounded(line.size)] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def _rounded(size: float) -> float:
    return round(size / _STEP) * _STEP


class HeadingFinder:
    """Decides which lines of a document are headings, and of which level."""

    def __init__(self, pages: Sequence[Sequence[PageLine]], *, size: float) -> None:
        self._size = size
        lines = [line for page in pages for line in page if not line.is_row]
        bold = sum(len(line.text) for line in lines if line.is_bold)
        self._takes_bold = bold < _MOST_SHARE * sum(len(line.text) for line in lines)
        found = [line for line in lines if self._is_candidate(line)]
        self._is_none = len(found) > _MOST_SHARE * max(len(lines), 8)
        sizes = sorted({_rounded(line.size) for line in found if self._is_larger(line)})
        self._levels = {each: level for level, each in enumerate(reversed(sizes), start=1)}

    def headings(self, lines: Sequence[PageLine], starts: Sequence[int]) -> list[Heading]:
        """Return the headings among the lines of a page; `starts` are their positions.

        Lines of one size that follow each other are one heading.
        """
        if self._is_none:
            return []
        found: list[Heading] = []
        before: PageLine | None = None
        for line, start in zip(lines, starts, strict=True):
            if not self._is_candidate(line) or (not self._is_larger(line) and not line.opens):
                continues = (
                    before is not None
                    and not line.opens
                    and self._is_candidate(line)
                    and _rounded(line.size) == _rounded(before.size)
                )
                if not continues:
                    before = None
                    continue
            label = " ".join(line.text.split())
            joins = before is not None and not line.opens and self._alike(before, line)
            if joins and found and len(found[-1].label) + len(label) <= _LONGEST:
                last = found[-1]
                found[-1] = Heading(last.start, f"{last.label} {label}", last.level)
            else:
                found.append(Heading(start, label, self._level(line)))
            before = line
        return found

    def _alike(self, before: PageLine, line: PageLine) -> bool:
        return (
            _rounded(before.size) == _rounded(line.size)
            and before.is_bold == line.is_bold
            and before.block == line.block
        )

    def _level(self, line: PageLine) -> int:
        level = self._levels.get(_rounded(line.size)) if self._is_larger(line) else None
        return min(level or len(self._levels) + 1, _LEVELS)

    def _is_larger(self, line: PageLine) -> bool:
        return line.size >= _LARGER * self._size and line.size - self._size >= _STEP

    def _is_candidate(self, line: PageLine) -> bool:
        text = line.text
        if line.is_row or len(text) > _LONGEST or sum(map(str.isalpha, text)) < _LETTERS:
            return False
        if _ENDS_SENTENCE.search(text) or _LISTED.match(text):
            return False
        if self._is_larger(line):
            return True
        return (
            self._takes_bold
            and line.is_bold
            and line.size >= 0.95 * self._size
            and len(text.split()) <= _BOLD_WORDS
        )
