"""Choice of the rows of a passage that most likely answer a query, in prose and in source code."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from itertools import accumulate, islice
from typing import NamedTuple

from crx import _native
from crx.types import LEGS, Hit

# A term of the title or of the outline is of the whole document and tells little of a row.
_DOCUMENT_TERM_WEIGHT = 0.25
# Rows of prose that are shown together at least.
_PIECE_ROWS = 3
# What counts in prose, in the logarithm of the odds that a row answers: the rank of its chunk in
# each leg and among the hits of the passage, the share of the query's terms in the row and the one
# before, and in the five around it, less the share in its chunk, which the chunk's ranks count
# already, and how full it is, since headings, lists and tables seldom answer. Fitted to the answers
# of eight question sets in five languages as a conditional logit (McFadden 1974), and rounded.
_RANK_SHARES = {"bm25": 0.4, "dense": 0.4}
_RANK_IN_PASSAGE_SHARE = 0.7
_NEAR_TERMS = 2.2
_AROUND_TERMS = 1.8
_CHUNK_TERMS = 2.7
_FULL_ROW = 4.6
# What remains of the odds of a row that is shown already, for passages without any other.
_REPEATED = 0.02
# The rank of a chunk that a leg has not found, and of the text around the hits.
_UNFOUND_RANK = 150
_AROUND_HITS_RANK = 30
_AROUND_HITS_RANK_IN_PASSAGE = 20
# The part of each good hit's characters that is shown of source code, before more rows of any is,
# and the rows besides, which leave a choice of where that part is.
_CODE_PART = 0.5
_MORE_CODE_ROWS = 1


class RowTerms(NamedTuple):
    """The query's terms in each row of a passage, and their weights, which are 1 in all."""

    rows: Sequence[Set[str]]
    weights: Mapping[str, float]

    def share(self, rows: Sequence[Set[str]]) -> float:
        """Return the weight of the terms that some rows hold."""
        return sum(self.weights[term] for term in set[str]().union(*rows))


def find_terms(texts: Sequence[str], *, query: str, known: Set[str]) -> RowTerms:
    """Return the terms of the query in each row; rare ones weigh more, `known` ones less."""
    asked = set(_native.analyze(query))
    rows = [asked.intersection(_native.analyze(text)) for text in texts]
    rows_with = Counter(term for held in rows for term in held)
    weights = {
        term: math.log(1 + len(rows) / count) * (_DOCUMENT_TERM_WEIGHT if term in known else 1)
        for term, count in rows_with.items()
    }
    total = sum(weights.values())
    return RowTerms(rows, {term: weight / total for term, weight in weights.items()})


def choose_prose(
    terms: RowTerms,
    holders: Sequence[Sequence[int]],
    hits: Sequence[Hit],
    fullness: Sequence[float],
    shown: Sequence[float],
    *,
    count: int,
) -> list[range]:
    """Return the pieces of at most `count` rows that most likely answer, in the order of the text.

    `holders` are the hits whose chunks hold each row, as numbers in `hits`, which are those of the
    passage, best first. `fullness` is 1 for a row of full width. `shown` is the share of each row
    that another passage shows already, which does not count.
    """
    in_chunk = [_share_of_chunk(terms, holders, number) for number in range(len(hits))]
    odds = [
        max(_REPEATED, 1 - shown[at])
        * math.exp(
            _NEAR_TERMS * terms.share(terms.rows[max(0, at - 1) : at + 1])
            + _AROUND_TERMS * terms.share(terms.rows[max(0, at - 2) : at + 3])
            - _CHUNK_TERMS * max((in_chunk[number] for number in holders[at]), default=0)
            + _FULL_ROW * fullness[at]
            + _log_odds_of_chunk(holders[at], hits)
        )
        for at in range(len(terms.rows))
    ]
    # An answer is often beside the row that has the words.
    before, after = [*odds[:1], *odds[:-1]], [*odds[1:], *odds[-1:]]
    smooth = [left + 2 * own + right for left, own, right in zip(before, odds, after, strict=True)]
    return _choose_pieces(smooth, count=count)


def count_code_rows(rows: Sequence[str]) -> int:
    """Return how many of the rows of a hit in source code are shown first.

    They are one more than the fewest in one piece that hold half of the hit's characters.
    """
    sums = [0, *accumulate(map(_characters, rows))]
    part = _CODE_PART * sums[-1]
    fewest = min(
        bisect_left(sums, start + part, lo=first) - first
        for first, start in enumerate(sums)
        if start + part <= sums[-1]
    )
    return min(len(rows), fewest + _MORE_CODE_ROWS)


