"""Reflow of prose that is wrapped in its source: the lines of a paragraph become one.

A paragraph of 80 columns that is shown in 77 would have a short row after each long one. Only lines
that are surely one paragraph are joined: they are all that follow each other with one indentation,
all but the last are so long that the next line's first word did not fit, the last ends a sentence,
and they consist of words. What is in doubt stays as it is in the source.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

# Columns of a paragraph: text is hardly wrapped to fewer, and one line of more is a paragraph.
_NARROWEST, _WIDEST = 50, 120
# The least columns of the first of two lines: two tell less than three.
_NARROWEST_OF_TWO = 60
# The part of a paragraph's columns that each of its lines but the last takes.
_FULL = 0.7
# The part of a line's characters that are letters, spaces and the marks of prose.
_WORDY = 0.88
# Words of a line that may be a part of a sentence.
_SENTENCE_WORDS = 5
_MARKER = re.compile(r"\s*(?:[-*+•–—o·‣▪◦]|\(?(?:\d{1,3}|[A-Za-z]|[ivx]{2,4})[.)])\s+(?=\S)")
# What no line of a paragraph begins with. Emphasis, roles and links in markup are prose.
_NO_PROSE = re.compile(
    r"\s*(?:[#|>+•·‣▪◦=~^@\\/$%{}\]<]|\*(?!\*?\w)|:(?![\w:]+:`)|\[(?![^\]]*\][(\[])"
    r"|[-–—](?:\w|\s|-|$)"
    r"|\.\.(?:\s|$)|\d{1,3}[.)]\s|\(?\w{1,2}\)\s|\d+(?:\.\d+)+\.?\s|\d+[-:/]\d)"
)
_FENCE = re.compile(r"\s*(?:[-*+>]\s+|\d+[.)]\s+)?(```|~~~)[`~]*\s*([^`]*)$")
_PREFORMATTED, _PREFORMATTED_END = re.compile(r"<pre\b", re.IGNORECASE), "</pre"
# Columns of a table, the leaders of a table of contents, and the end of a line that is to be one.
_GAP = re.compile(r"\S(?: {3,}|\t)\S|[^\s.:!?)\"'’”] {2}\S|\.{4}|(?: \.){3}|(?: {2}|\\)$")
# An assignment, a call with arguments but no page of a manual, a block, a short statement.
_CODE = re.compile(
    r" [-+*/|&<>!=:]?=+ |\w\((?!\d\w?\)|e?s\))\w|[{}]$|^(?:\S+ ){0,3}\S+;$|[-=]>|&&|\|\|"
)
_OTHER = re.compile(r"[^\w\s.,;:!?'’\"“”()`-]|_|\d")
_KEY = re.compile(r"\s*[\w.-]+(?: [\w.-]+){0,2}\s*:(?:\s|$)")
# A word that may go on in the next line.
_BROKEN_WORD = re.compile(r"\w[-‐‑–—\u00ad/]$")
_SENTENCE_END = re.compile(r"[.!?:…][\"'’”»)\]`*_]*$")
# From Thai to Burmese, and Khmer: narrow scripts without spaces between words.
_UNSPACED = re.compile(r"[\u0e00-\u109f\u1780-\u17ff]")


class JoinedLine(NamedTuple):
    """A line that joins those of a paragraph, where in it each starts, and where its text does."""

    text: str
    starts: tuple[int, ...] = (0,)
    indent: int = 0


def join_paragraphs(lines: Sequence[str], *, apart: Collection[int] = ()) -> list[JoinedLine]:
    """Return the lines, those of a wrapped paragraph as one.

    The lines with the numbers `apart`, counted from 0, are no part of a paragraph.
    """
    joined: list[JoinedLine] = []
    for group in _groups(lines, apart):
        if _is_paragraph(group):
            joined.append(_join(group))
        else:
            joined += map(JoinedLine, group)
    return joined


def has_sentences(text: str) -> bool:
    """Return whether a line of a text is one of prose."""
    lines = (line for line in text.split("\n") if len(line.split()) >= _SENTENCE_WORDS)
    return any(map(_is_prose, lines))


def _groups(lines: Sequence[str], apart: Collection[int]) -> Iterator[Sequence[str]]:
    """Yield the lines in groups that follow each other and have one indentation.

    The marker of a list begins a group. A blank or preformatted line and a heading is one itself.
    """
    start = hanging = 0
    for at, (line, stands_alone) in enumerate(zip(lines, _lines_apart(lines), strict=True)):
        is_apart = stands_alone or at in apart
        if not is_apart and at > start and _indent(line) == hanging and not _MARKER.match(line):
            continue
        if at > start:
            yield lines[start:at]
        start, hanging = at, _text_column(line)
        if is_apart:
            yield lines[at : at + 1]
            start = at + 1
    if start < len(lines):
        yield lines[start:]


def _lines_apart(lines: Sequence[str]) -> Iterator[bool]:
    """Yield for each line whether it is no part of a paragraph, whatever it consists of."""
    is_preformatted = False
    for line, is_fenced in zip(lines, fenced_lines(lines), strict=True):
        opens = _PREFORMATTED.search(line)
        is_preformatted = is_preformatted or bool(opens)
        yield is_fenced or is_preformatted or not line.strip() or line.startswith("#")
        if line.lower().rfind(_PREFORMATTED_END) > (opens.start() if opens else -1):
            is_preformatted = False


def fenced_lines(lines: Sequence[str]) -> list[bool]:
    """Return for each line whether it is in a fenced block of code, or begins or ends one."""
    fence = ""
    fenced = []
    for line in lines:
        if found := _FENCE.match(line):
            # A fence that names a language opens, also if an opening one is not among the lines.
            if not fence or found[2].strip():
                fence = found[1]
            elif found[1] == fence:
                fence = ""
        fenced.append(bool(found or fence))
    return fenced


def _is_paragraph(lines: Sequence[str]) -> bool:
    """Return whether lines of one indentation are surely one paragraph."""
    if len(lines) < 2 or not _SENTENCE_END.search(lines[-1].rstrip()):
        return False
    width = max(len(line.rstrip()) for line in lines)
    if not _NARROWEST <= width <= _WIDEST:
        return False
    texts = [lines[0][_text_column(lines[0]) :], *(line.lstrip() for line in lines[1:])]
    if not all(map(_is_prose, texts)) or any(map(_NO_PROSE.match, texts)):
        return False
    if 2 * sum(map(bool, map(_KEY.match, texts))) > len(texts):
        return False
    words = [text.split(maxsplit=1)[0] for text in texts]
    # Verses, names and entries begin alike: with a capital each, or with one word.
    if all(word[0].isupper() for word in words[1:]) or any(a == b for a, b in pairwise(words)):
        return False
    if len(lines) == 2 and not _is_one_sentence(lines[0], words[1]):
        return False
    return all(
        _is_full(line.rstrip(), word, width) for line, word in zip(lines, words[1:], strict=False)
    )


def _is_full(line: str, next_word: str, width: int) -> bool:
    """Return whether the next word did not fit on a line, which ends with a whole word."""
    if len(line) < _FULL * width or len(line) + 1 + len(next_word) <= width:
        return False
    return not _BROKEN_WORD.search(line)


def _is_one_sentence(line: str, next_word: str) -> bool:
    """Return whether a sentence of one line goes on in the next."""
    line = line.rstrip()
    is_within = not _SENTENCE_END.search(line) and not line.endswith(";")
    return len(line) >= _NARROWEST_OF_TWO and is_within and next_word[0].islower()


def _join(lines: Sequence[str]) -> JoinedLine:
    indent = _text_column(lines[0])
    pieces = [lines[0][:indent] + " ".join(lines[0][indent:].split())]
    starts = [0]
    for line in lines[1:]:
        starts.append(starts[-1] + len(pieces[-1]) + 1)
        pieces.append(" ".join(line.split()))
    return JoinedLine(" ".join(pieces), tuple(starts), indent)


def _is_prose(line: str) -> bool:
    text = line.lstrip()
    if not text.strip() or (not text.isascii() and _is_unspaced(text)):
        return False
    if _GAP.search(text) or _CODE.search(text.rstrip()):
        return False
    return len(_OTHER.findall(text)) <= (1 - _WORDY) * len(text)


def _is_unspaced(text: str) -> bool:
    """Return whether a text has letters of a wide script, or of one without spaces."""
    if _UNSPACED.search(text):
        return True
    return any(map(_is_wide_letter, text))


def _is_wide_letter(character: str) -> bool:
    return character.isalpha() and unicodedata.east_asian_width(character) in "WF"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _text_column(line: str) -> int:
    """Return the column at which a line's text begins, after the marker of a list."""
    marker = _MARKER.match(line)
    return marker.end() if marker else _indent(line)
