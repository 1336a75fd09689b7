"""Spelling correction of a query: words that no document has, replaced by words that one has."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np

from crx import _native
from crx.ingest.common_words import FUNCTION_WORDS

# Words in scripts with spaces, without what looks like an identifier: those are meant as they are.
_WORD = re.compile(
    r"(?<![\w./@:$%-])[^\W\d_\u0e00-\u0e7f\u3040-\u9fff\uac00-\ud7af]{4,}(?![\w/@:.]*\w)"
)
_QUOTED = re.compile(r"[\"“«][^\"”»]*[\"”»]")
# One word of so many may be unknown.
_UNKNOWN_SHARE = 3
# Terms that are looked up in the documents, and the chunks that are read for each.
_TERMS = 4
_CHUNKS = 5
# A replacement's similarity (Ratcliff and Obershelp, 1988) must be above this. A short word that is
# merely not used in these documents has neighbours, too: film and file, morts and ports.
_ALIKE = 0.8
_SHORTEST = 5


@dataclass(frozen=True, slots=True)
class Correction:
    """A query whose unknown words are replaced, and the pairs of words."""

    query: str
    replaced: tuple[tuple[str, str], ...]

    @property
    def note(self) -> str:
        """What is said to the person who searches."""
        words = ", ".join(f'"{word}"' for word, _ in self.replaced)
        verb = "is" if len(self.replaced) == 1 else "are"
        return f"showing results for: {self.query} ({words} {verb} in no document)"


def correct_spelling(
    query: str, *, lexical: _native.Lexical, store: _native.Store, langs: Sequence[str]
) -> Correction | None:
    """Return the query with its unknown words replaced; None if there are none, or nothing is like.

    A word is unknown if no stem of it, in the languages of the index, is in any document. What is
    quoted is left as it is, and so is a query with many unknown words: it is in another language.
    """
    words = [
        word
        for word in dict.fromkeys(_WORD.findall(_QUOTED.sub(" ", query)))
        if not any(word.casefold() in common for common in FUNCTION_WORDS.values())
    ]
    unknown = [word for word in words if not _is_known(word, lexical, langs)]
    if len(unknown) > max(1, len(words) // _UNKNOWN_SHARE):
        return None
    long = [word for word in unknown if len(word) >= _SHORTEST]
    similar = ((word, _most_similar(word, lexical, store)) for word in long)
    replaced = {word: found for word, found in similar if found}
    if not replaced:
        return None
    corrected = _WORD.sub(lambda match: replaced.get(match.group(), match.group()), query)
    return Correction(corrected, tuple(replaced.items()))


def _is_known(word: str, lexical: _native.Lexical, langs: Sequence[str]) -> bool:
    terms = {term for lang in ("", "en", *langs) for term in _native.analyze(word, lang)}
    return any(lexical.has_term(term) for term in terms)


def _most_similar(word: str, lexical: _native.Lexical, store: _native.Store) -> str:
    """Return the word of a document that is most like a word, or ""."""
    folded = "".join(_native.analyze(word)) or word.casefold()
    candidates = {
        written: SequenceMatcher(None, _without_accents(word), _without_accents(written)).ratio()
        for term in dict.fromkeys(
            lexical.similar_terms(word.casefold(), k=_TERMS)
            + lexical.similar_terms(folded, k=_TERMS)
        )
        for written in _written_forms(term, lexical, store)
    }
    best = max(candidates, key=lambda written: candidates[written], default="")
    return best if best and candidates[best] > _ALIKE else ""


def _without_accents(word: str) -> str:
    decomposed = unicodedata.normalize("NFD", word.casefold())
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def _written_forms(term: str, lexical: _native.Lexical, store: _native.Store) -> list[str]:
    """Return the words of documents whose term is the given one, in lower case."""
    keys, _ = lexical.search(term, k=_CHUNKS)
    forms: dict[str, None] = {}
    for row in store.chunks(np.asarray(keys, dtype=np.int64)):
        for text in (row.text, row.outline, row.context):
            for word in dict.fromkeys(_WORD.findall(text.casefold())):
                if word.startswith(term[:2]) and term in _native.analyze(word, row.lang):
                    forms[word] = None
    return list(forms)
