"""Choice of the rows of a passage that most likely answer a query, in prose and in source code."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import islice

from crx import _native
from crx.types import LEGS, Hit

# A term of the title or of the outline is of the whole document and tells little of a row.
_DOCUMENT_TERM_WEIGHT = 0.25
# Rows of prose that are shown together at least.
_PIECE_ROWS = 3
# What counts in prose, in the logarithm of the odds that a row answers: the rank of its chunk in
# each leg, the share of the query's terms in the row and the one before, and in the five around it,
# and how full it is, since headings, lists and tables seldom answer. Fitted to the answers of
# eight question sets in five languages as a conditional logit (McFadden 1974), and rounded.
_RANK_SHARES = {"bm25": 1.0, "dense": 0.7}
_NEAR_TERMS = 2.2
_AROUND_TERMS = 0.7
_FULL_ROW = 4.4
# What remains of the odds of a row that is shown already, for passages without any other.
_REPEATED = 0.02
# The rank of a chunk that a leg has not found, and of the text around the hits.
_UNFOUND_RANK = 150
_AROUND_HITS_RANK = 30
# What counts in source code, relative to the query's terms, each counted once: the rank of the
# rows' chunks in the passage, and each further occurrence of a term. Half or twice each value
# changes the share of answers shown by five points at most.
_CHUNK_SHARE = 2.0
_OCCURRENCE_SHARE = 1.0


@dataclass(frozen=True, slots=True)
class RowTerms:
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
    hits: Sequence[Sequence[Hit]],
    fullness: Sequence[float],
    shown: Sequence[float],
    *,
    count: int,
) -> list[range]:
    """Return the pieces of at most `count` rows that most likely answer, in the order of the text.

    `hits` are those whose chunks hold each row, `fullness` is 1 for a row of full width. `shown` is
    the share of each row that another passage shows already, which does not count.
    """
    odds = [
        max(_REPEATED, 1 - shown[at])
        * math.exp(
            _NEAR_TERMS * terms.share(terms.rows[max(0, at - 1) : at + 1])
            + _AROUND_TERMS * terms.share(terms.rows[max(0, at - 2) : at + 3])
            + _FULL_ROW * fullness[at]
            + _log_odds_of_chunk(hits[at])
        )
        for at in range(len(terms.rows))
    ]
    # An answer is often beside the row that has the words.
    before, after = [*odds[:1], *odds[:-1]], [*odds[1:], *odds[-1:]]
    smooth = [left + 2 * own + right for left, own, right in zip(before, odds, after, strict=True)]
    return _choose_pieces(smooth, count=count)


def choose_code(terms: RowTerms, hit_ranks: Sequence[int], *, count: int) -> range:
    """Return the `count` rows of source code that hold most of the query's terms, and good hits.

    `hit_ranks` are the ranks in the passage of the best hits that hold each row, 0 for none.
    """
    if len(terms.rows) <= count:
        return range(len(terms.rows))

    def score(start: int) -> float:
        held = terms.rows[start : start + count]
        occurrences = sum(terms.weights[term] for row in held for term in row)
        chunks = sum(1 / rank for rank in hit_ranks[start : start + count] if rank)
        mean = (_CHUNK_SHARE * chunks + _OCCURRENCE_SHARE * occurrences) / count
        return round(terms.share(held) + mean, 6)

    scores = [score(start) for start in range(len(terms.rows) - count + 1)]
    best = max(range(len(scores)), key=scores.__getitem__)
    last = best
    while last + 1 < len(scores) and scores[last + 1] == scores[best]:
        last += 1
    # Where several windows hold the same rows, what follows them is shown, after one row before.
    start = max(best, last - 1)
    return range(start, start + count)


def _log_odds_of_chunk(hits: Sequence[Hit]) -> float:
    """Return what the best ranks of a row's hits in both legs add to its log odds."""
    total = 0.0
    for leg in LEGS:
        ranks = [hit.stages[leg].rank for hit in hits if leg in hit.stages]
        rank = min(ranks, default=_UNFOUND_RANK) if hits else _AROUND_HITS_RANK
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
