"""Choice of the rows of a passage that most likely answer a query, in prose and in source code."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from itertools import accumulate
from typing import NamedTuple

from crx._text.phrases import occurs
from crx._text.query_terms import analyze_query

# What counts in prose, in the logarithm of the odds that a row answers: the share of the query's
# terms in the row and the one before, and in the five around it, and how full it is, since
# headings, lists and tables seldom answer. Fitted to the answers of eight question sets in five
# languages as a conditional logit (McFadden 1974), and rounded.
_NEAR_TERMS = 2.2
_AROUND_TERMS = 1.8
_FULL_ROW = 4.6
# Two pieces so near to each other are one.
_NEAR_ROWS = 2
# What remains of the odds of a row that is shown already, for passages without any other.
_REPEATED = 0.02
# The part of each good hit's characters that is shown of source code, before more rows of any is.
_CODE_PART = 0.5


class _RowTerms(NamedTuple):
    """The query's terms in each row of a passage, and their weights, which are 1 in all.

    `defining` are the rows that declare the identifier, number or code that is the query, or hold
    the only word of the query as a whole where others have it as a part of a name. `naming` are the
    rows with the word that is the query, as it is.
    """

    rows: Sequence[Set[str]]
    weights: Mapping[str, float]
    defining: frozenset[int] = frozenset()
    naming: frozenset[int] = frozenset()

    def share(self, rows: Sequence[Set[str]]) -> float:
        """Return the weight of the terms that some rows hold."""
        return sum(self.weights[term] for term in set[str]().union(*rows))


def find_terms(texts: Sequence[str], *, query: str, known: Set[str]) -> _RowTerms:
    """Return the terms of the query in each row; rare ones weigh more, `known` ones less."""
    rows, weights, defining = analyze_query(query).row_terms(texts, known=known)
    held = [{weights[at][0] for at in row} for row in rows]
    return _RowTerms(held, dict(weights), frozenset(defining), _rows_with(query, texts))


def _rows_with(query: str, texts: Sequence[str]) -> frozenset[int]:
    """Return the rows that hold a query of one word as it is, in any case."""
    word = query.strip().casefold()
    if len(word.split()) != 1:
        return frozenset()
    return frozenset(at for at, text in enumerate(texts) if occurs(word, text.casefold()))


def choose_prose(
    terms: _RowTerms,
    fullness: Sequence[float],
    shown: Sequence[float],
    hits: Sequence[range],
    *,
    counts: Sequence[int],
    leads: Set[int] = frozenset(),
) -> list[range]:
    """Return the pieces that most likely answer, one of each hit, in the order of the text.

    `fullness` is 1 for a row of full width. `shown` is the share of each row that another passage
    shows already, which does not count. `hits` are the rows of each hit, best first, and `counts`
    how many of each are shown: all of them, or a piece of so many. Counts beyond the rows of the
    hits go to the rows after the best piece, then to those before it. A piece does not end with one
    of `leads`, rows that lead to the next as "for example:" does, unless it begins with the row
    that declares what is asked for.
    """
    sums = [
        0.0,
        *accumulate(
            max(_REPEATED, 1 - shown[at])
            * math.exp(
                _NEAR_TERMS * terms.share(terms.rows[max(0, at - 1) : at + 1])
                + _AROUND_TERMS * terms.share(terms.rows[max(0, at - 2) : at + 3])
                + _FULL_ROW * fullness[at]
            )
            for at in range(len(terms.rows))
        ),
    ]

    def choose_piece(rows: range, count: int) -> range:
        def score(start: int) -> tuple[bool, float]:
            is_defining = not terms.defining.isdisjoint(range(start, start + count))
            return is_defining, round(sums[start + count] - sums[start], 6)

        starts = range(rows.start, rows.stop - count + 1)
        best = max(starts, key=score)
        while best + count - 1 in leads and best + 1 in starts and count > 1:
            if best in terms.defining:
                break
            best += 1
        return range(best, best + count)

    return _choose_pieces(hits, counts, end=len(terms.rows), choose_piece=choose_piece)


def count_code_rows(rows: Sequence[str]) -> int:
    """Return how many of the rows of a hit in source code are shown first.

    They are the fewest in one piece that hold half of the hit's characters.
    """
    sums = [0, *accumulate(map(_characters, rows))]
    part = _CODE_PART * sums[-1]
    return min(
        bisect_left(sums, start + part, lo=first) - first
        for first, start in enumerate(sums)
        if start + part <= sums[-1]
    )


def choose_code(
    terms: _RowTerms,
    texts: Sequence[str],
    hits: Sequence[range],
    *,
    counts: Sequence[int],
    lines: Sequence[int] | None = None,
) -> list[range]:
    """Return pieces of source code, one of each hit: those with most terms.

    Of a word that is the query, half of a hit's rows are further ones that hold it, if there are as
    many: who asks for a name wants to see where it is used. `hits` are the rows of each hit, best
    first, and `counts` how many of each are shown, as for `choose_prose`. `lines` are those of the
    rows, by default one each: with a further row goes the first row of its line.
    """
    first_rows = [bisect_left(lines, line) for line in lines] if lines else range(len(texts))
    further = [sorted({first_rows[at], at}) for at in sorted(terms.naming)]

    def choose_piece(rows: range, count: int) -> range:
        return _best_window(terms, texts, rows, count=count)

    return _choose_pieces(
        hits, counts, end=len(terms.rows), choose_piece=choose_piece, further=further
    )


def _choose_pieces(
    hits: Sequence[range],
    counts: Sequence[int],
    *,
    end: int,
    choose_piece: Callable[[range, int], range],
    further: Sequence[Sequence[int]] = (),
) -> list[range]:
    """Return the runs of the pieces of all hits, and of the rows beside the best one.

    Without hits the piece is of all rows. Up to half of a hit's rows are `further` ones, of which
    those that belong together are all shown or none.
    """
    total = sum(counts)
    if end <= total:
        return [range(end)]
    # A hit has no rows if all of its own were left out.
    shares = [(rows, n) for rows, n in zip(hits, counts, strict=False) if rows and n > 0]
    pieces: list[range] = []
    taken: set[int] = set()
    for rows, count in shares or [(range(end), total)]:
        piece, others = rows, set[int]()
        if len(rows) > count:
            piece = choose_piece(rows, count)
            if others := _further_rows(further, rows, piece, most=count // 2):
                piece = choose_piece(rows, count - len(others))
                others = _further_rows(further, rows, piece, most=len(others))
        pieces.append(_join_near(taken, piece, rows))
        taken.update(pieces[-1], others)
    while len(taken) < total:
        taken.add(_row_beside(taken, pieces[0].start, end=end))
    return _runs(taken)


def _further_rows(
    further: Sequence[Sequence[int]], rows: range, piece: range, *, most: int
) -> set[int]:
    """Return the first `further` rows of a hit outside its piece, at most so many."""
    found: set[int] = set()
    for group in further:
        new = {at for at in group if at in rows and at not in piece} - found
        if group[-1] in new and len(found) + len(new) <= most:
            found |= new
    return found


def _join_near(taken: Set[int], piece: range, rows: range) -> range:
    """Return a piece of some rows, moved to where it touches rows that are taken and near."""
    for shift in range(-_NEAR_ROWS, _NEAR_ROWS + 1):
        start, stop = piece.start + shift, piece.stop + shift
        touches = (start - 1 in taken and shift < 0) or (stop in taken and shift > 0)
        if touches and rows.start <= start and stop <= rows.stop:
            return range(start, stop)
    return piece


def _row_beside(taken: Set[int], at: int, *, end: int) -> int:
    """Return the first row that is not taken after one that is, or before it if there is none."""
    after = next((row for row in range(at, end) if row not in taken), None)
    return next(row for row in range(at, -1, -1) if row not in taken) if after is None else after


def _best_window(terms: _RowTerms, texts: Sequence[str], rows: range, *, count: int) -> range:
    """Return `count` of some rows in one piece: those with most terms, and occurrences of them.

    A piece with a definition of what is asked for goes first, then one with `_CODE_PART` of the
    rows' characters, if there is one of that length.
    """
    part = _CODE_PART * sum(map(_characters, texts[rows.start : rows.stop]))

    def score(start: int) -> tuple[bool, bool, float]:
        is_defining = not terms.defining.isdisjoint(range(start, start + count))
        held = terms.rows[start : start + count]
        occurrences = sum(terms.weights[term] for row in held for term in row)
        characters = sum(map(_characters, texts[start : start + count]))
        share = round(terms.share(held) + occurrences / max(1, count), 6)
        return is_defining, characters >= part, share

    starts = range(rows.start, rows.stop - count + 1)
    return range(best := max(starts, key=score), best + count)


def _characters(text: str) -> int:
    return sum(map(len, text.split()))


def _runs(rows: Collection[int]) -> list[range]:
    """Return the ranges of consecutive numbers."""
    runs: list[range] = []
    for row in sorted(rows):
        if runs and runs[-1].stop == row:
            runs[-1] = range(runs[-1].start, row + 1)
        else:
            runs.append(range(row, row + 1))
    return runs
