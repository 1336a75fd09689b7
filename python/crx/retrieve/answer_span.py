"""Span of a hit that answers: the line with most terms of the query, which a citation names."""

from __future__ import annotations

import re
from collections.abc import Sequence

from crx.ingest.source_code import is_source_code
from crx.retrieve.query_terms import analyze_query, is_plain_word
from crx.retrieve.row_choice import rows_with_whole

_HEADING = re.compile(r"#{1,6} ")


def find_answer(text: str, query: str) -> tuple[int, int]:
    """Return the span of the line of a chunk that answers; see `find_answers`."""
    return find_answers([text], query)[0]


def find_answers(texts: Sequence[str], query: str) -> list[tuple[int, int]]:
    """Return the span of the line of each chunk with most terms of a query, the first of equals.

    A line that defines what is asked for goes first, or has it as a whole where others have it
    within names, a heading of Markdown last: what it names is below it. A chunk without any of the
    terms answers as a whole.
    """
    answers = analyze_query(query).find_answers(texts)
    if not is_plain_word(word := query.strip()):
        return answers
    return [_find_whole(text, word) or answer for text, answer in zip(texts, answers, strict=True)]


def _find_whole(text: str, word: str) -> tuple[int, int] | None:
    """Return the span of the first line that has a word as a whole, if others have it in names."""
    lines = text.split("\n")
    rows = sorted(rows_with_whole(lines, word))
    is_code = bool(rows) and is_source_code(text)
    at = next((at for at in rows if is_code or not _HEADING.match(lines[at])), None)
    if at is None:
        return None
    start = sum(len(line) + 1 for line in lines[:at])
    return start, start + len(lines[at])
