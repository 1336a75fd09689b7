"""Rule of translations: of one document in several languages, that in the query's comes first.

Documents are translations of each other if their paths differ in their languages alone, as in
`faq.html` and `faq.pl.html`, or `man/man1/ls.1` and `man/lt/man1/ls.1`. Their chunks change ranks
among each other and with no other chunk. If a query may be in several of their languages, as an
identifier may, the one whose path names no language counts as the original and comes first.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crx.retrieve.query_language import detect_query_langs, primary_language
from crx.retrieve.rows import ChunkRow
from crx.retrieve.search_state import Search
from crx.types import Ranking

# What is left of a path around a language that was removed: `faq..html`, `man//man1`, `guide-/`.
_SEPARATORS = re.compile(r"[._-]+$|[._-]*([./])[./_-]*")


@dataclass(frozen=True, slots=True)
class Translations:
    """Documents in the query's language before their translations; the rule has no numbers."""

    name: ClassVar[str] = "translations"
    reads: ClassVar[int] = 0

    def applies(self, search: Search) -> bool:
        """Return whether the index has documents in several languages."""
        return len(search.searcher.langs) > 1 and len(search.ranking.keys) > 1

    def apply(self, search: Search) -> Search:
        """Return the search with documents in the query's language before their translations."""
        keys = search.ranking.keys.tolist()
        rows = search.rows.read(keys)
        groups = _find_translations(keys, rows)
        if not groups:
            return search
        query_langs = detect_query_langs(search.query, search.searcher.langs)
        ordered = _order_by_language(keys, rows, groups, query_langs=query_langs)
        ranking = Ranking(np.array(ordered, dtype=np.int64), search.ranking.scores)
        return search._replace(ranking=ranking)


def _find_translations(keys: Sequence[int], rows: Mapping[int, ChunkRow]) -> dict[str, list[int]]:
    """Return the chunks of each document in several languages, by its path without a language."""
    groups: dict[str, list[int]] = defaultdict(list)
    for key in keys:
        if key in rows and rows[key].lang:
            groups[path_without_language(rows[key].uri, rows[key].lang)].append(key)
    return {path: group for path, group in groups.items() if len(_languages(group, rows)) > 1}


def _languages(keys: Sequence[int], rows: Mapping[int, ChunkRow]) -> set[str]:
    return {primary_language(rows[key].lang) for key in keys}


def _order_by_language(
    keys: Sequence[int],
    rows: Mapping[int, ChunkRow],
    groups: Mapping[str, Sequence[int]],
    *,
    query_langs: Sequence[str],
) -> list[int]:
    """Return keys in which chunks of translations have changed ranks; others keep theirs."""
    ordered: dict[int, int] = {}
    for path, group in groups.items():
        among = _languages(group, rows) & {*query_langs}
        preferred = _prefer(group, rows, path=path, query_langs=among)
        ordered.update(zip(group, preferred, strict=True))
    return [ordered.get(key, key) for key in keys]


def path_without_language(uri: str, lang: str) -> str:
    """Return a path without the parts that name a document's own language, such as `pt_BR`."""
    named = rf"(?<![A-Za-z0-9]){re.escape(primary_language(lang))}(?:[_-][A-Za-z]{{2,4}})?"
    without = re.sub(rf"{named}(?:\.UTF-8)?(?![A-Za-z0-9])", "", uri)
    return _SEPARATORS.sub(r"\1", without)


def _prefer(
    group: Sequence[int], rows: Mapping[int, ChunkRow], *, path: str, query_langs: set[str]
) -> list[int]:
    """Return the chunks of one document in several languages, the preferred language first."""
    if len(query_langs) == 1:
        return sorted(group, key=lambda key: primary_language(rows[key].lang) not in query_langs)
    return sorted(group, key=lambda key: _SEPARATORS.sub(r"\1", rows[key].uri) != path)
