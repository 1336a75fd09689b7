"""Passages and chunks with the text of a better one: copies, mirrors, licences, quoted mails.

Each is shown once, with how many more are like it. What counts as a copy is told by the core's
module `copies`; chunks are compared before, by the rule of copies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from crx import _native
from crx.types import Hit

# The share of a passage's best chunk that another passage has if it is a copy: line breaks, hyphens
# and tables differ between a manual's HTML, PDF and plain text. Chunks of one format share more
# (the setting `rank.copies.share`).
_SHARED = 0.8


class _Found(Protocol):
    """A passage, of an index or of a server."""

    @property
    def uri(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def hits(self) -> tuple[Hit, ...]: ...


Found = TypeVar("Found", bound=_Found)


@dataclass(frozen=True, slots=True)
class Copies(Generic[Found]):
    """A passage, and the later ones whose best chunk it holds."""

    passage: Found
    others: tuple[Found, ...]

    @property
    def count(self) -> int:
        """How many passages and chunks that are not shown are like it."""
        return _count_copies(self.passage) + sum(1 + _count_copies(other) for other in self.others)


def _count_copies(passage: _Found) -> int:
    """Return how many chunks that were left out have the text of one of a passage's hits."""
    return max(hit.copies for hit in passage.hits)


def copy_uris(found: Copies[Found]) -> list[str]:
    """Return the documents with copies of a passage, each once, as far as they are known."""
    shown = (found.passage, *found.others)
    uris = [other.uri for other in found.others]
    uris += [uri for passage in shown for hit in passage.hits for uri in hit.also_in]
    return [uri for uri in dict.fromkeys(uris) if uri != found.passage.uri]


def fold_copies(passages: Sequence[Found], *, query: str = "") -> list[Copies[Found]]:
    """Return the passages, each that copies an earlier one together with it.

    One that has a word of the query which the earlier one lacks is no copy of it.
    """
    return [
        Copies(passages[first], tuple(passages[at] for at in others))
        for first, *others in _group(passages, query)
    ]


def leave_out_copies(passages: Sequence[Found], *, query: str = "") -> list[Found]:
    """Return the passages that copy no earlier one; see `fold_copies`."""
    return [passages[first] for first, *_ in _group(passages, query)]


def describe_copies(passages: Sequence[object], kept: Sequence[object]) -> tuple[str, ...]:
    """Return the note on the passages that were left out as copies, none if there are none."""
    count = len(passages) - len(kept)
    if not count:
        return ()
    noun = "a copy of a passage is" if count == 1 else f"{count} copies of passages are"
    return (f"{noun} left out",)


def _group_originals(originals: Sequence[int]) -> Mapping[int, list[int]]:
    """Return the copies of each text that copies none, in order, from `_native.find_originals`."""
    groups: dict[int, list[int]] = {}
    for at, original in enumerate(originals):
        if original == at:
            groups[at] = []
        else:
            groups[original].append(at)
    return groups


def _group(passages: Sequence[_Found], query: str) -> list[list[int]]:
    """Return the numbers of passages that copy each other, the first of each group first."""
    rows = [(each.hits[0].text, each.text, _about(each.hits[0])) for each in passages]
    originals = _native.find_originals(query, rows, share=_SHARED)
    return [[first, *others] for first, others in _group_originals(originals).items()]


def _about(hit: Hit) -> str:
    return "\n".join((hit.outline, hit.context, hit.title, hit.uri))
