"""Phrases in texts: whether a text holds one, in any case and with any spaces."""

from __future__ import annotations

from collections.abc import Sequence

from crx import _native

# BM25 has no term for the whole of a longer word.
_LONGEST = 64


def inner_words(phrases: Sequence[str]) -> list[str]:
    """Return the words within phrases that BM25 has terms for in a text with these phrases.

    They stand between two others, so that spaces bound them in the text, too; the first and the
    last may be a part of a longer word there.
    """
    inner = dict.fromkeys(word for phrase in phrases for word in phrase.split()[1:-1])
    return list(filter(has_own_term, inner))


def has_own_term(word: str) -> bool:
    """Return whether BM25 has a term for a word in each text that has it between other words."""
    return word.isascii() and word.isalnum() and len(word) <= _LONGEST


def occurs(phrase: str, text: str) -> bool:
    """Return whether a text holds a phrase that neither begins nor ends within a word."""
    start = text.find(phrase)
    while start >= 0:
        end = start + len(phrase)
        before, after = text[start - 1 : start], text[end : end + 1]
        if not (_joins(before, phrase[0]) or _joins(after, phrase[-1])):
            return True
        start = text.find(phrase, start + 1)
    return False


def _joins(beside: str, end: str) -> bool:
    """Return whether the character beside the end of a phrase continues its word."""
    return _is_end_of_word(end) and (beside.isalnum() or beside == "_")


def _is_end_of_word(char: str) -> bool:
    return (char.isalnum() or char == "_") and not _native.unspaced_spans(char)


def normalize_text(text: str) -> str:
    """Return a text with single spaces and without case."""
    return " ".join(text.split()).casefold()
