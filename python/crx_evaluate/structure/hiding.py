"""Removal of what questions were made from."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import accumulate

from crx.types import Document, Mark
from crx_evaluate.datasets import GoldSpan
from crx_evaluate.structure.answers import strip_span
from crx_evaluate.structure.candidates import line_key

Span = tuple[int, int]

_LINE = re.compile(r"[^\n]+\n?")


class Cuts:
    """The spans that are removed from one document, which do not overlap, in order."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self.spans = _merge(spans)
        self._ends = [end for _, end in self.spans]
        self._removed = [0, *accumulate(end - start for start, end in self.spans)]

    def moved(self, at: int) -> int:
        """Return the new offset of a character, or of what follows if it is removed."""
        before = bisect_left(self._ends, at + 1)
        inside = max(0, at - self.spans[before][0]) if before < len(self.spans) else 0
        return at - self._removed[before] - inside

    def apply(self, text: str) -> str:
        """Return the text without the spans."""
        kept, last = [], 0
        for start, end in self.spans:
            kept.append(text[last:start])
            last = end
        return "".join([*kept, text[last:]])


def find_cuts(
    documents: Iterable[Document],
    *,
    lines: Set[str],
    words: Mapping[str, Sequence[str]],
) -> dict[str, Cuts]:
    """Return what is removed of each document, by its URI; documents that stay are left out.

    `lines` are keys of lines (`line_key`) that are removed from all documents, `words` those that
    are removed from a document wherever they stand in a row.
    """
    found = {}
    for document in documents:
        spans = [*_line_spans(document.text, lines)]
        for each in words.get(document.uri, ()):
            spans += [match.span() for match in _in_a_row(each).finditer(document.text)]
        if spans:
            found[document.uri] = Cuts(spans)
    return found


def hide(
    document: Document, cuts: Cuts | None, *, lines: Set[str], words: Sequence[str]
) -> Document:
    """Return a document without some spans, and without what its title and marks have of them."""
    title = document.title
    for each in words:
        title = _in_a_row(each).sub(" ", title)
    is_hidden = line_key(title) in lines
    marks = [mark for mark in document.marks if line_key(mark.label) not in lines]
    return replace(
        document,
        title="" if is_hidden or title != document.title else title,
        text=cuts.apply(document.text) if cuts else document.text,
        marks=tuple(_move_marks(marks, cuts) if cuts else marks),
        chunks=tuple(_move_spans(document.chunks, cuts))
        if cuts and document.chunks
        else document.chunks,
    )


def move(span: GoldSpan, cuts: Cuts | None, hidden: Document) -> GoldSpan:
    """Return a span in what is left of its document, without white space around it."""
    if cuts is None:
        return span
    start, end = cuts.moved(span.start), cuts.moved(span.end)
    return GoldSpan(span.doc_id, *strip_span(hidden.text, start, end))


def holds_in_a_row(text: str, words: str) -> bool:
    """Return whether a text has some words in a row, however they are broken and capitalized."""
    return _in_a_row(words).search(text) is not None


def _in_a_row(words: str) -> re.Pattern[str]:
    return re.compile(r"\s+".join(map(re.escape, words.split())), re.IGNORECASE)


def _line_spans(text: str, lines: Set[str]) -> Iterator[Span]:
    for match in _LINE.finditer(text):
        # A longer line cannot consist of a question.
        if len(match[0]) < 300 and line_key(match[0]) in lines:
            yield match.span()


def _merge(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _move_marks(marks: Iterable[Mark], cuts: Cuts) -> Iterator[Mark]:
    for mark in marks:
        start, end = cuts.moved(mark.start), cuts.moved(mark.end)
        if start < end:
            yield replace(mark, start=start, end=end)


def _move_spans(spans: Iterable[Span], cuts: Cuts) -> Iterator[Span]:
    for start, end in spans:
        if cuts.moved(start) < cuts.moved(end):
            yield cuts.moved(start), cuts.moved(end)
