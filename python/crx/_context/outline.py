"""Outline: the context of a chunk that is made without a model.

An outline has two lines. The first names the document and the position in it: its title, its
outermost definitions (source code) or the proper names and the date of its opening, and the
headings or definitions around the chunk. The second line has the remaining names and is read by
BM25 alone; it begins with the names of the folder and of the file. Of a text that has neither a
title nor a file, all names are there: an embedder would take its chunks for texts about them.

In source code, the first line also has the definitions that begin in the chunk: a chunk that
defines a name answers questions about it better than one that uses it. Names have two words or more
there: a single word with a capital is rather a type, and types made the chunks of a file alike.

The document's terms of highest weight and the list of all its headings were tried on the second
line, too. On source code and on contracts they found no more than the names did, and at the same
weight they made the chunks of one document similar.

A page of a book or a site begins with what it is part of, and its keywords are on the second line,
if it declares them. Names are those of `names`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

from crx._context.controls import strip_controls
from crx._context.names import proper_names, rank_names
from crx._context.opening import opening
from crx.ingest.formats import path_names
from crx.ingest.split import SectionLabels
from crx.types import FOLDER_DESCRIPTION, Chunk, Document, Mark

# The comment with the licence that a source file begins with.
#
# Its names (the owner's, the licence's, "AS IS") are those of every file of a project and say
# nothing of this one.
_COMMENT = re.compile(r'\s*(?:$|#|//|/\*|\*|--|;|%|<!--|-->|\(\*|"""|\'\'\')')
_LICENCE = re.compile(r"licen[cs]e|copyright|\(c\)|spdx-|all rights reserved", re.IGNORECASE)
_BLOCK_END = {"/*": "*/", "<!--": "-->", "(*": "*)", '"""': '"""', "'''": "'''"}


def skip_licence_header(text: str) -> str:
    """Return a source text without the comments that it begins with, if they name a licence."""
    lines = text.splitlines(keepends=True)
    end = 0
    until = ""
    for line in lines:
        stripped = line.strip()
        if not until and not _COMMENT.match(line):
            break
        opening = next((opener for opener in _BLOCK_END if stripped.startswith(opener)), "")
        if until:
            until = "" if until in stripped else until
        elif opening and _BLOCK_END[opening] not in stripped[len(opening) :]:
            until = _BLOCK_END[opening]
        end += 1
    header, rest = "".join(lines[:end]), "".join(lines[end:])
    return rest if rest.strip() and _LICENCE.search(header) else text


# Characters of names on the first line: they share an embedder's 256 tokens with the chunk.
_FIRST_CHARS = 120
# Characters of the titles of what the document is part of.
_PART_OF_CHARS = 100
# Characters of names and keywords on the second line, which only BM25 reads.
_MORE_CHARS = 300
# Characters of the headings or definitions around a chunk, the nearest of many.
_AROUND_CHARS = 1_000
# Characters of the definitions that begin in a chunk, of which generated code may have a hundred.
_DEFINED_CHARS = 300

_SEPARATOR = re.compile(r"[,;、，]")
_MONTHS = (
    "january|february|march|april|may|june|july|august|september|october|november|december"
    "|janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre"
)
_DATE = re.compile(
    rf"\b\d{{4}}-\d{{2}}-\d{{2}}\b"
    rf"|\b(?:{_MONTHS})\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+\d{{4}}\b"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th|er)?\s+(?:day\s+of\s+)?(?:{_MONTHS}),?\s+\d{{4}}\b"
    r"|\d{4}年(?:\d{1,2}月(?:\d{1,2}日)?)?",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\d{4}")  # which every date has

_start = attrgetter("start")


