"""Language detection for queries, which are short.

The script is decided first; most scripts name their languages. For Latin letters the language
detector is used if it is reliable, which it seldom is for a few words. Otherwise the query is
assumed to be in one of the languages of the index.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from crx import _native
from crx.protocols import LanguageLimited

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
_NON_LATIN_LANGS = frozenset(lang for langs in _LANGS_OF_SCRIPT.values() for lang in langs)
# A character of these scripts carries about as much text as two letters.
_DENSE_SCRIPTS = frozenset({"cjk", "hangul", "hiragana", "katakana"})


def detect_query_langs(query: str, langs: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the languages (ISO 639-1) that a query may be in; empty if they are unknown.

    `langs` are the languages of the index. A script without an entry in the table is returned by
    its name, in place of a language.
    """
    query = unicodedata.normalize("NFKC", query)
    script = _dominant_script(query)
    if script == "latin":
        if detected := _native.detect_lang(query):
            return (detected,)
        return tuple(lang for lang in langs if lang and lang not in _NON_LATIN_LANGS)
    if not script:
        return ()
    candidates = _LANGS_OF_SCRIPT.get(script, (script,))
    return tuple(lang for lang in candidates if lang in langs) or candidates


def declared_langs(model: object) -> tuple[str, ...]:
    """Return the languages (ISO 639-1) that a model declares to read; empty if it declares none."""
    return model.languages if isinstance(model, LanguageLimited) else ()


def unread_langs(model: object, query: str, langs: Sequence[str]) -> tuple[str, ...]:
    """Return the languages that a query may be in, if a model declares others only, else ().

    `langs` are the languages of the index.
    """
    declared = declared_langs(model)
    detected = detect_query_langs(query, langs) if declared else ()
    return () if set(detected) & set(declared) else detected


def _dominant_script(query: str) -> str:
    """Return the script of most of a query, or "" if it has no letters."""
    weights: Counter[str] = Counter()
    for script in _letter_scripts(query):
        weights[script] += 2 if script in _DENSE_SCRIPTS else 1
    # Han characters beside kana are Japanese; no other language uses kana.
    if kana := weights.keys() & {"hiragana", "katakana"}:
        weights[min(kana)] += weights.pop("cjk", 0)
    return max(weights, key=lambda script: weights[script], default="")


def _letter_scripts(query: str) -> Iterable[str]:
    for letter in query:
        if letter.isalpha():
            yield unicodedata.name(letter, "unknown").partition(" ")[0].lower()
