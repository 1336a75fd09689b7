"""Repetition in a model's answer: a sentence twice, or the same words in a loop."""

from __future__ import annotations

from collections import Counter

from crx.context.units import is_dense, ngrams, split_sentences, split_units

# Loops as (words of a run, times that it occurs). Of 3,660 contexts by a large model one has such a
# run; 0.3% have a run of four words twice (names of parties, file paths).
_LOOPS = ((3, 3), (5, 2))
# Han and kana characters of a run for each word.
_CHARACTERS = 2
# Units of a sentence that counts as repeated; shorter ones are labels and list marks.
_SENTENCE_UNITS = 4


def is_repetitive(text: str) -> bool:
    """Return whether a sentence or a long run of words occurs twice, or a short run three times."""
    return _has_repeated_sentence(text) or _has_loop(text)


def _has_repeated_sentence(text: str) -> bool:
    sentences = [tuple(split_units(sentence)) for sentence in split_sentences(text)]
    counted = Counter(units for units in sentences if len(units) >= _SENTENCE_UNITS)
    return max(counted.values(), default=0) > 1


def _has_loop(text: str) -> bool:
    units = split_units(text)
    dense = sum(map(is_dense, units)) * 2 > len(units)
    return any(
        max(Counter(ngrams(units, words * (_CHARACTERS if dense else 1))).values(), default=0)
        >= times
        for words, times in _LOOPS
    )
