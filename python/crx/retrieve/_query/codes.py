"""Codes and numbers with units that documents write in other groups: `12 kg` as `12kg`, an IBAN.

Only what no document has is replaced, by what a document has with the same letters and digits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from crx.retrieve.ports import DocumentReader, TermIndex

# An IBAN has 34 letters and digits, written in groups of four.
_LONGEST = 34
_LONGEST_GROUP = 8
_MOST_GROUPS = 12
_SHORTEST = 3
_START, _END = r"(?<![\w./@:$%-])", r"(?![\w/@:.]*\w)"
_CODE = re.compile(rf"{_START}(?=\w*\d)[^\W_]{{{_SHORTEST},{_LONGEST}}}{_END}")
_GROUP = re.compile(rf"(?<!\w)[^\W_]{{1,{_LONGEST}}}(?!\w)")
_DIGIT = re.compile(r"\d")
# What may stand between two groups.
_BETWEEN = r"[ .:/()\u00a0\u202f\u2011-]"
_GAP = re.compile(rf"{_BETWEEN}{{1,3}}")
_HEXADECIMAL = "0x"
# Chunks in which the code is looked for.
_CHUNKS = 5


def regroup_codes(
    query: str,
    *,
    terms: TermIndex,
    documents: DocumentReader,
    is_word: Callable[[str], bool],
) -> dict[str, str]:
    """Return the codes of a query that no document has, and how a document writes them.

    `is_word` tells of a group whether a document has it as a word, in any inflection.
    """
    if not _DIGIT.search(query):
        return {}

    def is_known(word: str) -> bool:
        return terms.has_term(word.casefold())

    joined = _joined(query, is_known, is_word)
    written = {
        code: found
        for code in dict.fromkeys(_CODE.findall(query))
        if not any(code in groups for groups in joined)
        if not is_known(code) and (found := _written(code, terms, documents, is_known))
    }
    return joined | written


def _joined(
    query: str, is_known: Callable[[str], bool], is_word: Callable[[str], bool]
) -> dict[str, str]:
    """Return groups, at least one unknown, that are a known word if joined."""
    runs: list[list[re.Match[str]]] = []
    for group in _GROUP.finditer(query):
        follows = runs and _GAP.fullmatch(query, runs[-1][-1].end(), group.start())
        if follows and len(runs[-1]) < _MOST_GROUPS:
            runs[-1].append(group)
        else:
            runs.append([group])
    found: dict[str, str] = {}
    for run in runs:
        known = [is_word(group[0]) for group in run]
        for start, end in _windows(len(run)):
            word = "".join(group[0] for group in run[start:end])
            if all(known[start:end]) or not _DIGIT.search(word) or len(word) > _LONGEST:
                continue
            if is_known(word):
                found[query[run[start].start() : run[end - 1].end()]] = word
                break
    return found


def _windows(length: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of several neighbours, the longest first."""
    for size in range(length, 1, -1):
        yield from ((start, start + size) for start in range(length - size + 1))


def _written(
    code: str,
    terms: TermIndex,
    documents: DocumentReader,
    is_known: Callable[[str], bool],
) -> str:
    """Return how a document writes an unknown code, "" if none has it."""
    if is_known(_HEXADECIMAL + code):
        return _HEXADECIMAL + code
    groups = _groups(code, is_known)
    if not groups:
        return ""
    keys, _ = terms.search(" ".join(groups), k=_CHUNKS)
    pattern = re.compile(rf"(?<!\w){f'{_BETWEEN}{{0,3}}'.join(code)}(?!\w)", re.IGNORECASE)
    for row in documents.chunks(np.asarray(keys, dtype=np.int64)):
        if found := pattern.search(row.text):
            return found[0]
    return ""


def _groups(code: str, is_known: Callable[[str], bool]) -> list[str]:
    """Return the fewest words of documents that a code consists of, [] if it does not."""
    best: dict[int, tuple[int, ...]] = {0: (0,)}
    for start in range(len(code)):
        for end in range(start + 1, min(start + _LONGEST_GROUP, len(code)) + 1):
            is_fewest = start in best and len(best.get(end, code)) > len(best[start]) + 1
            if is_fewest and is_known(code[start:end]):
                best[end] = (*best[start], end)
    return [code[start:end] for start, end in pairwise(best.get(len(code), ()))]
