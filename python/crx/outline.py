"""The first rung of the context ladder: what situates a chunk, without a model.

An outline has two lines. The first names the document and the place in it: its title, the proper
names and dates of its opening, the headings or definitions around the chunk. The second holds more
words for BM25: the rest of those names, what the document defines or is headed with, and its
heaviest terms that the chunk lacks. Words that the chunk itself holds are of no use to it there.

What names a document is found by form alone, so that it works offline and in any cased script: a
capitalised word is a proper name when the document never writes it in lower case.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from crx.split import labels_around
from crx.types import Chunk, Document, Mark

# Characters of a document that open it: where contracts, papers and articles name their subject.
OPENING_CHARS = 1500
# Characters of names on the first line: what a 256-token embedder can spare of its window.
NAMES_CHARS = 120
# Characters of names and of labels on the second line, which only BM25 reads.
MORE_CHARS = 500
# Heaviest terms of the document that a chunk lacks.
TERMS = 12

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
    labels = list(dict.fromkeys(mark.label for mark in document.marks if mark.kind != "page"))
    telling = [*_outermost(document.marks), *names] if _is_code(document.marks) else names
    first = [*_within(telling, NAMES_CHARS), *dates[:1]]
    head = ": ".join(part for part in (document.title, ", ".join(first)) if part)
    more = [*_within(names, MORE_CHARS), *dates, *_within(labels, MORE_CHARS)]
    more = [word for word in more if word not in first]
    heavy = _heavy_terms(chunks)
    places: dict[int, str] = {}
    lines = []
    for chunk, terms in zip(chunks, heavy, strict=True):
        if chunk.section not in places:
            places[chunk.section] = " > ".join(labels_around(document.marks, chunk.start))
        place = places[chunk.section]
        situating = " | ".join(part for part in (head, place) if part)
        lacking = [word for word in dict.fromkeys([*more, *terms]) if word not in chunk.text]
        lines.append("\n".join(part for part in (situating, ", ".join(lacking)) if part))
    return lines


def _is_code(marks: Sequence[Mark]) -> bool:
    return any(mark.kind == "definition" for mark in marks)


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
            opens = at == 0 and stretch.lstrip().startswith(name)
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


def _heavy_terms(chunks: Sequence[Chunk]) -> list[list[str]]:
    """Return for each chunk the document's heaviest names that it lacks, heaviest first.

    The weight of a capitalised or compound word is how often the document says it. It is taken
    from the document alone, so that one document's edit never moves another's outline.
    """
    counts: Counter[str] = Counter()
    for chunk in chunks:
        counts.update(_TERM.findall(chunk.text))
    heaviest = [word for word, count in counts.most_common(20 * TERMS) if count > 1]
    return [[w for w in heaviest if w not in chunk.text][:TERMS] for chunk in chunks]


# Words whose form says that they name something: a capital within, an underscore, a digit.
_TERM = re.compile(r"\b[^\W\d_]+(?:[A-Z_\d][\w]*)+\b")
