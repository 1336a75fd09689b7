"""Proper names of a text's opening, recognised by their form, offline.

In scripts with capitals, a run of capitalised words is a name if at least one of them is neither a
common word (see `common_words`) nor written in lower case elsewhere in the document. Chinese and
Japanese have no capitals: there a name is a title in its own brackets, or foreign names joined by a
middle dot, besides those in other scripts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from crx._context.opening import opening
from crx.ingest.common_words import FUNCTION_WORDS, GENERIC_WORDS, IMPERATIVES

_BREAK = re.compile(
    r"[\n\t;:()\[\]{}<>=|\"“”«»\u3000-\u9fff\uac00-\ud7af\uff00-\uffef]+"
    r"|(?<=[^\W_]{2})[.!?]\s|\s{3,}"
)
_WORD = re.compile(r"[^\s,]+,?")
_NAME_WORD = re.compile(r"\w[\w&-]*")
_LOWER = re.compile(r"(?<![\w.@/])[^\W\d_][\w'’-]*")
# Numbers of sections, such as 3.1, B.1.2. and (a), and bullets.
_NUMBERING = re.compile(r"(?:[A-Za-z]\.)?\d[\d.]*\.?|[a-zA-Z]\.[\d.]+|[-#*•–—]+")
_EDGES = ".'’-`*_#/?!…"
# Words that join the parts of a name.
_JOINING = frozenset({"of", "the", "and", "&", "de", "du", "des", "la", "le", "et", "d/b/a"})
# Words before a name that are not part of it.
_LEADING = _JOINING.union(IMPERATIVES, *FUNCTION_WORDS.values())
# An acronym may be a word of another language: the UN.
_LEADING_CAPITALS = _JOINING | FUNCTION_WORDS["en"]
# Words that belong to a name although a comma precedes them.
_SUFFIX = re.compile(r"\s*(?:Inc|LLC|L\.L\.C|Ltd|L\.P|Co|Corp|S\.A|N\.A|GmbH|PLC|plc)\b")
# A work's title in 《》 or 『』, and a transcribed name in katakana, such as ジョン・スミス.
_BRACKETED = re.compile(r"[《『]([^《》『』\n]{2,30})[》』]")
_DOTTED = re.compile(r"[\u30a1-\u30fa\u30fc]{2,12}(?:・[\u30a1-\u30fa\u30fc]{2,12})+")
# A shorter word is part of a name but none alone, unless it is an acronym.
_SHORTEST = 3


def proper_names(text: str, *, lang: str = "") -> list[str]:
    """Return the proper names of a text's opening, in order, each once.

    A single word that opens a sentence and does not occur again is not a name: its capital is that
    of the sentence. In Vietnamese (`lang="vi"`), where a word is a syllable, no single one is, if
    it has an accent.
    """
    # A word of a text is a word of one of its stretches without space, most of which recur.
    stretches = " ".join(set(text.split()))
    common = {word for word in set(_LOWER.findall(stretches)) if word[0].islower()}
    head = opening(text)
    names: dict[str, str] = {}
    for stretch in _BREAK.split(head):
        for name in _names(stretch, text, common):
            if not (lang == "vi" and " " not in name and not name.isascii()):
                names.setdefault(name.casefold(), name)
    for pattern in (_BRACKETED, _DOTTED):
        for match in pattern.finditer(head):
            name = match[match.lastindex or 0]
            names.setdefault(name.casefold(), name)
    return list(names.values())


def rank_names(names: Sequence[str], text: str, *, known: str = "") -> list[str]:
    """Return the names that add a word to `known` and to each other, the most specific first.

    Names of several words come before single words, and names whose words recur before the others:
    the subject of a document recurs, an address does not.
    """

    def rank(name: str) -> tuple[bool, bool]:
        words = [w for w in _NAME_WORD.findall(name) if len(w) > 2 and w[0].isupper()]
        recurs = min((text.count(word) for word in words), default=0) > 1
        return len(_NAME_WORD.findall(name)) < 2, not recurs

    seen = set(_NAME_WORD.findall(known.casefold()))
    ranked = []
    for name in sorted(names, key=rank):
        words = set(_NAME_WORD.findall(name.casefold()))
        if words - seen:
            ranked.append(name)
            seen |= words
    return ranked


def _names(stretch: str, text: str, common: set[str]) -> Iterator[str]:
    """Yield the names of a stretch of text without a break."""
    start = stretch.lstrip(" #*_>`-")
    for at, run in enumerate(_runs(stretch)):
        opens = at == 0 and start.startswith(run[0])
        words = _trim(run, text, common if opens else ())
        name = " ".join(words).strip(" " + _EDGES)
        if not name or not any(_is_proper(word, common) for word in words):
            continue
        if len(words) > 1 or _stands_alone(name, text, opens=opens):
            yield name


def _runs(stretch: str) -> Iterator[list[str]]:
    """Yield the runs of capitalised words, with the words that join them."""
    run: list[str] = []
    for match in _WORD.finditer(stretch):
        word = match.group()
        core = word.strip("," + _EDGES)
        if core[:1].isupper() or (run and core in _JOINING):
            if run and _begins_sentence(core) and run[-1].strip(_EDGES).isupper():
                yield run
                run = []
            run.append(word.rstrip(","))
            if not word.endswith(",") or _SUFFIX.match(stretch, match.end()):
                continue
        if run:
            yield run
        run = []
    if run:
        yield run


def _begins_sentence(word: str) -> bool:
    """Return whether a function word has a capital, as after a heading without a full stop."""
    return word.istitle() and word.casefold() in FUNCTION_WORDS["en"]


def _trim(run: list[str], text: str, common: Collection[str]) -> list[str]:
    """Return a run without numbers and function words before it and joining words after it.

    `common` are the words of lower case in the document, if the run opens a sentence. Such a word
    has its capital from there if the rest of the run also occurs without it.
    """
    while run and _ends_no_name(run[-1]):
        run = run[:-1]
    while run and (_NUMBERING.fullmatch(run[0]) or _is_leading(run[0])):
        run = run[1:]
    first = run[0].strip(_EDGES).casefold() if len(run) > 1 else ""
    if first in common and text.count(" ".join(run[1:])) > text.count(" ".join(run)):
        return run[1:]
    return run


def _ends_no_name(word: str) -> bool:
    """Return whether a word joins others, or begins the sentence after a heading: OBJECTIVE To."""
    core = word.strip(_EDGES)
    return core in _JOINING or (not core.isupper() and core.casefold() in FUNCTION_WORDS["en"])


def _is_leading(word: str) -> bool:
    core = word.strip(_EDGES)
    return core.casefold() in (_LEADING_CAPITALS if core.isupper() else _LEADING)


def _is_proper(word: str, common: set[str]) -> bool:
    core = word.strip(_EDGES)
    folded = core.casefold()
    return (
        len(core) > 1
        and core[0].isupper()
        and folded not in common
        and not _is_leading(word)
        and folded not in GENERIC_WORDS
        and not _NUMBERING.fullmatch(core)
    )


def _stands_alone(name: str, text: str, *, opens: bool) -> bool:
    """Return True if a single word is a name: long enough, and not capital by its position."""
    if len(name) < _SHORTEST and not (name.isupper() and text.count(name) > 1):
        return False
    return not (opens and text.count(name) < 2)
