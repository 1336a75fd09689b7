"""Stage of spelling: words of the query that no document has, replaced by words that one has."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache, partial
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from crx import _native
from crx.ingest.common_words import FUNCTION_WORDS
from crx.retrieve._query.codes import regroup_codes
from crx.retrieve.ports import DocumentReader, TermIndex
from crx.retrieve.query_language import SEVERAL, primary_language
from crx.retrieve.search_state import Search
from crx.types import Note

# Words without what looks like an identifier: those are meant as they are. One in a script without
# spaces is none (`unspaced_spans`): a class of letters that leaves such out takes 2 ms to compile.
_LETTER = r"[^\W\d_]"
_START = r"(?<![\w./@:$%-])"
_END = r"(?![\w/@:.]*\w)"
_WORD = re.compile(rf"{_START}{_LETTER}{{4,}}{_END}")
# Names of words with underscores or capitals; those with dots are left as they are.
_IDENTIFIER = re.compile(
    rf"{_START}(?:{_LETTER}[^\W_]*(?:_[^\W_]+)+|[A-Za-z][a-z]+(?:[A-Z][a-z]+)+){_END}"
)
# A part of a name with a digit: `error_404` is not `error_405`.
_NUMBERED = re.compile(r"[^\W_]*\d[^\W_]*")
# Particles and pronouns are written together with an Arabic word: an unknown one is seldom a typing
# error. With corrections, recall@20 fell by a point.
_ARABIC = re.compile(r"[\u0600-\u06ff]")
_WORD_OF_NAME = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+")
# Letters of a word that another was joined to, or cut from, by mistake.
_SHORTEST_PART = 3
# Two words, of which the second may be the first of the next pair.
_PART = rf"{_LETTER}{{{_SHORTEST_PART},}}"
_PAIR = re.compile(rf"{_START}({_PART})(?= ({_PART}){_END})")
_QUOTED = re.compile(r"[\"“«][^\"“”«»]*[\"”»]")
# A longer query was not typed, and of more unknown words not all are looked up: each takes a pass
# over the terms of the index.
_LONGEST_QUERY = 1000
_MOST_REPLACED = 8
# Terms that are looked up in the documents, and the chunks that are read for each.
_LOOKED_UP = 5
# A replacement's similarity (Ratcliff and Obershelp, 1988) must be above this. A short word that is
# merely not used in these documents has neighbours, too: film and file, morts and ports.
_ALIKE = 0.8
_SHORTEST = 5
# Chunks that are counted of a word to tell the commoner of two.
_COUNTED = 200


class _Correction(NamedTuple):
    """A query whose unknown words are replaced, and the pairs of words."""

    query: str
    replaced: tuple[tuple[str, str], ...]

    @property
    def note(self) -> Note:
        """The note to the person who searches."""
        words = ", ".join(f'"{word}"' for word, _ in self.replaced)
        verb = "is" if len(self.replaced) == 1 else "are"
        return Note(f"showing results for: {self.query} ({words} {verb} in no document)", "query")


def correct_query(search: Search) -> Search:
    """Return the search with the words of its query that no document has replaced, and a note."""
    searcher = search.searcher
    terms, documents, langs = searcher.terms, searcher.documents, searcher.langs
    query = search.query
    asked = _QUOTED.sub(" ", query) if len(query) <= _LONGEST_QUERY else ""
    is_word = partial(is_known_word, terms=terms, langs=langs)
    replaced = regroup_codes(asked, terms=terms, documents=documents, is_word=is_word)
    query = _replace_words(query, replaced)
    spelled = correct_spelling(query, terms=terms, documents=documents, langs=langs)
    if spelled is None and not replaced:
        return search._replace(query=search.query)
    query, pairs = spelled or (query, ())
    corrected = _Correction(query, (*replaced.items(), *pairs))
    return search._replace(query=query).noting(corrected.note)


def correct_spelling(
    query: str, *, terms: TermIndex, documents: DocumentReader, langs: Sequence[str]
) -> _Correction | None:
    """Return the query with its unknown words replaced; None if there are none, or nothing is like.

    A word is unknown if no stem of it, in the languages of the index, is in any document. What is
    quoted is left as it is, and so is a query with several unknown words of which one is like no
    word of the documents: it is in another language.
    """
    if len(query) > _LONGEST_QUERY:
        return None
    asked = _QUOTED.sub(" ", query)
    function_words = find_function_words(query, langs)
    known = _known_words(asked, terms, langs, function_words)
    if all(known.values()) and not _IDENTIFIER.search(asked):
        return None

    def is_known(word: str) -> bool:
        if word not in known:
            known[word] = is_known_word(word, terms=terms, langs=langs)
        return known[word]

    replaced = _join_parts(asked, is_known, function_words)
    rest = _replace_words(asked, replaced)
    words = [
        word
        for word in dict.fromkeys(_WORD.findall(rest))
        if not _native.unspaced_spans(word)
        if word.casefold() not in function_words and not _ARABIC.match(word)
    ]
    unknown = [word for word in words if not is_known(word)]
    for word in unknown[:_MOST_REPLACED]:
        replaced[word] = _replacement(word, terms, documents, is_known, langs)
        if len(unknown) > 1 and not replaced[word]:
            return None
    for name in list(dict.fromkeys(_IDENTIFIER.findall(rest)))[:_MOST_REPLACED]:
        replaced[name] = _similar_identifier(name, terms, documents, is_known)
    replaced = {word: found for word, found in replaced.items() if found}
    if not replaced:
        return None
    return _Correction(_replace_words(query, replaced), tuple(replaced.items()))


def _known_words(
    query: str, terms: TermIndex, langs: Sequence[str], function_words: frozenset[str]
) -> dict[str, bool]:
    """Return which words of a query documents have, but function words, looked up at once."""
    parts = (part for pair in _PAIR.findall(query) for part in pair)
    words = dict.fromkeys((*parts, *_WORD.findall(query)))
    content = [word for word in words if word.casefold() not in function_words]
    known = terms.are_known(content, langs=_analyzed_langs(langs))
    return dict(zip(content, known, strict=True))


def _replacement(
    word: str,
    terms: TermIndex,
    documents: DocumentReader,
    is_known: Callable[[str], bool],
    langs: Sequence[str],
) -> str:
    """Return what is meant by an unknown word, or "" if it is short or like no other."""
    if len(word) < _SHORTEST:
        return ""
    return (
        _most_similar(word, terms, documents)
        or _split(word, terms, documents, is_known)
        or _compound(word, terms, documents, langs)
    )


def _replace_words(query: str, replaced: Mapping[str, str]) -> str:
    """Return a query with words replaced, but for those in quotes, paths and addresses."""
    if not replaced:
        return query
    any_of_them = "|".join(map(re.escape, replaced))
    found = re.compile(rf"{_QUOTED.pattern}|{_START}(?:{any_of_them}){_END}")
    return found.sub(lambda match: replaced.get(match[0], match[0]), query)


def _join_parts(
    query: str, is_known: Callable[[str], bool], function_words: frozenset[str]
) -> dict[str, str]:
    """Return the pairs of words, at least one unknown, that are a known word if joined."""
    joined: dict[str, str] = {}
    for match in _PAIR.finditer(query):
        first, second = match.groups()
        if _native.unspaced_spans(first + second):
            continue
        is_unknown = any(
            part.casefold() not in function_words and not is_known(part) for part in (first, second)
        )
        if is_unknown and is_known((first + second).casefold()):
            joined[f"{first} {second}"] = first + second
    return joined


def _split(
    word: str, terms: TermIndex, documents: DocumentReader, is_known: Callable[[str], bool]
) -> str:
    """Return an unknown word as two words that follow each other in a document, or ""."""
    for at in range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1):
        first, second = word[:at], word[at:]
        if not (is_known(first) and is_known(second)):
            continue
        pair = re.compile(rf"\b{first}\s+{second}\b", re.IGNORECASE)
        keys, _ = terms.search(f"{first} {second}", k=_LOOKED_UP)
        if any(pair.search(row.text) for row in documents.chunks(np.asarray(keys, dtype=np.int64))):
            return f"{first} {second}"
    return ""


def _compound(word: str, terms: TermIndex, documents: DocumentReader, langs: Sequence[str]) -> str:
    """Return a word that begins with an unknown one, or has it as a part, or ""."""
    stems = {"".join(_native.analyze(word, lang)) for lang in ("", *langs)}
    long = sorted(stem for stem in stems if len(stem) >= _SHORTEST)
    # What has a longer stem has the shorter one that it begins with.
    for stem in (each for each in long if not each.startswith(tuple(set(long) - {each}))):
        for term in terms.compounds_of(stem, k=_LOOKED_UP):
            for written in _written_forms(term, terms, documents, _WORD):
                return written
    return ""


def _similar_identifier(
    name: str, terms: TermIndex, documents: DocumentReader, is_known: Callable[[str], bool]
) -> str:
    """Return the identifier of a document that is most like an unknown one, or "".

    A part with a digit stays as it is. A name whose words are all known is replaced only by one
    that is one edit away: another of its words may be meant.
    """
    whole, *_ = _native.analyze(name) or [""]
    if terms.has_term(whole):
        return ""
    is_of_known_words = all(map(is_known, _WORD_OF_NAME.findall(name)))
    similar = {
        found: _likeness(name.casefold(), found.casefold())
        for term in terms.similar_terms(whole, k=_LOOKED_UP)
        for found in _written_forms(term, terms, documents, _IDENTIFIER)
        if _NUMBERED.findall(name) == _NUMBERED.findall(found)
        if not is_of_known_words or _is_one_edit(name.casefold(), found.casefold())
    }
    best = max(similar, key=lambda found: similar[found], default="")
    return best if best and similar[best] > _ALIKE else ""


def find_function_words(query: str, langs: Sequence[str]) -> frozenset[str]:
    """Return the function words, such as "the", that a query may have, in lower case.

    They are those of English, of the languages of the index, `langs`, and of any other language of
    which the query has several.
    """
    return _find_function_words(query, tuple(langs))


# Asked by more than one step of a search.
@lru_cache(maxsize=16)
def _find_function_words(query: str, langs: tuple[str, ...]) -> frozenset[str]:
    words = set(re.findall(r"\w+", query.casefold()))
    own = {"en", *map(primary_language, langs)}
    return frozenset().union(
        *(
            of_lang
            for lang, of_lang in FUNCTION_WORDS.items()
            if lang in own or len(words & of_lang) >= SEVERAL
        )
    )


def is_known_word(word: str, *, terms: TermIndex, langs: Sequence[str]) -> bool:
    """Return whether a document has a term of a word, in a language of the index or in English."""
    return terms.are_known([word], langs=_analyzed_langs(langs))[0]


def _analyzed_langs(langs: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(("", "en", *langs)))


def _most_similar(word: str, terms: TermIndex, documents: DocumentReader) -> str:
    """Return the word of a document that is most like a word, or "".

    Words that are one edit away come first, the commonest before the others.
    """
    folded = "".join(_native.analyze(word)) or word.casefold()
    bare = _without_accents(word)
    ranked: dict[str, tuple[bool, float]] = {}
    # A word without its ending is looked for with the word.
    forms = [word.casefold()] + [folded] * (not word.casefold().startswith(folded))
    for term in dict.fromkeys(
        term for form in forms for term in terms.similar_terms(form, k=_LOOKED_UP)
    ):
        for written in map(str.casefold, _written_forms(term, terms, documents, _WORD)):
            other = _without_accents(written)
            is_swap = bare != other and sorted(bare) == sorted(other)
            likeness = 1.0 if is_swap and _is_one_edit(bare, other) else _likeness(bare, other)
            if likeness <= _ALIKE:
                continue
            if _is_one_edit(bare, other):
                ranked[written] = True, len(terms.chunks_with(term, k=_COUNTED)) + likeness
            else:
                ranked[written] = False, likeness
    return max(ranked, key=lambda written: ranked[written], default="")


def _is_one_edit(word: str, other: str) -> bool:
    """Return whether two words differ by one letter, or by two neighbours that are swapped."""
    shorter, longer = sorted((word, other), key=len)
    same = takewhile(lambda pair: pair[0] == pair[1], zip(shorter, longer, strict=False))
    start = len(list(same))
    rest, long_rest = shorter[start:], longer[start:]
    if len(shorter) < len(longer):
        return rest == long_rest[1:]
    is_swap = rest[:2] == long_rest[1::-1] and rest[2:] == long_rest[2:]
    return bool(rest) and (rest[1:] == long_rest[1:] or is_swap)


def _likeness(word: str, other: str) -> float:
    """Return how alike two words are, from 0 to 1 (Ratcliff and Obershelp 1988)."""
    return SequenceMatcher(None, word, other).ratio()


def _without_accents(word: str) -> str:
    decomposed = unicodedata.normalize("NFD", word.casefold())
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def _written_forms(
    term: str, terms: TermIndex, documents: DocumentReader, pattern: re.Pattern[str]
) -> list[str]:
    """Return the words of documents whose term is the given one, as they are written."""
    forms: dict[str, None] = {}
    # Most words begin otherwise, and are not read.
    alike = re.compile(rf"(?=(?i:{re.escape(term[:2])})){pattern.pattern}")
    for row in documents.chunks(terms.chunks_with(term, k=_LOOKED_UP)):
        for text in (row.text, row.outline, row.context):
            for word in dict.fromkeys(alike.findall(text)):
                if term in _native.analyze(word, row.lang):
                    forms[word] = None
    return list(forms)
