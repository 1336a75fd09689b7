"""Reflow of prose that is wrapped in its source: the lines of a paragraph become one.

A paragraph of 80 columns that is shown in 77 would have a short row after each long one. Only lines
that are surely one paragraph are joined: all but the last are so long that the next line's first
word did not fit, their indentation is the same, and they consist of words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

# Columns of a paragraph: text is hardly wrapped to fewer.
_NARROWEST = 50
# The part of a line's characters that are letters, spaces and the marks of prose.
_WORDY = 0.88
# Words of a line that may be a part of a sentence.
_SENTENCE_WORDS = 5
_MARKER = re.compile(r"\s*(?:[-*+•–—o]|\(?(?:\d{1,3}|[A-Za-z])[.)])\s+(?=\S)")
# What no line begins with that goes on with a sentence.
_NO_PROSE = re.compile(
    r"\s*(?:[#|>+*•=~^:@\\/$%{}\[\]<]|[-–—](?:\s|-|$)|\.\.(?:\s|$)|\d{1,3}[.)]\s)"
)
_GAP = re.compile(r"\S(?: {3,}|\t)\S")
# An assignment, a call with arguments, the end of a statement.
_CODE = re.compile(r" [-+*/|&<>!=:]?=+ |\w\(\w|[;{}]$|[-=]>|&&|\|\|")
_OTHER = re.compile(r"[^\w\s.,;:!?'’\"“”()`-]|_|\d")


class JoinedLine(NamedTuple):
    """A line that joins those of a paragraph, where in it each starts, and where its text does."""

    text: str
    starts: tuple[int, ...] = (0,)
    indent: int = 0


def join_paragraphs(lines: Sequence[str]) -> list[JoinedLine]:
    """Return the lines, those of a wrapped paragraph as one."""
    joined: list[JoinedLine] = []
    at = 0
    while at < len(lines):
        end = _end_of_paragraph(lines, at)
        joined.append(_join(lines[at:end]))
        at = end
    return joined


def has_sentences(text: str) -> bool:
    """Return whether a line of a text is one of prose."""
    lines = (line for line in text.split("\n") if len(line.split()) >= _SENTENCE_WORDS)
    return any(map(_is_prose, lines))


def _end_of_paragraph(lines: Sequence[str], start: int) -> int:
    """Return the end of the lines that are one paragraph, of which the first is given."""
    end = start + 1
    if not _is_prose(lines[start]):
        return end
    hanging = _text_column(lines[start])
    # A line that repeats the one before is no part of its sentence.
    while end < len(lines) and lines[end] != lines[end - 1] and _continues(lines[end], hanging):
        end += 1
    wrapped = max(len(line.rstrip()) for line in lines[start:end])
    if end - start < 2 or wrapped < _NARROWEST:
        return start + 1
    for at in range(start, end - 1):
        first_word = lines[at + 1].split(maxsplit=1)[0]
        if len(lines[at].rstrip()) + 1 + len(first_word) <= wrapped:
            # A line that ends early ends the paragraph.
            return at + 1
    return end


def _join(lines: Sequence[str]) -> JoinedLine:
    if len(lines) == 1:
        return JoinedLine(lines[0])
    indent = _text_column(lines[0])
    text = lines[0][:indent] + " ".join(lines[0][indent:].split())
    starts = [0]
    for line in lines[1:]:
        starts.append(len(text) + 1)
        text = f"{text} {' '.join(line.split())}"
    return JoinedLine(text, tuple(starts), indent)


def _continues(line: str, indent: int) -> bool:
    return _indent(line) == indent and _is_prose(line) and not _NO_PROSE.match(line)


def _is_prose(line: str) -> bool:
    text = line.strip()
    if not text or (not text.isascii() and _has_wide(text)):
        return False
    if _GAP.search(text) or _CODE.search(text):
        return False
    return len(_OTHER.findall(text)) <= (1 - _WORDY) * len(text)


def _has_wide(text: str) -> bool:
    # From the first of the scripts without spaces on; those before it, such as Greek, are narrow.
    return any(character >= "\u1100" and character.isalpha() for character in text)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _text_column(line: str) -> int:
    """Return the column at which a line's text begins, after the marker of a list."""
    marker = _MARKER.match(line)
    return marker.end() if marker else _indent(line)
