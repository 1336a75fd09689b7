"""Terms as Milvus stores them: hashes, BM25's sparse vectors, and exact counts beside them.

Milvus finds candidates by sparse vectors, whose values are saturations with the default parameters
of BM25 and one mean length. Their exact scores are computed by crx from the counts. A term is its
64-bit hash; its dimension in a sparse vector is the low 31 bits, and terms that share one add up,
which may raise the score of a candidate and never lowers it.
"""

from __future__ import annotations

import base64
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from crx.errors import UsageError
from crx_engines.engine.bm25 import TermCounts
from crx_engines.engine.protocol import Saturation, digest_of
from crx_engines.milvus.milvus_collections import MOST_BYTES

# The parameters of the stored saturations: the defaults of the settings.
STORED = Saturation(k1=1.2, b=0.75, weights=(1.0, 2.0, 1.0))

BUCKETS = 256
_DIMENSIONS = 1 << 31
# The vector of a chunk without terms: an empty one is refused, and no term has this dimension.
_EMPTY = {_DIMENSIONS: 1.0}
_COUNTS = np.dtype([("term", "<u8"), ("text", "<u4"), ("outline", "<u2"), ("context", "<u2")])
_FREQS = np.dtype([("term", "<u8"), ("fields", "<u4"), ("chunks", "<i8")])
# Entries of a row of document frequencies that fit into a field, whatever they are.
_ENTRIES = 2_000


@lru_cache(maxsize=1 << 18)
def hash_term(term: str) -> int:
    """Return the number of a term."""
    return int.from_bytes(digest_of(term.encode())[:8], "little")


def dimension(term: int) -> int:
    """Return the dimension of a term in sparse vectors."""
    return term % _DIMENSIONS


def encode_counts(terms: TermCounts, *, uri: str) -> str:
    """Return the counts of a chunk as text; raises `UsageError` if a field cannot hold them."""
    rows = sorted((hash_term(term), *counts) for term, counts in terms.counts.items())
    written = _encode(np.array(rows, _COUNTS))
    if len(written) > MOST_BYTES:
        raise UsageError(
            f"{uri[:200]}: a chunk of {len(rows):,} different words does not fit into a field of "
            "Milvus; index with smaller chunks"
        )
    return written


def decode_counts(written: str) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Return the terms of a chunk, ascending, and their counts by field, (n, 3)."""
    rows = np.frombuffer(_decode(written), _COUNTS)
    counts = np.stack([rows["text"], rows["outline"], rows["context"]], axis=1)
    return rows["term"].astype(np.uint64), counts.astype(np.float64)


def sparse_vector(terms: TermCounts, *, mean_length: float) -> dict[int, float]:
    """Return the saturation of each term of a chunk with the parameters `STORED`."""
    norm = STORED.norm(terms.lengths, mean_length=mean_length)
    vector: Counter[int] = Counter()
    for term, counts in terms.counts.items():
        frequency = STORED.weigh(counts)
        if frequency > 0:
            vector[dimension(hash_term(term))] += frequency / (frequency + norm)  # type: ignore[assignment]
    return dict(vector) or _EMPTY


def most_increase(saturation: Saturation, *, mean_length: float, stored_mean: float) -> float:
    """Return by how much a score may exceed that of the stored saturations, as a factor.

    With `tf' <= a tf` and `norm' >= c norm`, `tf' / (tf' + norm')` is at most
    `max(1, a / c) tf / (tf + norm)`.
    """
    ratios = [new / old for new, old in zip(saturation.weights, STORED.weights, strict=True)]
    of_frequency = max(ratios)
    fixed = saturation.k1 * (1 - saturation.b) / (STORED.k1 * (1 - STORED.b))
    by_length = saturation.k1 * saturation.b / mean_length * min(ratios)
    stored = STORED.k1 * STORED.b / stored_mean
    of_norm = min(fixed, by_length / stored)
    return max(1.0, of_frequency / of_norm) if of_norm > 0 else float("inf")


def count_fields(chunks: Iterable[tuple[NDArray[np.uint64], NDArray[np.float64]]]) -> TermSums:
    """Return how many of the chunks hold each term in each set of fields."""
    sums = TermSums()
    for terms, counts in chunks:
        fields = (counts > 0) @ np.array([1, 2, 4])
        for pair in zip(terms.tolist(), fields.tolist(), strict=True):
            sums[pair] += 1
    return sums


class TermSums(Counter[tuple[int, int]]):
    """Numbers of chunks by (term, set of fields), in which bit i is set for field i."""

    def encode(self) -> list[tuple[int, str]]:
        """Return rows of them, each a bucket and a text."""
        buckets: dict[int, list[tuple[int, int, int]]] = {}
        for (term, fields), chunks in sorted(self.items()):
            if chunks:
                buckets.setdefault(term % BUCKETS, []).append((term, fields, chunks))
        return [
            (bucket, _encode(np.array(entries[at : at + _ENTRIES], _FREQS)))
            for bucket, entries in buckets.items()
            for at in range(0, len(entries), _ENTRIES)
        ]

    def add_encoded(self, written: str) -> None:
        """Add the entries of a row."""
        for term, fields, chunks in np.frombuffer(_decode(written), _FREQS).tolist():
            self[term, fields] += chunks


def doc_freq(sums: Mapping[tuple[int, int], int], term: int, saturation: Saturation) -> int:
    """Return how many chunks hold a term in a field of positive weight."""
    wanted = sum(1 << field for field, weight in enumerate(saturation.weights) if weight > 0)
    return sum(sums.get((term, fields), 0) for fields in range(1, 8) if fields & wanted)


def _encode(rows: NDArray[np.void]) -> str:
    return base64.b64encode(zlib.compress(rows.tobytes(), 1)).decode()


def _decode(written: str) -> bytes:
    return zlib.decompress(base64.b64decode(written))
