"""Rule of definitions in prose: a query that is a name finds first what describes the name.

Manuals say a name often: in lists of keywords, in cross-references, in the text of other names. Its
description begins with it, on a line of its own (`name`), before its arguments or its value
(`name (`, `name:`, `name=`), or after a short form (`-n, --name`), and goes on below. A line of a
list of names is followed by another name instead. What stands before the name in the query names
the document: `git-tag --contains`. Definitions in source code are a matter of `CodeOrder`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crx.config import Settings
from crx.retrieve.parameters import leg_depth
from crx.retrieve.rows import ChunkRow
from crx.retrieve.search_state import Search
from crx.types import LEGS, Ranking

# Marks of lists, headings and code before a name; a short form, as `-n, ` or `-n FILE, `.
_BEFORE = r"^[^\w\n\[|]{0,12}(?:-\w[^\n,]{0,20}, *)?[-`*]*"
# What may follow a name: the end of its line, arguments, a value, a wide space, more forms.
_AFTER = r"(?:[`*¶]*(?:[ \t]*$|[ \t]*[(\[<{=:]|[ \t]{2,}|[ \t]+[-–—][ \t]|, ?-))"


@dataclass(frozen=True, slots=True, kw_only=True)
class Definitions:
    """What a name is, and what describes it, among the `reads` best candidates.

    A name has `words` words at most, and as many before it name its document. A description has at
    least `letters` characters after the name, in its own line and the next two that are not empty.
    """

    name: ClassVar[str] = "definitions"
    reads: int
    words: int = 3
    letters: int = 40

    @staticmethod
    def of(settings: Settings) -> Definitions:
        """Return the rule that reads as many candidates as a leg gives."""
        return Definitions(reads=leg_depth(settings))

    def applies(self, search: Search) -> bool:
        """Return whether the query may be a name, and no source code is ordered."""
        request = search.request
        if set(request.legs) != set(LEGS) or "code" in search.rankings:
            return False
        return 0 < len(search.query.split()) <= 2 * self.words

    def apply(self, search: Search) -> Search:
        """Return the search with the chunks first that describe the name, in order of rank."""
        keys, scores = search.ranking.keys, search.ranking.scores
        rows = search.rows.read(keys.tolist())
        names = list(self._names(search.query))
        defines = np.array(
            [
                key in rows and any(self._describes(rows[key], *name) for name in names)
                for key in keys.tolist()
            ],
            bool,
        )
        if not defines.any() or defines[: defines.sum()].all():
            return search
        ordered = np.concatenate([keys[defines], keys[~defines]])
        first = Ranking(keys[defines], scores[: defines.sum()])
        return search._replace(
            ranking=Ranking(ordered, scores), rankings={**search.rankings, self.name: first}
        )

    def _names(self, query: str) -> Iterator[tuple[re.Pattern[str], list[str]]]:
        """Yield each name that the query may ask for, as its line, and the words before it."""
        words = query.split()
        for at in range(len(words)):
            name = " ".join(words[at:]).strip("\"'`").lstrip("-")
            if name and at <= self.words and len(words) - at <= self.words:
                line = _BEFORE + re.escape(name) + _AFTER
                document = [word.casefold() for word in words[:at]]
                yield re.compile(line, re.IGNORECASE | re.MULTILINE), document

    def _describes(self, row: ChunkRow, line: re.Pattern[str], document: list[str]) -> bool:
        if document:
            named = f"{row.title} {row.outline}".casefold()
            if not all(word in named for word in document):
                return False
        for found in line.finditer(row.text):
            below = row.text[found.end() :].split("\n", 6)
            follows = [each.strip() for each in below if each.strip()][:3]
            if sum(map(len, follows)) >= self.letters:
                return True
        return False
