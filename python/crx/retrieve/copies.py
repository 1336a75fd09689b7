"""Passages with the same text in several files, such as a manual as HTML, PDF and plain text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeVar

from crx import _native
from crx.types import Hit, Passage

# Terms in a row that are compared: line breaks, hyphens and tables differ between formats.
_SHINGLE = 3
# The share of a chunk's shingles that the other chunk, or the other passage, has if it is a copy.
_SHARED = 0.6
_FEWEST_SHINGLES = 8
_LETTERS = re.compile(r"[^\W\d_]+")

Shingles = frozenset[tuple[str, ...]]


class _Found(Protocol):
    """A passage, of an index or of a server."""

    @property
    def text(self) -> str: ...
    @property
    def hits(self) -> tuple[Hit, ...]: ...


Found = TypeVar("Found", bound=_Found)


class Copies(NamedTuple):
    """A passage, and the later ones whose best chunk it holds, or has the text of its own."""

    passage: Passage
    others: tuple[Passage, ...]


def fold_copies(passages: Sequence[Passage]) -> list[Copies]:
    """Return the passages, each that copies an earlier one together with it."""
    return [
        Copies(passages[first], tuple(passages[at] for at in others))
        for first, *others in _groups(passages)
    ]


def leave_out_copies(passages: Sequence[Found]) -> list[Found]:
    """Return the passages that copy no earlier one."""
    return [passages[first] for first, *_ in _groups(passages)]


def describe_copies(passages: Sequence[object], kept: Sequence[object]) -> tuple[str, ...]:
    """Return the note on the passages that were left out as copies, none if there are none."""
    count = len(passages) - len(kept)
    if not count:
        return ()
    noun = "passage is" if count == 1 else "passages are"
    return (f"{count} {noun} left out: the text of others",)


def _groups(passages: Sequence[_Found]) -> list[list[int]]:
    """Return the numbers of passages that copy each other, the first of each group first."""
    kept: list[_Kept] = []
    for number, passage in enumerate(passages):
        chunk = _shingles(passage.hits[0].text)
        for each in kept:
            if _share(each.chunk, chunk) or _share(chunk, each.whole):
                each.numbers.append(number)
                break
        else:
            kept.append(_Kept(chunk, _shingles(passage.text), [number]))
    return [each.numbers for each in kept]


class _Kept(NamedTuple):
    """The shingles of a passage's best chunk and of its text, and its number and its copies'."""

    chunk: Shingles
    whole: Shingles
    numbers: list[int]


def _shingles(text: str) -> Shingles:
    terms = _native.analyze(" ".join(_LETTERS.findall(text)))
    return frozenset(zip(*(terms[at:] for at in range(_SHINGLE)), strict=False))


def _share(part: Shingles, whole: Shingles) -> bool:
    """Return whether a text has most of the shingles of another."""
    return len(part) >= _FEWEST_SHINGLES and len(part & whole) >= _SHARED * len(part)
