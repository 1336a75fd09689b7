"""Passages with the same text in several files, such as a manual as HTML, PDF and plain text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from crx import _native
from crx.types import Passage

# Terms in a row that are compared: line breaks, hyphens and tables differ between formats.
_SHINGLE = 3
# The share of a chunk's shingles that the other chunk, or the other passage, has if it is a copy.
_SHARED = 0.6
_FEWEST_SHINGLES = 8
_LETTERS = re.compile(r"[^\W\d_]+")

Shingles = frozenset[tuple[str, ...]]


class Copies(NamedTuple):
    """A passage, and the later ones whose best chunk it holds, or has the text of its own."""

    passage: Passage
    others: tuple[Passage, ...]


def fold_copies(passages: Sequence[Passage]) -> list[Copies]:
    """Return the passages, each that copies an earlier one together with it."""
    kept: list[_Kept] = []
    for passage in passages:
        chunk = _shingles(passage.hits[0].text)
        for each in kept:
            if _share(each.chunk, chunk) or _share(chunk, each.whole):
                each.others.append(passage)
                break
        else:
            kept.append(_Kept(passage, chunk, _shingles(passage.text), []))
    return [Copies(each.passage, tuple(each.others)) for each in kept]


class _Kept(NamedTuple):
    """A passage, the shingles of its best chunk and of its text, and its copies so far."""

    passage: Passage
    chunk: Shingles
    whole: Shingles
    others: list[Passage]


def _shingles(text: str) -> Shingles:
    terms = _native.analyze(" ".join(_LETTERS.findall(text)))
    return frozenset(zip(*(terms[at:] for at in range(_SHINGLE)), strict=False))


def _share(part: Shingles, whole: Shingles) -> bool:
    """Return whether a text has most of the shingles of another."""
    return len(part) >= _FEWEST_SHINGLES and len(part & whole) >= _SHARED * len(part)
