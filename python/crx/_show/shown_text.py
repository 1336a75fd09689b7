"""Text that was shown before, in other lines: the same section as HTML, PDF and plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

# Characters compared at a time: in English, two or three words.
_NGRAM = 12


def text_ngrams(rows: Sequence[str]) -> set[str]:
    """Return the n-grams of the characters of some rows, white space aside."""
    return set(_ngrams("".join(map(_letters, rows))))


def shown_shares(rows: Sequence[str], shown: Set[str]) -> list[float]:
    """Return the share of each row's characters that is in n-grams that were shown, 0 to 1."""
    letters = [_letters(row) for row in rows]
    text = "".join(letters)
    covered = bytearray(len(text))
    for at, ngram in enumerate(_ngrams(text)):
        if ngram in shown:
            covered[at : at + _NGRAM] = b"\1" * _NGRAM
    shares: list[float] = []
    end = 0
    for each in letters:
        start, end = end, end + len(each)
        shares.append(sum(covered[start:end]) / max(1, len(each)))
    return shares


def _letters(row: str) -> str:
    return "".join(row.split())


def _ngrams(text: str) -> Iterator[str]:
    return (text[at : at + _NGRAM] for at in range(len(text) - _NGRAM + 1))
