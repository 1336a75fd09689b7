"""Which language is a query in? A few words are little to tell it by.

The script comes first, which settles most languages by itself. Then what is detected, where that is
reliable: of queries in Latin letters it seldom is. Then the languages of the index, since a query
is most often asked in one of them.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from crx import _native

# The first word of a letter's name in Unicode, and the languages written so.
_LANGS = {
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
_ELSEWHERE = frozenset(lang for langs in _LANGS.values() for lang in langs)
# One such character says about as much as two letters.
_DENSE = frozenset({"cjk", "hangul", "hiragana", "katakana"})


def query_langs(query: str, langs: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the languages (ISO 639-1) that a query may be in; none where nothing tells.

    `langs` are those of the index. A script that is not known here stands for its languages.
    """
    query = unicodedata.normalize("NFKC", query)
    script = _script(query)
    if script == "latin":
        detected = _native.detect_lang(query)
        return _one(detected) or tuple(lang for lang in langs if lang and lang not in _ELSEWHERE)
    written = _LANGS.get(script, _one(script))
    return tuple(lang for lang in written if lang in langs) or written


def _script(query: str) -> str:
    """Return the script that says most of a query; "" where it has no letters."""
    said: Counter[str] = Counter()
    for script in _scripts(query):
        said[script] += 2 if script in _DENSE else 1
    # Japanese is written with Han characters too, and nothing else with kana.
    if kana := said.keys() & {"hiragana", "katakana"}:
        said[min(kana)] += said.pop("cjk", 0)
    return max(said, key=lambda script: said[script], default="")


def _scripts(query: str) -> Iterable[str]:
    for letter in query:
        if letter.isalpha():
            yield unicodedata.name(letter, "unknown").partition(" ")[0].lower()


def _one(lang: str) -> tuple[str, ...]:
    return (lang,) if lang else ()
