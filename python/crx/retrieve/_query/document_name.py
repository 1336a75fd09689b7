"""The part of a query that names a document: "Supply Agreement of Acme Corp.: who may end it?".

All chunks of the document have the words of the name, in their outlines. So the name decides which
document is meant, and says nothing about a passage of it; a chunk that repeats it, such as a title
page, is no better for it, and the vector of the query is mostly that of the name. When the ten
best chunks are of one document that the query names, BM25 gives its words half their weight and
outlines more, and the vector of the query without the name is added to that of the query.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from crx import _native
from crx.retrieve.ports import TermIndex
from crx.retrieve.rows import ChunkRow

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
    query: str, outlines: Iterable[str], *, terms: TermIndex, langs: Sequence[str]
) -> DocumentName | None:
    """Return the part of a query that names the document of the best chunks, or None.

    A word of the query counts 1 if all of the chunks' `outlines` have it, -1 if not, and 0 if it is
    a function word; the name is the stretch with the greatest sum (Bentley, 1984). It has four
    words that count 1, or more, and the rest of the query has one that does not.
    """
    words = list(_WORD.finditer(query))
    if len(words) <= _FEWEST_WORDS:
        return None
    texts = [query, *(word[0] for word in words), *dict.fromkeys(outlines)]
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


def are_of_one_document(best: Collection[ChunkRow]) -> bool:
    """Return whether the best chunks are prose of one document."""
    is_prose = all(row.kind != "code" for row in best)
    return is_prose and len(best) == _native.BEST and len({row.doc for row in best}) == 1


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
