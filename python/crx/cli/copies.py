"""Passages with the same text in several files, such as a manual as HTML, PDF and plain text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from crx import _native
from crx.types import Passage

# Terms in a row that are compared: line breaks, hyphens and tables differ between formats.
_SHINGLE = 3
# The share of the smaller chunk's shingles that the other has, too, if both are copies.
_SHARED = 0.6
_FEWEST_SHINGLES = 8
_LETTERS = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Copies:
    """A passage, and the later ones whose best chunk has the same text."""

    passage: Passage
    others: tuple[Passage, ...]


def fold_copies(passages: Sequence[Passage]) -> list[Copies]:
    """Return the passages, each that copies an earlier one together with it."""
    kept: list[tuple[Passage, frozenset[tuple[str, ...]], list[Passage]]] = []
    for passage in passages:
        shingles = _shingles(passage.hits[0].text)
        for _, others_shingles, others in kept:
            if _are_copies(shingles, others_shingles):
                others.append(passage)
                break
        else:
            kept.append((passage, shingles, []))
    return [Copies(passage, tuple(others)) for passage, _, others in kept]


def _shingles(text: str) -> frozenset[tuple[str, ...]]:
    terms = _native.analyze(" ".join(_LETTERS.findall(text)))
    return frozenset(zip(*(terms[at:] for at in range(_SHINGLE)), strict=False))


def _are_copies(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> bool:
    smaller = min(len(one), len(other))
    return smaller >= _FEWEST_SHINGLES and len(one & other) >= _SHARED * smaller
