"""Rule of definitions in prose: a query that is a name finds first what describes the name.

Manuals say a name often: in lists of keywords, in cross-references, in the text of other names. Its
description begins with it, on a line of its own (`name`), before its arguments or its value
(`name (`, `name:`, `name=`), or after a short form (`-n, --name`), and goes on below. A line of a
list of names is followed by another name instead. What stands before the name in the query names
the document: `git-tag --contains`. Where source code is ranked, `Verbatim` orders the definitions
of a name, and `CodeOrder` those of the names in a question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import ClassVar, NamedTuple

import numpy as np

from crx import _native
from crx._text.phrases import has_own_term
from crx.config import Settings
from crx.retrieve.ports import Keys
from crx.retrieve.rows import ChunkRow
from crx.retrieve.search_state import Search
from crx.types import LEGS, Ranking

# Marks of lists, headings and code before a name; a short form, as `-n, ` or `-n FILE, `.
_BEFORE = r"^[^\w\n\[|]{0,12}(?:-\w[^\n,]{0,20}, *)?[-`*]*"
# What may follow a name: the end of its line, arguments, a value, a wide space, more forms.
_AFTER = r"(?:[`*¶]*(?:[ \t]*$|[ \t]*[(\[<{=:]|[ \t]{2,}|[ \t]+[-–—][ \t]|, ?-))"
# A line of a list of names, which describes nothing.
_NAME_ALONE = re.compile(r"[-`*•\s]*[\w.-]+[`,;]?", re.ASCII)
_IDENTIFIER = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Definitions:
    """What a name is, and what describes it, among the `reads` best candidates.

    A name has `words` words at most, and as many before it name its document. A description has at
    least `letters` characters in the first three lines after the name that are not empty, its own
    among them; those that are a name alone do not count.
    """

    name: ClassVar[str] = "definitions"
    reads: int
    words: int = 3
    letters: int = 40

    @staticmethod
    def of(settings: Settings) -> Definitions:
        """Return the rule that reads as many candidates as a leg gives."""
        return Definitions(reads=settings.rank_fusion_depth)

    def applies(self, search: Search) -> bool:
        """Return whether the query may be a name, and no source code is ordered."""
        request = search.request
        if set(request.legs) != set(LEGS) or "code" in search.rankings:
            return False
        return 0 < len(search.query.split()) <= 2 * self.words

    def apply(self, search: Search) -> Search:
        """Return the search with the chunks first that describe the name, in order of rank."""
        keys, scores = search.ranking.keys, search.ranking.scores
        rows = [*search.rows.read(_with_last_word(search, keys).tolist()).values()]
        names = list(self._names(search.query))
        naming = _native.rows_with_names(rows, [(each.folded, each.document) for each in names])
        describing = {rows[at].key for at in naming if self._describes(rows[at], names)}
        defines = np.array([key in describing for key in keys.tolist()], bool)
        if not defines.any() or defines[: defines.sum()].all():
            return search
        ordered = np.concatenate([keys[defines], keys[~defines]])
        first = Ranking(keys[defines], scores[: defines.sum()])
        return search._replace(
            ranking=Ranking(ordered, scores), rankings={**search.rankings, self.name: first}
        )

    def _names(self, query: str) -> Iterator[_Name]:
        """Yield each name that the query may ask for, with more words before it each time."""
        words = query.split()
        for at in range(len(words)):
            name = _bare(" ".join(words[at:]))
            if name and at <= self.words and len(words) - at <= self.words:
                yield _Name(name, _fold(name), [word.casefold() for word in words[:at]])

    def _describes(self, row: ChunkRow, names: Sequence[_Name]) -> bool:
        named = f"{row.title} {row.outline}".casefold()
        asked = takewhile(lambda name: all(map(named.__contains__, name.document)), names)
        return any(
            name.folded in _fold(row.text) and self._describes_name(row, name) for name in asked
        )

    def _describes_name(self, row: ChunkRow, name: _Name) -> bool:
        for found in name.line.finditer(row.text):
            below = row.text[found.end() :].split("\n", 6)
            follows = [each.strip() for each in below if each.strip()][:3]
            letters = sum(len(each) for each in follows if not _NAME_ALONE.fullmatch(each))
            if letters >= self.letters:
                return True
        return False


class _Name(NamedTuple):
    """A name that a query may ask for, and the words before it, which name its document."""

    name: str
    folded: str
    document: Sequence[str]

    @property
    def line(self) -> re.Pattern[str]:
        """The beginning of a line that describes the name."""
        return re.compile(_BEFORE + re.escape(self.name) + _AFTER, re.IGNORECASE | re.MULTILINE)


def _fold(text: str) -> str:
    """Return a text without case; patterns without case take a dotted capital I for an i."""
    return text.casefold().replace("i\u0307", "i")


def _with_last_word(search: Search, keys: Keys) -> Keys:
    """Return the chunks that may have the last word of the query, with which each name ends.

    BM25 tells most of those that lack it faster than their texts.
    """
    word = _bare(search.query.split()[-1])
    parts = list(filter(has_own_term, word.split("_"))) if _IDENTIFIER.fullmatch(word) else []
    if not parts:
        return keys
    searcher = search.searcher
    return searcher.terms.containing(keys, words=parts, langs=["", *searcher.langs])


def _bare(name: str) -> str:
    """Return a name without the quotes around it and the dashes of an option."""
    return name.strip("\"'`").lstrip("-")
