"""Outline: the context of a chunk that is made without a model.

An outline has two lines. The first names the document and the position in it: its title, its
outermost definitions (source code) or the proper names and the date of its opening, and the
headings or definitions around the chunk. The second line has the remaining names and is read by
BM25 alone.

The document's terms of highest weight and the list of all its headings were tried on the second
line, too. On source code and on contracts they found no more than the names did, and at the same
weight they made the chunks of one document similar.

Names are recognised by their form, offline and in any cased script: a capitalised word is a proper
name if the document never writes it in lower case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from crx.ingest.split import labels_around
from crx.types import Chunk, Document, Mark

# Characters of the opening, in which contracts, papers and articles name their subject.
OPENING_CHARS = 1500
# Characters of names on the first line: they share a window of 256 tokens with the chunk.
FIRST_CHARS = 120
# Characters of names on the second line, which only BM25 reads.
MORE_CHARS = 300

_BREAK = re.compile(
    r"[\n;:()\[\]{}<>=|\"“”«»\u3000-\u9fff\uac00-\ud7af\uff00-\uffef]+|(?<=[^\W\d_]{2})[.!?]\s|\s{3,}"
)
_WORD = re.compile(r"[^\s,]+,?")
_NAME_WORD = re.compile(r"\w[\w&-]*")
_LOWER = re.compile(r"(?<![\w.@/])[^\W\d_][\w'’-]*")
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
# Words that join the parts of a name.
_JOINING = frozenset({"of", "the", "and", "&", "de", "du", "des", "la", "le", "et", "d/b/a"})
# Words that belong to a name although a comma precedes them.
_SUFFIX = re.compile(r"\s*(?:Inc|LLC|L\.L\.C|Ltd|L\.P|Co|Corp|S\.A|N\.A|GmbH|PLC|plc)\b")


class Outliner:
    """Outlines of the chunks of one document."""

    def __init__(self, document: Document) -> None:
        names = _rank_names(proper_names(document.text), document)
        dates = _dates(document.text[:OPENING_CHARS])
        subjects = [*_outermost(document.marks), *names]
        first = [*_within(subjects, FIRST_CHARS), *dates[:1]]
        rest = [*_within((name for name in names if name not in first), MORE_CHARS), *dates[1:]]
        self._document = document
        self._head = ": ".join(part for part in (document.title, ", ".join(first)) if part)
        self._rest = ", ".join(rest)
        self._headings: dict[int, str] = {}

    def outline(self, chunk: Chunk) -> str:
        """Return the outline of a chunk: two lines, or fewer if there is nothing to name."""
        if chunk.section not in self._headings:
            labels = labels_around(self._document.marks, chunk.start)
            self._headings[chunk.section] = " > ".join(labels)
        first = " | ".join(part for part in (self._head, self._headings[chunk.section]) if part)
        return "\n".join(part for part in (first, self._rest) if part)


def outline(document: Document, chunks: Sequence[Chunk]) -> list[str]:
    """Return the outline of each chunk, as `Outliner.outline`."""
    outliner = Outliner(document)
    return [outliner.outline(chunk) for chunk in chunks]


def _outermost(marks: Sequence[Mark]) -> list[str]:
    """Return the labels of the definitions that are in no other one."""
    top = (mark.label for mark in marks if mark.kind == "definition" and mark.level == 1)
    return list(dict.fromkeys(top))


def proper_names(text: str) -> list[str]:
    """Return the proper names of a text's opening, in order, each once.

    A run of capitalised words is a name if at least one of them is never written in lower case in
    the whole text; joining words (of, de, &) may be between them. A single word that opens a
    sentence and does not occur again is not a name: its capital is that of the sentence.
    """
    common = {word for word in _LOWER.findall(text) if word[0].islower()}
    names: dict[str, str] = {}
    for stretch in _BREAK.split(text[:OPENING_CHARS]):
        for at, name in enumerate(_runs(stretch, common)):
            opens = at == 0 and stretch.lstrip(" #*_>`-").startswith(name)
            if not (opens and " " not in name and text.count(name) < 2):
                names.setdefault(name.casefold(), name)
    return list(names.values())


def _rank_names(names: Sequence[str], document: Document) -> list[str]:
    """Return the names that add a word to the title and to each other, the most specific first.

    Names of several words come before single words, and names whose words recur before the others:
    the subject of a document recurs, an address does not.
    """

    def rank(name: str) -> tuple[bool, bool]:
        words = [w for w in _NAME_WORD.findall(name) if len(w) > 2 and w[0].isupper()]
        recurs = min((document.text.count(word) for word in words), default=0) > 1
        return len(_NAME_WORD.findall(name)) < 2, not recurs

    seen = set(_NAME_WORD.findall(document.title.casefold()))
    ranked = []
    for name in sorted(names, key=rank):
        words = set(_NAME_WORD.findall(name.casefold()))
        if words - seen:
            ranked.append(name)
            seen |= words
    return ranked


def _runs(stretch: str, common: set[str]) -> Iterator[str]:
    run: list[str] = []
    for match in _WORD.finditer(stretch):
        word = match.group()
        core = word.strip(",.'’-`*_#/")
        capital = core[:1].isupper()
        if capital or (run and core in _JOINING):
            run.append(word.rstrip(","))
            if not word.endswith(",") or _SUFFIX.match(stretch, match.end()):
                continue
        yield from _name(run, common)
        run = []
    yield from _name(run, common)


def _name(run: list[str], common: set[str]) -> Iterator[str]:
    while run and run[-1] in _JOINING:
        run = run[:-1]
    words = [word.strip(".'’-`*_#/") for word in run]
    if any(len(w) > 1 and w[0].isupper() and w.casefold() not in common for w in words):
        yield " ".join(run).strip(" .'’-`*_#/")


def _dates(opening: str) -> list[str]:
    return list(dict.fromkeys(" ".join(match.split()) for match in _DATE.findall(opening)))


def _within(names: Iterable[str], chars: int) -> Iterator[str]:
    """Yield names while they fit into so many characters."""
    for name in names:
        chars -= len(name) + 2
        if chars < 0:
            return
        yield name