def choose_code(
    terms: RowTerms, texts: Sequence[str], hits: Sequence[range], *, count: int
) -> list[range]:
    """Return pieces of `count` rows of source code: parts of the best hits with most terms.

    `hits` are the rows of each hit, best first.
    """
    if len(terms.rows) <= count:
        return [range(len(terms.rows))]
    taken: set[int] = set()
    best = 0
    for rows in hits:
        size = count_code_rows(texts[rows.start : rows.stop])
        part = _best_window(terms, texts, rows, count=size if taken else min(size, count))
        if not taken:
            best = part.start
        if len(taken.union(part)) <= count:
            taken.update(part)
    if not taken:
        return [_best_window(terms, texts, range(len(terms.rows)), count=count)]
    while len(taken) < count:
        taken.add(_row_beside(taken, best, end=len(terms.rows)))
    return _runs(taken)


def _row_beside(taken: Set[int], at: int, *, end: int) -> int:
    """Return the first row that is not taken after one that is, or before it if there is none."""
    after = next((row for row in range(at, end) if row not in taken), None)
    return next(row for row in range(at, -1, -1) if row not in taken) if after is None else after


def _best_window(terms: RowTerms, texts: Sequence[str], rows: range, *, count: int) -> range:
    """Return `count` of some rows in one piece: those with most terms, and occurrences of them.

    A piece with `_CODE_PART` of the rows' characters goes first, if there is one of that length.
    """
    part = _CODE_PART * sum(map(_characters, texts[rows.start : rows.stop]))

    def score(start: int) -> tuple[bool, float]:
        held = terms.rows[start : start + count]
        occurrences = sum(terms.weights[term] for row in held for term in row)
        characters = sum(map(_characters, texts[start : start + count]))
        return characters >= part, round(terms.share(held) + occurrences / max(1, count), 6)

    starts = range(rows.start, rows.stop - count + 1)
    return range(best := max(starts, key=score), best + count)


def _characters(text: str) -> int:
    return sum(map(len, text.split()))


def _share_of_chunk(terms: RowTerms, holders: Sequence[Sequence[int]], number: int) -> float:
    """Return the weight of the terms in the chunk of a hit."""
    rows = zip(terms.rows, holders, strict=True)
    return terms.share([row for row, numbers in rows if number in numbers])


def _log_odds_of_chunk(holders: Sequence[int], hits: Sequence[Hit]) -> float:
    """Return what the best ranks of a row's hits add to its log odds."""
    place = min(holders) + 1 if holders else _AROUND_HITS_RANK_IN_PASSAGE
    total = -_RANK_IN_PASSAGE_SHARE * math.log(place)
    for leg in LEGS:
        stages = [hits[number].stages for number in holders]
        ranks = [each[leg].rank for each in stages if leg in each]
        rank = min(ranks, default=_UNFOUND_RANK) if holders else _AROUND_HITS_RANK
        total -= _RANK_SHARES[leg] * math.log(rank)
    return total


def _choose_pieces(values: Sequence[float], *, count: int) -> list[range]:
    """Return pieces of rows, `count` in all or all there are, in the order of the text.

    What is worth most by the row is taken next: a piece in a new place, or a row beside a piece.
    """
    if len(values) <= count:
        return [range(len(values))]
    size = min(_PIECE_ROWS, count)
    places = [range(start, start + size) for start in range(len(values) - size + 1)]
    places.sort(key=lambda rows: -sum(values[row] for row in rows))
    taken: set[int] = set()
    while (left := count - len(taken)) > 0:
        new = (rows for rows in places if size <= left and taken.isdisjoint(rows))
        options: list[Sequence[int]] = [*islice(new, 1), *_rows_beside(taken, end=len(values))]
        taken.update(max(options, key=lambda rows: _mean(values, rows)))
    return _runs(taken)


def _mean(values: Sequence[float], rows: Iterable[int]) -> float:
    of_rows = [values[row] for row in rows]
    return math.fsum(of_rows) / len(of_rows)


def _rows_beside(taken: Set[int], *, end: int) -> Iterator[range]:
    for row in sorted(taken):
        for beside in (row - 1, row + 1):
            if 0 <= beside < end and beside not in taken:
                yield range(beside, beside + 1)


def _runs(rows: Collection[int]) -> list[range]:
    """Return the ranges of consecutive numbers."""
    runs: list[range] = []
    for row in sorted(rows):
        if runs and runs[-1].stop == row:
            runs[-1] = range(runs[-1].start, row + 1)
        else:
            runs.append(range(row, row + 1))
    return runs
