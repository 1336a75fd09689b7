"""Splitting of a document into chunks, and the sections around a position."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

from crx import _native
from crx._arrays import to_array
from crx.types import Chunk, Document, Mark

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Rows and captions are short lines of which a chunk holds many.
_UNCUT = frozenset(("row", "time"))


def split(
    document: Document,
    *,
    token_starts: NDArray[np.uint32],
    budget: int,
    overlap: int = 0,
    in_chars: bool = False,
) -> list[Chunk]:
    """Return the document's chunks in order: its own spans if it has some, else new ones.

    `token_starts` holds the code point of each of the embedder's tokens; `budget` and `overlap`
    count those tokens, or characters with `in_chars`.
    """
    if document.chunks is not None:
        spans = to_array(document.chunks, "uint32").reshape(-1, 2)
    else:
        spans = _native.split(
            document.text,
            cuts=_cuts(document.marks),
            token_starts=None if in_chars else token_starts,
            budget=budget,
            overlap=overlap,
        )
    tokens = token_starts.searchsorted(spans)
    sections = sections_at(document.marks, spans[:, 0].tolist())
    return [
        Chunk(ordinal, start, end, first, last, section, document.text[start:end])
        for ordinal, ((start, end), (first, last), section) in enumerate(
            zip(spans.tolist(), tokens.tolist(), sections, strict=True)
        )
    ]


def sections_at(marks: tuple[Mark, ...], positions: list[int]) -> list[int]:
    """Return for each ascending position 1 + the index of the innermost mark around it, or 0.

    Only headings and definitions are sections.
    """
    waiting = sorted(
        (i for i, mark in enumerate(marks) if mark.is_section),
        key=lambda i: (-marks[i].start, marks[i].end),
    )
    around: list[int] = []
    sections = []
    for position in positions:
        while waiting and marks[waiting[-1]].start <= position:
            around.append(waiting.pop())
        while around and marks[around[-1]].end <= position:
            around.pop()
        sections.append(around[-1] + 1 if around else 0)
    return sections


class SectionLabels:
    """The labels of the headings and definitions around any position of a document.

    A position costs the depth of what is around it, not the number of sections.
    """

    def __init__(self, marks: Sequence[Mark]) -> None:
        sections = (mark for mark in marks if mark.is_section)
        self._sections = sorted(sections, key=lambda mark: (mark.start, -mark.end))
        self._starts = [mark.start for mark in self._sections]
        # The section before each one that is still open where it starts, -1 for none.
        self._outer: list[int] = []
        open_: list[int] = []
        for at, mark in enumerate(self._sections):
            while open_ and self._sections[open_[-1]].end <= mark.start:
                open_.pop()
            self._outer.append(open_[-1] if open_ else -1)
            open_.append(at)

    def around(self, position: int) -> tuple[str, ...]:
        """Return the labels around a position, outermost first."""
        labels = []
        at = bisect_right(self._starts, position) - 1
        while at >= 0:
            if position < self._sections[at].end:
                labels.append(self._sections[at].label)
            at = self._outer[at]
        return tuple(reversed(labels))


def _cuts(marks: tuple[Mark, ...]) -> NDArray[np.uint32]:
    """Return (m, 2): the positions where marks begin and end, with the mark's level from 1."""
    cuts = [(m.start, max(m.level, 1)) for m in marks if m.kind not in _UNCUT]
    cuts += [(mark.end, max(mark.level, 1)) for mark in marks if mark.kind == "definition"]
    return to_array(sorted(set(cuts)), "uint32").reshape(-1, 2)
