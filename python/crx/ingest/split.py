"""Splitting of a document into chunks, and the sections around a position."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crx import _native
from crx.types import Chunk, Document, Mark

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
        spans = np.array(document.chunks, dtype=np.uint32).reshape(-1, 2)
    else:
        spans = _native.split(
            document.text,
            cuts=_cuts(document.marks),
            token_starts=None if in_chars else token_starts,
            budget=budget,
            overlap=overlap,
        )
    tokens = np.searchsorted(token_starts, spans)
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


def labels_around(marks: Sequence[Mark], position: int) -> tuple[str, ...]:
    """Return the labels of the headings and definitions around a position, outermost first."""
    around = [m for m in marks if m.is_section and m.start <= position < m.end]
    return tuple(m.label for m in sorted(around, key=lambda m: (m.start, -m.end)))


def _cuts(marks: tuple[Mark, ...]) -> NDArray[np.uint32]:
    """Return (m, 2): the positions where marks begin and end, with the mark's level from 1."""
    cuts = [(m.start, max(m.level, 1)) for m in marks if m.kind not in _UNCUT]
    cuts += [(mark.end, max(mark.level, 1)) for mark in marks if mark.kind == "definition"]
    return np.array(sorted(set(cuts)), dtype=np.uint32).reshape(-1, 2)
