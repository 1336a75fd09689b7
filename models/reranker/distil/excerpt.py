"""Pairs of a query and an excerpt of a chunk, as token ids.

An excerpt is the run of a chunk's tokens that holds most of the query's words, so that a reranker
reads 96 tokens instead of 200.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tokenizers
from numpy.typing import NDArray

Ids = NDArray[np.int64]

QUERY_TOKENS = 48
# Tokens of the outline's first line before an excerpt: half from its beginning, half from its end.
HEAD_TOKENS = 24
SHORTEST_EXCERPT = 16
_CLS, _SEP = "[CLS]", "[SEP]"
# What a further occurrence of a word counts, beside 1 for the first.
_REPEATED = 0.05
_STOP_LIST = """
a an the of to in is are was were be and or for on with by at as it its this that from do does did
how what which who when where why can i my you your me s t if not so but has have had will would
should there than then . , ? ! ' " ( ) - : ; /
"""
STOP_WORDS = frozenset(_STOP_LIST.split())


@dataclass(frozen=True, slots=True)
class Pair:
    """A query and a text as token ids, and the segment of each token."""

    ids: Ids
    segment_ids: Ids


class PairReader:
    """Encodes a query and a chunk as [CLS] query [SEP] outline excerpt [SEP]."""

    def __init__(self, tokenizer: Path) -> None:
        """Load a `tokenizer.json`."""
        self._tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        ids = map(self._tokenizer.token_to_id, sorted(STOP_WORDS))
        self._stop_ids = np.array([each for each in ids if each is not None])
        self._first = np.array([self._tokenizer.token_to_id(_CLS)])
        self._separator = np.array([self._tokenizer.token_to_id(_SEP)])

    def pair(
        self, query: str, head: str, text: str, *, tokens: int, head_tokens: int = HEAD_TOKENS
    ) -> Pair:
        """Return a pair of at most `tokens` tokens; `head` is the outline's first line."""
        asked = self._ids(query)[:QUERY_TOKENS]
        before = cut_middle(self._ids(head), head_tokens)
        room = max(SHORTEST_EXCERPT, tokens - 3 - len(asked) - len(before))
        read = find_excerpt(np.setdiff1d(asked, self._stop_ids), self._ids(text), room)
        ids = np.concatenate([self._first, asked, self._separator, before, read, self._separator])
        segment_ids = np.zeros_like(ids)
        segment_ids[len(asked) + 2 :] = 1
        return Pair(ids, segment_ids)

    def _ids(self, text: str) -> Ids:
        return np.array(self._tokenizer.encode(text, add_special_tokens=False).ids, np.int64)


def cut_middle(ids: Ids, count: int) -> Ids:
    """Return the first and the last of the ids, `count` in all: a title and a section's heading."""
    if len(ids) <= count:
        return ids
    first = (count + 1) // 2
    return np.concatenate([ids[:first], ids[len(ids) - count // 2 :]])


def find_excerpt(terms: Ids, text: Ids, room: int) -> Ids:
    """Return the `room` consecutive tokens of a text that hold most of the distinct terms.

    A term weighs less the more often it occurs in the text. Of equally good excerpts, it is the
    middle one of the first run.
    """
    starts = len(text) - room + 1
    if starts <= 1:
        return text
    value = np.zeros(starts)
    for term in terms:
        positions = np.flatnonzero(text == term)
        edges = np.zeros(starts + 1, np.int64)
        np.add.at(edges, np.maximum(positions - room + 1, 0), 1)
        np.add.at(edges, np.minimum(positions, starts - 1) + 1, -1)
        held = np.cumsum(edges)[:starts]
        value += ((held > 0) + _REPEATED * held) / np.sqrt(1 + len(positions))
    if not value.any():
        return text[:room]
    best = np.flatnonzero(value >= value.max() - 1e-6)
    gaps = np.flatnonzero(np.diff(best) != 1)
    run = best[: gaps[0] + 1] if len(gaps) else best
    start = int(run[len(run) // 2])
    return text[start : start + room]
