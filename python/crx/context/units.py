"""Units of text that rules compare: words, and single Han and kana characters."""

from __future__ import annotations

import re
from collections.abc import Sequence

_DENSE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_UNIT = re.compile(rf"[{_DENSE}]|[^\W_{_DENSE}]+")
_IS_DENSE = re.compile(rf"[{_DENSE}]")
# A sentence ends at its mark and a blank, a number's or a name's own point does not; or at a line.
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’»)\]]*\s+|(?<=[。！？])|\n+")


def split_units(text: str) -> list[str]:
    """Return the units of a text in lower case, in order."""
    return _UNIT.findall(text.casefold())


def is_dense(unit: str) -> bool:
    """Return whether a unit is a Han or kana character."""
    return _IS_DENSE.match(unit) is not None


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text that have a unit."""
    return [part for part in _SENTENCE_END.split(text) if _UNIT.search(part.casefold())]


def ngrams(units: Sequence[str], n: int) -> list[tuple[str, ...]]:
    """Return all runs of n units, in order."""
    return [tuple(units[i : i + n]) for i in range(len(units) - n + 1)]
