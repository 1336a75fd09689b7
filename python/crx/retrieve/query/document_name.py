"""The part of a query that names a document: "Supply Agreement of Acme Corp.: who may end it?".

All chunks of the document have the words of the name, in their outlines. So the name decides which
document is meant, and says nothing about a passage of it; a chunk that repeats it, such as a title
page, is no better for it, and the vector of the query is mostly that of the name. When the best
chunks have a name in common, BM25 gives its words half their weight and outlines more, and the
vector of the query without the name is added to that of the query.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from crx.retrieve.ports import TermIndex

# How many of the best chunks of BM25 must be prose of one document. The others may be the same
# clause in another agreement.
_OF_ONE_DOCUMENT = 8
# Fewer words that the best chunks share, such as "fund manager" in regulations, are as likely the
# subject of the query as a name. Instead of two, contracts kept their ranks: MRR +.1 [.0, .3].
_FEWEST_WORDS = 4
_WORD = re.compile(r"[^\W_](?:[\w'’&./-]*\w)?")
_SEPARATORS = " \t\n:,;"


class DocumentName(NamedTuple):
    """The part of a query that names a document, and the query without it."""

    name: str
    rest: str


def find_document_name(
    query: str, best: Sequence[tuple[int, str]], *, terms: TermIndex, langs: Sequence[str]
) -> DocumentName | None:
    """Return the part of a query that names the document of most of the best chunks, or None.

    `best` are the document and the outline of each of the best chunks that is prose. A word of the
    query counts 1 if all chunks of that document have it in their outlines, -1 if not, and 0 if it
    is a function word; the name is the stretch with the greatest sum (Bentley, 1984). It has four
    words that count 1, or more, and the rest of the query has one that does not.
    """
    outlines = _outlines_of_one_document(best)
    if not outlines:
        return None
    words = list(_WORD.finditer(query))
    if len(words) <= _FEWEST_WORDS:
        return None
    texts = [query, *(word[0] for word in words), *outlines]
    whole, *analyzed = terms.query_terms(texts, langs=langs)
    term_sets = [{term for term, _ in each} for each in analyzed]
    shared = set.intersection(*term_sets[len(words) :])
    functions = {term for term, weight in whole if weight < 1}
    counts = [_count(each, shared=shared, functions=functions) for each in term_sets[: len(words)]]
    first, last = _greatest_stretch(counts)
    outside = counts[:first] + counts[last:]
    if counts[first:last].count(1) < _FEWEST_WORDS or -1 not in outside:
        return None
    start, end = words[first].start(), words[last - 1].end()
    parts = (query[:start], query[end:])
    rest = " ".join(" ".join(parts).split()).strip(_SEPARATORS)
    return DocumentName(query[start:end], rest)


def most_common_document(docs: Iterable[int]) -> int | None:
    """Return the document of most of the best chunks, None if no document has enough of them."""
    counted = list(docs)
    # The chunks are few: a `Counter` would take ten times as long.
    most_common = max(dict.fromkeys(counted), key=counted.count, default=0)
    return most_common if counted.count(most_common) >= _OF_ONE_DOCUMENT else None


def _outlines_of_one_document(best: Sequence[tuple[int, str]]) -> list[str]:
    """Return the distinct outlines of the document that most chunks are of, or none."""
    doc = most_common_document(each for each, _ in best)
    return list(dict.fromkeys(outline for each, outline in best if each == doc))


def _count(terms: set[str], *, shared: set[str], functions: set[str]) -> int:
    if terms <= functions:
        return 0
    return 1 if terms - functions <= shared else -1


def _greatest_stretch(counts: Sequence[int]) -> tuple[int, int]:
    """Return the start and end of the stretch with the greatest sum, without zeros at its ends."""
    best, first, last = 0, 0, 0
    total, start = 0, 0
    for at, count in enumerate(counts):
        if total <= 0:
            total, start = 0, at
        total += count
        if total > best:
            best, first, last = total, start, at + 1
    while first < last and counts[first] <= 0:
        first += 1
    return first, last
