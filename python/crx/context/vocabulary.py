"""Vocabulary of a document: the words, numbers and scripts that its contexts may use."""

from __future__ import annotations

import bisect
import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator

from crx.context.generic_words import GENERIC_WORDS
from crx.context.units import is_dense, split_units

# Share of capitalised words above which capitals do not mark names: German prose capitalises a
# third of its words, English prose an eighth.
FREE_CAPITALS = 0.3
# Letters of a word that can be specific; shorter ones are mostly function words and list marks.
SPECIFIC_LETTERS = 3

_WORD = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"\d+(?:[.,\u00a0\u202f’']\d+)*")
_SENTENCE_START = ("", *".!?:;\n。！？：")
# What follows a word in a file name or an identifier, and a word with a capital inside.
_NAME_GOES_ON = re.compile(r"\.\w|_|\(\)")
_INNER_CAPITAL = re.compile(r"[^\W\d_]*[a-z][A-Z]")
_NOT_DIGIT = re.compile(r"\D")

# Names that a context may add: parts of documents, languages, file formats and months.
_COMMON_NAMES = frozenset(
    """
    annex appendix article chapter clause exhibit figure form item note paragraph part schedule
    section table volume chapitre annexe tableau partie chương phần điều mục phụ lục bảng
    english french chinese japanese vietnamese german
    ascii css html java javascript json kotlin python ruby rust scala sql swift toml typescript
    unicode xml yaml
    january february march april may june july august september october november december
    """.split()  # noqa: SIM905
)

# A Han character or a Hangul syllable stands for about three letters.
_DENSE = {"CJK": 3, "HANGUL": 3}


class DocumentVocabulary:
    """Words, numbers and scripts of a text."""

    def __init__(self, text: str) -> None:
        words = _WORD.findall(text)
        self._words = _COMMON_NAMES | {word.casefold() for word in words}
        self._sorted = sorted(self._words)
        self._units = set(split_units(text))
        self._dense_pairs = set(_dense_pairs(split_units(text)))
        self._initials = "".join(word[0] for word in words if word[0].isupper())
        self._numbers = {_digits(number) for number in _NUMBER.findall(text)}
        self._scripts = _scripts(text)
        self._capitals_mark_names = _share_capitalised(text) < FREE_CAPITALS

    def is_foreign(self, text: str) -> bool:
        """Return whether a text's main script has less than a quarter of the vocabulary."""
        main = max(_scripts(text).items(), key=lambda item: item[1], default=None)
        return main is not None and self._scripts[main[0]] * 4 < sum(self._scripts.values())

    def unknown_numbers(self, text: str) -> Iterator[str]:
        """Yield the numbers of two digits or more that the vocabulary lacks."""
        numbers = (_digits(number) for number in _NUMBER.findall(text))
        return (n for n in numbers if len(n) > 1 and n not in self._numbers)

    def unknown_names(self, text: str) -> Iterator[str]:
        """Yield the capitalised words that the vocabulary lacks in any form.

        At the beginning of a sentence these are file names and identifiers alone. Yields nothing if
        capitals do not mark names in the vocabulary's text (German, legal English).
        """
        if not self._capitals_mark_names:
            return
        for name in _capitalised_names(text):
            if not self._has_form(name.casefold()) and name not in self._initials:
                yield name

    def specific_words(self, text: str, *, outline: str = "") -> set[str]:
        """Return the words of a text that are specific to its place in the document.

        They are in the vocabulary (in any form), not generic, and not in the outline. Of Han and
        kana, pairs of characters take the place of words.
        """
        units, outlined = split_units(text), split_units(outline)
        words = {unit for unit in units if len(unit) >= SPECIFIC_LETTERS} - set(outlined)
        pairs = set(_dense_pairs(units)) - set(_dense_pairs(outlined))
        known = {word for word in words if word in self._units or self._has_form(word)}
        return (known | pairs & self._dense_pairs) - GENERIC_WORDS

    def specific_share(self, text: str) -> float:
        """Return the share of a text's different words that are in the vocabulary and not generic.

        Han and kana are left out; a text without other words has the share 1.
        """
        words = {unit for unit in split_units(text) if not is_dense(unit)}
        return len(self.specific_words(text) & words) / len(words) if words else 1.0

    def _has_form(self, word: str) -> bool:
        """Return whether the vocabulary has the word, or one that differs in its last letters."""
        if {word, word.removesuffix("s")} & self._words:
            return True
        if len(word) < 4:
            return False
        stem = word[: max(4, len(word) - 3)]
        at = bisect.bisect_left(self._sorted, stem)
        return at < len(self._sorted) and self._sorted[at].startswith(stem)


def _dense_pairs(units: list[str]) -> Iterator[str]:
    return (
        first + second
        for first, second in itertools.pairwise(units)
        if is_dense(first) and is_dense(second)
    )


def _digits(number: str) -> str:
    return _NOT_DIGIT.sub("", unicodedata.normalize("NFKC", number))


def _scripts(text: str) -> Counter[str]:
    """Count letters by script; Han and kana are one, because Japanese mixes them."""
    scripts: Counter[str] = Counter()
    for letter, count in Counter(c for c in text if c.isalpha()).items():
        script = unicodedata.name(letter, "UNKNOWN").split(maxsplit=1)[0]
        script = "CJK" if script.startswith(("HIRAGANA", "KATAKANA")) else script
        scripts[script] += count * _DENSE.get(script, 1)
    return scripts


def _capitalised_names(text: str) -> Iterator[str]:
    """Yield words of three letters or more that begin with a capital as names do.

    They are inside a sentence, or part of a file name or an identifier.
    """
    for found in _WORD.finditer(text):
        if not (found[0][0].isupper() and len(found[0]) > 2):
            continue
        before = text[: found.start()].rstrip(" \"'“”‘’«»([")
        is_code = _NAME_GOES_ON.match(text, found.end()) or _INNER_CAPITAL.match(found[0])
        if is_code or before[-1:] not in _SENTENCE_START:
            yield found[0]


def _share_capitalised(text: str) -> float:
    words = _WORD.findall(text[:20_000])
    return sum(word[0].isupper() for word in words) / len(words) if words else 0.0
