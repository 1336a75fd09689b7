"""BM25F as the inner product of two sparse vectors, one of the chunk and one of the query.

With `tf' = sum_f w_f tf_f` and `len' = sum_f w_f len_f` over the fields text, outline and context
(Robertson, Zaragoza, Taylor 2004), the coordinates at a term are

    chunk:  tf' / (tf' + k1 (1 - b + b len' / mean len'))
    query:  q * idf * (k1 + 1),  idf = ln(1 + (N - df + 0.5) / (df + 0.5))

where q is the weight of `_native.query_words`, and df is the sum over the stems of a word in the
languages of the index. Their inner product is the score of `_native.Lexical.search`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from crx import _native
from crx_engines.engine.protocol import EngineSnapshot, Saturation, StoredDocument

FIELDS = 3


@dataclass(frozen=True, slots=True)
class TermCounts:
    """The terms of a chunk: how often each occurs in each field, and the lengths of the fields."""

    counts: dict[str, list[int]]
    lengths: tuple[int, int, int]


def count_terms(fields: tuple[str, str, str], *, lang: str) -> TermCounts:
    """Count the terms of a chunk's text, outline and context, as BM25 indexes them."""
    counts: dict[str, list[int]] = {}
    lengths = [0] * FIELDS
    for field, text in enumerate(fields):
        if not text:
            continue
        terms = _native.analyze(text, lang)
        lengths[field] = len(terms)
        for term, count in Counter(terms).items():
            counts.setdefault(term, [0] * FIELDS)[field] = count
    return TermCounts(counts, (lengths[0], lengths[1], lengths[2]))


def count_chunks(document: StoredDocument) -> list[TermCounts]:
    """Count the terms of each chunk of a document."""
    return [
        count_terms(
            (
                document.text[chunk.start : chunk.end],
                chunk.outline,
                chunk.context.text if chunk.context else "",
            ),
            lang=document.lang,
        )
        for chunk in document.chunks
    ]


def idf(chunks: int, doc_freq: int) -> float:
    """Return the inverse document frequency (Lucene's form; Robertson, Spärck Jones 1976)."""
    return math.log(1 + (chunks - doc_freq + 0.5) / (doc_freq + 0.5))


def query_weights(
    terms: Sequence[tuple[str, float, int]], *, snapshot: EngineSnapshot, saturation: Saturation
) -> list[tuple[str, float]]:
    """Return the sparse vector of a query, of the terms that some chunk holds.

    `terms` are those of `_native.query_words`.
    """
    doc_freqs = snapshot.doc_freqs([term for term, *_ in terms], saturation=saturation)
    chunks = snapshot.stats().chunks
    of_words: Counter[int] = Counter()
    for (*_, word), doc_freq in zip(terms, doc_freqs, strict=True):
        of_words[word] += doc_freq
    return [
        (term, weight * idf(chunks, min(of_words[word], chunks)) * (saturation.k1 + 1))
        for (term, weight, word), doc_freq in zip(terms, doc_freqs, strict=True)
        if doc_freq
    ]
