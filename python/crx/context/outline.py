"""The first rung of the context ladder: what situates a chunk, without a model.

An outline has two lines. The first names the document and the place in it: its title, what it
defines (source code) or the proper names and the date of its opening, the headings or definitions
around the chunk. The second holds the rest of those names, for BM25 alone.

The document's heaviest terms, and the list of all its headings, were tried on the second line
too: on source code and contracts alike they found no more than the names did, and at the same
weight they made chunks of one document look alike.

What names a document is found by form alone, so that it works offline and in any cased script: a
capitalised word is a proper name when the document never writes it in lower case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from crx.ingest.split import labels_around
from crx.types import Chunk, Document, Mark

# Characters of a document that open it: where contracts, papers and articles name their subject.
OPENING_CHARS = 1500
# Characters of names on the first line: what a 256-token embedder can spare of its window.
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
# Words that join the parts of a name, in the languages whose names have such.
_JOINING = frozenset({"of", "the", "and", "&", "de", "du", "des", "la", "le", "et", "d/b/a"})
# What may follow a name after a comma and still belong to it.
_SUFFIX = re.compile(r"\s*(?:Inc|LLC|L\.L\.C|Ltd|L\.P|Co|Corp|S\.A|N\.A|GmbH|PLC|plc)\b")


def outline(document: Document, chunks: Sequence[Chunk]) -> list[str]:
    """Return the outline of each chunk: two lines, or fewer where there is nothing to say."""
    names = _most_telling(proper_names(document.text), document)
    dates = _dates(document.text[:OPENING_CHARS])
    telling = [*_outermost(document.marks), *names]
    first = [*_within(telling, FIRST_CHARS), *dates[:1]]
    head = ": ".join(part for part in (document.title, ", ".join(first)) if part)
    more = [*_within((name for name in names if name not in first), MORE_CHARS), *dates[1:]]
    places: dict[int, str] = {}
    outlines = []
    for chunk in chunks:
        if chunk.section not in places:
            places[chunk.section] = " > ".join(labels_around(document.marks, chunk.start))
        situating = " | ".join(part for part in (head, places[chunk.section]) if part)
        outlines.append("\n".join(part for part in (situating, ", ".join(more)) if part))
    return outlines


def _outermost(marks: Sequence[Mark]) -> list[str]:
    """Return the labels of the definitions that stand in no other: what a source file is about."""
    top = (mark.label for mark in marks if mark.kind == "definition" and mark.level == 1)
    return list(dict.fromkeys(top))


def proper_names(text: str) -> list[str]:
    """Return the proper names of a text's opening, in order, each once.

    A run of capitalised words is a name when at least one of them never stands in lower case in the
    whole text; words that join names (of, de, &) may stand between them. A single word that opens a
    sentence and does not come again is none: its capital is the sentence's.
    """
    common = {word for word in _LOWER.findall(text) if word[0].islower()}
    names: dict[str, str] = {}
    for stretch in _BREAK.split(text[:OPENING_CHARS]):
        for at, name in enumerate(_runs(stretch, common)):
            opens = at == 0 and stretch.lstrip(" #*_>`-").startswith(name)
            if not (opens and " " not in name and text.count(name) < 2):
                names.setdefault(name.casefold(), name)
    return list(names.values())


def _most_telling(names: Sequence[str], document: Document) -> list[str]:
    """Return the names that add a word to the title and to each other, most telling first.

    A name of several words tells more than one of one, and one whose words recur is of the
    subject, where one that does not is of an address.
    """

    def rank(name: str) -> tuple[bool, bool]:
        words = [w for w in _NAME_WORD.findall(name) if len(w) > 2 and w[0].isupper()]
        recurs = min((document.text.count(word) for word in words), default=0) > 1
        return len(_NAME_WORD.findall(name)) < 2, not recurs

    seen = set(_NAME_WORD.findall(document.title.casefold()))
    telling = []
    for name in sorted(names, key=rank):
        words = set(_NAME_WORD.findall(name.casefold()))
        if words - seen:
            telling.append(name)
            seen |= words
    return telling


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
