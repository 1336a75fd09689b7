"""Language detection for queries, which are short.

The script is decided first; most scripts name their languages. For Latin letters the language
detector is used if it is reliable, which it seldom is for a few words. Otherwise the query is
assumed to be in one of the languages of the index: in that with most of its function words, or in
one that is written with its letters. Several function words tell of a language that the index has
not.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from crx import _native
from crx.ingest.common_words import FUNCTION_WORDS
from crx.protocols import Embedder

# The script, as the first word of a letter's Unicode name, and the languages that use it.
_LANGS_OF_SCRIPT = {
    "arabic": ("ar", "fa", "ur"),
    "armenian": ("hy",),
    "bengali": ("bn",),
    "cjk": ("zh", "ja"),
    "cyrillic": ("ru", "uk", "bg", "sr", "mk", "be", "kk"),
    "devanagari": ("hi", "mr", "ne"),
    "georgian": ("ka",),
    "greek": ("el",),
    "gujarati": ("gu",),
    "hangul": ("ko",),
    "hebrew": ("he", "yi"),
    "hiragana": ("ja",),
    "katakana": ("ja",),
    "tamil": ("ta",),
    "telugu": ("te",),
    "thai": ("th",),
}
# The setting of an index that records which languages its embedder declares to read.
EMBEDDER_LANGUAGES = "embedder_languages"
_NON_LATIN_LANGS = frozenset(lang for langs in _LANGS_OF_SCRIPT.values() for lang in langs)
# A character of these scripts carries about as much text as two letters.
_DENSE_SCRIPTS = frozenset({"cjk", "hangul", "hiragana", "katakana"})
# A word, with the apostrophe after it, which makes it an elided one. Single letters tell nothing:
# "a" is an article in English and a verb in French.
_WORD = re.compile(r"\w\w+['’]?|\w['’]")
_ELIDED_WORDS = {"fr": frozenset({"c'", "d'", "j'", "l'", "m'", "n'", "qu'", "s'", "t'"})}
# With fewer function words of a language, and no document in it, a query is not taken to be in it:
# "car", "pour" and "son" are French function words.
SEVERAL = 3
# Letters with diacritics, and ligatures. Any may occur in a language that is not listed.
_LETTERS = {"en": frozenset(), "fr": frozenset("àâæçèéêëîïôùûüÿœ")}


def detect_query_langs(query: str, langs: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the languages (ISO 639-1) that a query may be in; empty if they are unknown.

    `langs` are the languages of the index. A script without an entry in the table is returned by
    its name, instead of a language.
    """
    query = unicodedata.normalize("NFKC", query)
    script = _dominant_script(query)
    langs = [*dict.fromkeys(primary_language(lang) for lang in langs)]
    if script == "latin":
        if detected := _native.detect_lang(query):
            return (detected,)
        latin = [lang for lang in langs if lang and lang not in _NON_LATIN_LANGS]
        return tuple(_likely_langs(query.casefold(), [*latin, *_other_langs(query, latin)]))
    if not script:
        return ()
    candidates = _LANGS_OF_SCRIPT.get(script, (script,))
    return tuple(lang for lang in candidates if lang in langs) or candidates


def primary_language(lang: str) -> str:
    """Return the language of a tag such as `pt-BR`."""
    return lang.partition("-")[0].lower()


def is_foreign(query: str, langs: Sequence[str]) -> bool:
    """Return whether a query is in a language that no document of an index is in.

    `langs` are the languages of the index; if all are unknown, no query is foreign.
    """
    return _is_foreign(query, tuple(langs))


# Asked by more than one step of a search; the detection takes a tenth of a millisecond.
@lru_cache(maxsize=16)
def _is_foreign(query: str, langs: tuple[str, ...]) -> bool:
    known = {primary_language(lang) for lang in langs if lang}
    asked = detect_query_langs(query, langs)
    return bool(asked and known) and known.isdisjoint(asked)


def declared_langs(model: object) -> tuple[str, ...]:
    """Return the languages (ISO 639-1) that a model declares to read; empty if it declares none.

    A model that declares them is a `LanguageLimited`.
    """
    languages: tuple[str, ...] = getattr(model, "languages", ())
    return languages


def unread_langs(model: object, query: str, langs: Sequence[str]) -> tuple[str, ...]:
    """Return the languages that a query may be in, if a model declares others only, else ().

    `langs` are the languages of the index.
    """
    declared = declared_langs(model)
    detected = detect_query_langs(query, langs) if declared else ()
    return () if set(detected) & set(declared) else detected


def undeclared_langs(declared: Sequence[str], langs: Sequence[str]) -> list[str]:
    """Return the known languages of an index that are not declared, none if none is declared."""
    return [lang for lang in langs if declared and lang and primary_language(lang) not in declared]


def _other_langs(query: str, langs: Sequence[str]) -> list[str]:
    """Return languages that a query has several function words of, but some, if these have any."""
    if not FUNCTION_WORDS.keys() >= set(langs):
        return []
    words = _words(query.casefold())
    others = [lang for lang in FUNCTION_WORDS if lang not in langs]
    return [lang for lang in others if _count_function_words(words, lang) >= SEVERAL]


def _likely_langs(query: str, langs: Sequence[str]) -> Sequence[str]:
    """Return those of some languages that a query in Latin letters is likely to be in, or all.

    A language with at most half of another's function words is not likely.
    """
    words = _words(query)
    counts = [_count_function_words(words, lang) for lang in langs]
    if most := max(counts, default=0):
        langs = [lang for lang, count in zip(langs, counts, strict=True) if 2 * count > most]
    accented = {letter for letter in query if letter.isalpha() and not letter.isascii()}
    return [lang for lang in langs if accented <= _LETTERS.get(lang, accented)] or langs


def _words(query: str) -> list[str]:
    return [word.replace("’", "'") for word in _WORD.findall(query)]


def _count_function_words(words: Sequence[str], lang: str) -> int:
    known, elided = FUNCTION_WORDS.get(lang, ()), _ELIDED_WORDS.get(lang, ())
    return sum(word in elided or word.rstrip("'") in known for word in words)


def _dominant_script(query: str) -> str:
    """Return the script of most of a query, or "" if it has no letters."""
    if query.isascii():
        return "latin" if any(map(str.isalpha, query)) else ""
    weights: Counter[str] = Counter()
    for letter, count in Counter(filter(str.isalpha, query)).items():
        script = "latin" if letter.isascii() else _letter_script(letter)
        weights[script] += (2 if script in _DENSE_SCRIPTS else 1) * count
    # Han characters beside kana are Japanese; no other language uses kana.
    if kana := weights.keys() & {"hiragana", "katakana"}:
        weights[min(kana)] += weights.pop("cjk", 0)
    return max(weights, key=lambda script: weights[script], default="")


def _letter_script(letter: str) -> str:
    return unicodedata.name(letter, "unknown").partition(" ")[0].lower()


def record_languages(embedder: Embedder) -> dict[str, str]:
    """Return the setting that records in an index which languages its embedder reads."""
    return {EMBEDDER_LANGUAGES: " ".join(declared_langs(embedder))}