class Outliner:
    """Outlines of the chunks of one document."""

    def __init__(self, document: Document) -> None:
        title = _full_title(document)
        definitions = [mark for mark in document.marks if mark.kind == "definition"]
        text = skip_licence_header(document.text) if definitions else document.text
        names = rank_names(proper_names(text, lang=document.lang), text, known=title)
        if definitions:
            names = [name for name in names if " " in name]
        dates = _dates(opening(text))
        subjects = [*_outermost(definitions), *names]
        first = [*_within(subjects, _FIRST_CHARS), *dates[:1]]
        path = path_names(document.uri)
        rest = [*path, *_within(_others(document, names, first), _MORE_CHARS), *dates[1:]]
        self._is_nameless = not (title or definitions or path)
        if self._is_nameless:
            first, rest = [], [*first, *rest]
        self._document = document
        self._definitions = sorted(definitions, key=_start)
        self._head = ": ".join(part for part in (title, ", ".join(first)) if part)
        self._rest = ", ".join(rest)
        self._sections = SectionLabels(document.marks)
        self._headings: dict[int, str] = {}

    def outline(self, chunk: Chunk) -> str:
        """Return the outline of a chunk: at most two lines, of which the first may be empty."""
        if chunk.section not in self._headings:
            labels = self._sections.around(chunk.start)
            below = labels[1:] if labels[:1] == (self._document.title,) else labels
            nearest = list(_within(reversed(below), _AROUND_CHARS)) or [*below[-1:]]
            self._headings[chunk.section] = " > ".join(reversed(nearest))
        around = self._headings[chunk.section]
        location = ", ".join(part for part in (around, *self._defined_in(chunk)) if part)
        first = " | ".join(part for part in (self._head, location) if part)
        if self._rest and (first or self._is_nameless):
            first += "\n" + self._rest
        return strip_controls(first or self._rest)

    def _defined_in(self, chunk: Chunk) -> Iterator[str]:
        """Yield the labels of the definitions that begin in a chunk, after its first character."""
        first = bisect_right(self._definitions, chunk.start, key=_start)
        last = bisect_left(self._definitions, chunk.end, key=_start)
        labels = (mark.label for mark in self._definitions[first:last])
        return _within(dict.fromkeys(labels), _DEFINED_CHARS)


def outline(document: Document, chunks: Sequence[Chunk]) -> list[str]:
    """Return the outline of each chunk, as `Outliner.outline`."""
    outliner = Outliner(document)
    return [outliner.outline(chunk) for chunk in chunks]


def _full_title(document: Document) -> str:
    """Return the title after what the document is part of, such as "Handbook > 2. Roads".

    The description of the document's folder is first.
    """
    declared = document.metadata.get("part_of")
    above = declared.split(" > ") if isinstance(declared, str) else []
    parts = [part for part in dict.fromkeys(above) if part != document.title]
    nearest = list(_within(reversed(parts), _PART_OF_CHARS))
    described = document.metadata.get(FOLDER_DESCRIPTION)
    folder = [described] if isinstance(described, str) else []
    own = [document.title] if document.title else []
    return " > ".join([*folder, *reversed(nearest), *own])


def _others(document: Document, names: Sequence[str], first: Sequence[str]) -> Iterator[str]:
    """Yield the declared keywords and the names that are not on the first line."""
    declared = document.metadata.get("keywords")
    if isinstance(declared, str):
        keywords = (keyword.strip() for keyword in _SEPARATOR.split(declared))
        yield from dict.fromkeys(keyword for keyword in keywords if keyword)
    yield from (name for name in names if name not in first)


def _outermost(definitions: Sequence[Mark]) -> list[str]:
    """Return the labels of the definitions that are in no other one."""
    return list(dict.fromkeys(mark.label for mark in definitions if mark.level == 1))


def _dates(text: str) -> list[str]:
    if not _YEAR.search(text):
        return []
    return list(dict.fromkeys(" ".join(match.split()) for match in _DATE.findall(text)))


def _within(names: Iterable[str], chars: int) -> Iterator[str]:
    """Yield names while they fit into so many characters."""
    for name in names:
        chars -= len(name) + 2
        if chars < 0:
            return
        yield name
