"""Excerpts of documents longer than a model's token limit.

Consecutive chunks that fit together share one excerpt, so that its tokens are computed once. An
excerpt has the title and headings of the document, then the span of the chunks, extended to both
sides, first within their section, then beyond. Omissions are marked, and no chunk is cut.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from crx.types import Chunk, Document

Count = Callable[[Sequence[str]], list[int]]

GAP = "\n[…]\n"

# Divisors of the budget: headings take at most an eighth, and the span of the chunks half, so that
# the other half shows the text around them; a group of a quarter ends at the end of its section.
_HEADINGS = 8
_SPAN = 2
_ENOUGH = 4

# Two gaps and the line ends around them.
_GAP_TOKENS = 24
_BLOCK = re.compile(r"[^\n]*\n+|[^\n]+")
_BLOCK_CHARS = 1000


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The part of a document that goes with chunks `first` to `last` (positions, half open)."""

    text: str
    first: int
    last: int


def excerpts(
    document: Document, chunks: Sequence[Chunk], *, budget: int, count: Count
) -> list[Excerpt]:
    """Group the chunks and give each group an excerpt of at most `budget` tokens.

    `count` returns the number of tokens of each text. A chunk that alone exceeds the budget gets an
    excerpt that is too long, which the model then rejects.
    """
    outline, taken = _outline(document, budget=budget // _HEADINGS, count=count)
    offsets = _TokenOffsets.of(document.text, count)
    room = budget - taken - _GAP_TOKENS
    return [
        Excerpt(outline + offsets.around(document, chunks[first:last], room=room), first, last)
        for first, last in _groups(chunks, offsets, room=room)
    ]


def _groups(chunks: Sequence[Chunk], offsets: _TokenOffsets, *, room: int) -> list[tuple[int, int]]:
    groups: list[tuple[int, int]] = []
    first = 0
    for i in range(1, len(chunks)):
        with_next = offsets.tokens(chunks[first : i + 1])
        section_ends = chunks[i].section != chunks[i - 1].section
        enough = section_ends and offsets.tokens(chunks[first:i]) * _ENOUGH >= room
        if enough or with_next * _SPAN > room:
            groups.append((first, i))
            first = i
    return [*groups, (first, len(chunks))]


@dataclass(frozen=True, slots=True)
class _TokenOffsets:
    """Blocks of a text (lines, long ones in parts): the start of each, the tokens before each."""

    starts: tuple[int, ...]
    before: tuple[int, ...]

    @staticmethod
    def of(text: str, count: Count) -> _TokenOffsets:
        starts = [
            start
            for block in _BLOCK.finditer(text)
            for start in range(block.start(), block.end(), _BLOCK_CHARS)
        ]
        ends = [*starts[1:], len(text)]
        tokens = count([text[a:b] for a, b in zip(starts, ends, strict=True)])
        return _TokenOffsets((*starts, len(text)), tuple(itertools.accumulate(tokens, initial=0)))

    def blocks(self, start: int, end: int) -> tuple[int, int]:
        """Return the blocks, half open, that contain the span."""
        return (
            max(0, bisect.bisect_right(self.starts, start) - 1),
            min(bisect.bisect_left(self.starts, end), len(self.starts) - 1),
        )

    def tokens(self, chunks: Sequence[Chunk]) -> int:
        low, high = self.blocks(*_span(chunks))
        return self.before[high] - self.before[low]

    def around(self, document: Document, chunks: Sequence[Chunk], *, room: int) -> str:
        """Return the span of the chunks in the document, extended to `room` tokens."""
        low, high = self.blocks(*_span(chunks))
        section = _section(document, chunks[0])
        for within in (self.blocks(*section), (0, len(self.starts) - 1)):
            low, high = self._grow(low, high, within, room)
        start, end = self.starts[low], self.starts[high]
        left = GAP * (start > 0)
        right = GAP * (end < len(document.text))
        return left + document.text[start:end] + right

    def _grow(self, low: int, high: int, within: tuple[int, int], room: int) -> tuple[int, int]:
        """Add blocks after and before in turn, inside `within`, while they fit."""
        after = before = True
        while after or before:
            after = high < within[1] and self.before[high + 1] - self.before[low] <= room
            high += after
            before = low > within[0] and self.before[high] - self.before[low - 1] <= room
            low -= before
        return low, high


def _span(chunks: Sequence[Chunk]) -> tuple[int, int]:
    return min(c.start for c in chunks), max(c.end for c in chunks)


def _section(document: Document, chunk: Chunk) -> tuple[int, int]:
    if not chunk.section:
        return chunk.start, chunk.end
    mark = document.marks[chunk.section - 1]
    return mark.start, mark.end


def _outline(document: Document, *, budget: int, count: Count) -> tuple[str, int]:
    """Return title and headings, as deep as the budget allows, and their number of tokens."""
    title = f"{document.title}\n" if document.title else ""
    marks = [m for m in document.marks if m.is_section]
    levels = sorted({m.level for m in marks})
    candidates = [title]
    for deepest in levels:
        lines = (f"{'  ' * (m.level - 1)}{m.label}\n" for m in marks if m.level <= deepest)
        candidates.append(title + "".join(lines))
    sizes = count(candidates)
    fitting = [i for i, size in enumerate(sizes) if size <= budget]
    if not fitting:
        return "", 0
    return candidates[fitting[-1]], sizes[fitting[-1]]
